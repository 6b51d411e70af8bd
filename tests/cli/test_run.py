"""`suiro run`: the environment it makes, what it says about programs and launchers it cannot help, exit statuses."""

import os
import shutil
import signal
import subprocess
import time

import pytest
from conftest import BUILD, LIBRARY, SUIRO  # type: ignore[import-not-found]

MPI_SOURCE = """
#include <mpi.h>
int main(int argc, char **argv) { MPI_Init(&argc, &argv); MPI_Finalize(); return 0; }
"""


def print_environment(user):
    return user.program("show", "#!/bin/sh\nenv | grep -E '^(SUIRO|LD_PRELOAD)' | sort\n")


def dry_run(user, *words):
    result = user.suiro("run", "--dry-run", *words)
    assert result.returncode == 0, result.stderr
    return result


class TestEnvironment:
    def test_options_become_variables(self, user):
        print_environment(user)
        result = user.suiro(
            "run", "--preset", "direct", "--set", "stage_bytes=4M", "--set", "shared_dir=/dev/shm",
            "--rule", "*.h5=direct", "--rule", "x=none,on_error=fail", "--log", "info", "--on-error", "fail", "show",
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        assert result.stdout.splitlines() == [
            f"LD_PRELOAD={LIBRARY}",
            "SUIRO_LOG=info",
            "SUIRO_ON_ERROR=fail",
            "SUIRO_PRESET=direct",
            "SUIRO_RULES=*.h5=direct;x=none,on_error=fail",
            "SUIRO_SHARED_DIR=/dev/shm",
            "SUIRO_STAGE_BYTES=4M",
        ]

    def test_rules_are_added_to_those_that_are_there(self, user):
        print_environment(user)
        user.environment["SUIRO_RULES"] = "a=direct"
        assert "SUIRO_RULES=a=direct;b=none\n" in user.suiro("run", "--rule", "b=none", "show").stdout

    def test_the_library_goes_behind_other_preloads(self, user):
        other = str(BUILD / "src" / "preload" / "libsuiro.so.0")
        user.environment["LD_PRELOAD"] = other
        assert f"LD_PRELOAD={other}:{LIBRARY} " in dry_run(user, "-p", "direct", "true").stdout

    def test_the_library_is_added_once(self, user):
        user.environment["LD_PRELOAD"] = str(LIBRARY)
        assert f"LD_PRELOAD={LIBRARY} " in dry_run(user, "-p", "direct", "true").stdout

    def test_a_relative_rules_file_is_found_from_everywhere(self, user):
        file = user.write("rules/mine.toml", "[defaults]\npreset = 'direct'\n")
        result = dry_run(user, "--config", "rules/mine.toml", "true")
        assert f"SUIRO_CONFIG={file} " in result.stdout
        assert result.stderr == ""

    def test_suiro_lib_names_another_library(self, user):
        user.environment["SUIRO_LIB"] = str(LIBRARY.with_name("libsuiro.so.0"))
        assert f"LD_PRELOAD={user.environment['SUIRO_LIB']} " in dry_run(user, "-p", "direct", "true").stdout
        user.environment["SUIRO_LIB"] = "/nowhere/libsuiro.so"
        result = user.suiro("run", "-p", "direct", "true")
        assert result.returncode == 1
        assert "SUIRO_LIB=/nowhere/libsuiro.so is no file" in result.stderr

    def test_a_library_with_a_blank_in_its_path_cannot_be_preloaded(self, user):
        folder = user.directory / "with blank"
        folder.mkdir()
        shutil.copy(LIBRARY, folder / "libsuiro.so")
        user.environment["SUIRO_LIB"] = str(folder / "libsuiro.so")
        assert "has a blank or a colon" in user.suiro("run", "-p", "direct", "true").stderr

    def test_an_installed_command_finds_its_library(self, user):
        for folder in ("usr/bin", "usr/lib"):
            (user.directory / folder).mkdir(parents=True)
        shutil.copy(SUIRO, user.directory / "usr/bin/suiro")
        shutil.copy(LIBRARY, user.directory / "usr/lib/libsuiro.so")
        result = user.run([user.directory / "usr/bin/suiro", "run", "-n", "-p", "direct", "true"])
        assert f"LD_PRELOAD={user.directory}/usr/lib/libsuiro.so " in result.stdout
        (user.directory / "usr/lib/libsuiro.so").unlink()
        result = user.run([user.directory / "usr/bin/suiro", "run", "-n", "-p", "direct", "true"])
        assert result.returncode == 1
        assert "libsuiro.so was not found in" in result.stderr


class TestCommand:
    def test_the_exit_status_is_the_programs(self, user):
        assert user.suiro("run", "-p", "direct", "sh", "-c", "exit 42").returncode == 42

    def test_a_signal_is_the_programs(self, user):
        assert user.suiro("run", "-p", "direct", "sh", "-c", "kill -TERM $$").returncode == -signal.SIGTERM

    def test_arguments_arrive_untouched(self, user):
        user.program("arguments", '#!/bin/sh\nfor a in "$@"; do echo "<$a>"; done\n')
        words = ["--preset", "x y", "", "--", "-h", "doctor", "*", "a=b"]
        result = user.suiro("run", "-p", "direct", "arguments", *words)
        assert result.stdout.splitlines() == [f"<{word}>" for word in words]
        assert user.suiro("run", "-p", "direct", "--", "arguments", *words).stdout == result.stdout

    def test_a_command_named_like_one_of_ours(self, user):
        user.program("settings", "#!/bin/sh\necho mine\n")
        assert user.suiro("run", "-p", "direct", "settings").stdout == "mine\n"

    def test_a_missing_command_gives_127(self, user):
        for name in ("no-such-program", "./no-such-program"):
            result = user.suiro("run", "-p", "direct", name)
            assert result.returncode == 127
            assert name in result.stderr

    def test_what_cannot_be_executed_gives_126(self, user):
        user.write("plain", "text")
        for name in ("./plain", "./bin"):
            assert user.suiro("run", "-p", "direct", name).returncode == 126

    def test_dry_run_prints_a_line_that_a_shell_can_run(self, user):
        print_environment(user)
        line = dry_run(user, "-p", "direct", "--rule", "a'b c=direct", "show").stdout
        result = user.run(["sh", "-c", line])
        assert "SUIRO_RULES=a'b c=direct\n" in result.stdout


class TestUsage:
    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ([], "a COMMAND is missing"),
            (["--preset"], "--preset"),
            (["--prset", "direct", "true"], "unknown option --prset; did you mean --preset?"),
            (["--preset", "dirct", "true"], "'dirct' is not allowed; allowed: none, direct"),
            (["--preset", "ring", "true"], "ring is not built in yet"),
            (["--set", "stage_byte=1", "true"], "unknown setting 'stage_byte'; did you mean 'stage_bytes'?"),
            (["--set", "stage_bytes=1", "true"], "stage_bytes: '1' is not allowed; allowed: 4 KiB to 1 GiB"),
            (["--set", "stage_bytes", "true"], "--set 'stage_bytes': expected KEY=VALUE"),
            (["--rule", "*.h5", "true"], "SUIRO_RULES: in '*.h5': expected GLOB=PRESET"),
            (["--rule", "*.h5=dirct", "true"], "'dirct' is not allowed"),
            (["--config", "missing.toml", "true"], "missing.toml: No such file or directory"),
            (["--log", "loud", "true"], "--log 'loud': allowed: error, warning, info, debug"),
            (["--on-error", "panic", "true"], "'panic' is not allowed; allowed: degrade, fail"),
        ],
    )
    def test_mistakes_are_named_and_nothing_is_run(self, user, words, message):
        user.program("true", "#!/bin/sh\necho ran\n")
        result = user.suiro("run", *words)
        assert result.returncode == 2
        assert message in result.stderr
        assert result.stdout == ""

    def test_a_mistake_in_the_rules_file_is_named_with_its_place(self, user):
        user.write("suiro.toml", "[defaults]\npreset = 'dirct'\n")
        result = user.suiro("run", "true")
        assert result.returncode == 2
        assert f"{user.directory}/suiro.toml:2:10: preset: 'dirct' is not allowed" in result.stderr

    def test_a_run_that_would_route_nothing_says_so(self, user):
        assert "--preset direct takes all" in user.suiro("run", "true").stderr
        user.write("suiro.toml", "[[rule]]\nmatch = '*.h5'\npreset = 'direct'\n")
        assert user.suiro("run", "true").stderr == ""

    def test_a_run_while_switched_off_says_so(self, user):
        user.environment["SUIRO"] = "off"
        assert "SUIRO is set to off" in user.suiro("run", "-p", "direct", "true").stderr


class TestPrograms:
    """What is said before a program starts in which a preloaded library has no effect."""

    def test_static(self, user, compiled):
        program = compiled("static", "int main(void) { return 0; }", "-static")
        assert "is a static binary: LD_PRELOAD has no effect; relink" in dry_run(user, "-p", "direct", program).stderr

    @pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
    def test_an_mpi_program_needs_no_words(self, user, compiled, mpi):
        program = compiled(mpi, MPI_SOURCE, compiler=f"mpicc.{mpi}")
        assert dry_run(user, "-p", "direct", "--log", "info", program).stderr == ""

    def test_a_missing_shim_is_named(self, user, compiled):
        program = compiled("mpich", MPI_SOURCE, compiler="mpicc.mpich")
        alone = user.directory / "alone" / "libsuiro.so"
        alone.parent.mkdir()
        shutil.copy(LIBRARY, alone)
        user.environment["SUIRO_LIB"] = str(alone)
        assert "libsuiro-mpich.so is not installed" in dry_run(user, "-p", "direct", program).stderr

    def test_mpi_linked_in_statically(self, user, compiled):
        program = compiled(
            "mpi_inside", "int MPI_File_open(void) { return 0; } int main(void) { return MPI_File_open(); }"
        )
        assert "has its MPI library linked in statically" in dry_run(user, "-p", "direct", program).stderr

    def test_an_mpi_library_without_a_shim(self, user, compiled, tmp_path):
        library = tmp_path / "libmpi.so.99"
        compiled("unknown", "int unknown(void) { return 0; }", "-shared", "-fPIC", "-Wl,-soname,libmpi.so.99")
        shutil.copy(compiled("unknown", ""), library)
        program = compiled(
            "uses_unknown",
            "int unknown(void); int main(void) { return unknown(); }",
            str(library),
            f"-Wl,-rpath,{tmp_path}",
        )
        assert (
            "libmpi.so.99, an MPI library that Suiro has no shim for" in dry_run(user, "-p", "direct", program).stderr
        )

    def test_no_mpi_is_worth_an_info_only(self, user, compiled):
        program = compiled("plain", "int main(void) { return 0; }")
        assert dry_run(user, "-p", "direct", program).stderr == ""
        assert "is not linked with an MPI library" in dry_run(user, "-p", "direct", "--log", "info", program).stderr

    def test_pnetcdf_with_a_driver_of_its_own(self, user, compiled, tmp_path):
        source = 'const char *hint = "nc_driver"; int ncmpi_create(void) { return 0; }'
        compiled("pnetcdf", source, "-shared", "-fPIC", "-Wl,-soname,libpnetcdf.so.7")
        library = tmp_path / "libpnetcdf.so.7"
        shutil.copy(compiled("pnetcdf", ""), library)
        caller = "int ncmpi_create(void); int main(void) { return ncmpi_create(); }"
        program = compiled("uses_pnetcdf", caller, str(library), f"-Wl,-rpath,{tmp_path}")
        inside = compiled("pnetcdf_inside", source + "int main(void) { return ncmpi_create() + !hint; }")
        for path in (program, inside):
            assert 'set PNETCDF_HINTS="nc_driver=mpiio"' in dry_run(user, "-p", "direct", path).stderr
        user.environment["PNETCDF_HINTS"] = "romio_ds_write=disable;nc_driver=mpiio"
        for path in (program, inside):
            assert dry_run(user, "-p", "direct", path).stderr == ""

    def test_pnetcdf_without_one(self, user, compiled, tmp_path):
        compiled(
            "old_pnetcdf", "int ncmpi_create(void) { return 0; }", "-shared", "-fPIC", "-Wl,-soname,libpnetcdf.so.4"
        )
        library = tmp_path / "libpnetcdf.so.4"
        shutil.copy(compiled("old_pnetcdf", ""), library)
        caller = "int ncmpi_create(void); int main(void) { return ncmpi_create(); }"
        program = compiled("uses_old_pnetcdf", caller, str(library), f"-Wl,-rpath,{tmp_path}")
        assert dry_run(user, "-p", "direct", program).stderr == ""

    def test_set_user_id(self, user, compiled):
        program = user.directory / "privileged"
        shutil.copy(compiled("plain", "int main(void) { return 0; }"), program)
        program.chmod(0o4755)
        assert "set-user-ID program" in dry_run(user, "-p", "direct", program).stderr

    def test_damaged_files_are_no_reason_to_crash(self, user, compiled):
        whole = compiled("plain", "int main(void) { return 0; }").read_bytes()
        program = user.directory / "damaged"
        for length in (1, 4, 5, 16, 63, 64, 65, 200, 1000, len(whole) // 2, len(whole) - 1):
            program.write_bytes(whole[:length])
            program.chmod(0o755)
            dry_run(user, "-p", "direct", program)


class TestLaunchers:
    def test_the_program_behind_the_launcher_is_looked_at(self, user, compiled):
        static = compiled("static", "int main(void) { return 0; }", "-static")
        user.write("hosts", "localhost\n")
        for line in (
            ["mpiexec.mpich", "-n", "2", static],
            ["mpiexec.mpich", "-genv", "env", "1", "-ppn", "1", static, "true"],
            ["mpiexec.openmpi", "--map-by", "node", "--mca", "btl", "self", "--hostfile", "hosts", "-n", "1", static],
            ["mpiexec.openmpi", "-n", "1", "true", ":", "-n", "1", static],
            ["timeout", "60", "mpiexec.mpich", "-n", "1", "env", "A=1", static],
            ["nice", "-n", "5", static],
        ):
            assert "is a static binary" in dry_run(user, "-p", "direct", *line).stderr, line

    def test_the_launcher_itself_is_not(self, user, compiled):
        static = compiled("static", "int main(void) { return 0; }", "-static")
        shutil.copy(static, user.directory / "bin" / "mpiexec")
        assert dry_run(user, "-p", "direct", "mpiexec", "-n", "2", "true").stderr == ""

    def test_open_mpi_is_told_to_export_when_there_are_hosts(self, user):
        user.environment["SUIRO_STAGE_BYTES"] = "8K"
        line = dry_run(user, "-p", "direct", "mpiexec.openmpi", "--host", "a,b", "-n", "2", "-x", "FOO", "true").stdout
        exports = "-x LD_PRELOAD -x SUIRO_PRESET -x SUIRO_STAGE_BYTES"
        assert f"mpiexec.openmpi {exports} --host a,b -n 2 -x FOO true" in line
        line = dry_run(user, "-p", "direct", "mpiexec.openmpi", "-n", "2", "true").stdout
        assert " mpiexec.openmpi -n 2 true\n" in line
        line = dry_run(user, "-p", "direct", "mpiexec.mpich", "-hosts", "a,b", "-n", "2", "true").stdout
        assert " mpiexec.mpich -hosts a,b -n 2 true\n" in line

    def test_open_mpi_allocations_count_as_hosts(self, user):
        user.environment["SLURM_JOB_NUM_NODES"] = "2"
        assert "-x LD_PRELOAD" in dry_run(user, "-p", "direct", "mpiexec.openmpi", "true").stdout
        user.environment["SLURM_JOB_NUM_NODES"] = "1"
        assert "-x LD_PRELOAD" not in dry_run(user, "-p", "direct", "mpiexec.openmpi", "true").stdout

    def test_open_mpis_other_way_to_export_is_kept(self, user):
        user.environment["OMPI_MCA_mca_base_env_list"] = "FOO"
        line = dry_run(user, "-p", "direct", "mpiexec.openmpi", "--host", "a", "true").stdout
        assert "OMPI_MCA_mca_base_env_list='FOO;LD_PRELOAD;SUIRO_PRESET' mpiexec.openmpi --host a true" in line

    def test_launchers_that_drop_the_environment_are_noticed(self, user):
        user.program("srun")
        for line in (
            ["mpiexec.mpich", "-genvnone", "-n", "1", "true"],
            ["mpiexec.mpich", "-genvlist", "PATH", "-n", "1", "true"],
            ["srun", "--export=NONE", "true"],
            ["srun", "--export", "PATH,HOME", "true"],
        ):
            assert "the ranks run without Suiro" in dry_run(user, "-p", "direct", *line).stderr, line
        for line in (["srun", "--export=ALL,FOO=1", "true"], ["srun", "-n", "2", "true"]):
            assert dry_run(user, "-p", "direct", *line).stderr == "", line

    @pytest.mark.parametrize(
        ("launcher", "hosts"),
        [("mpiexec.mpich", []), ("mpiexec.openmpi", []), ("mpiexec.openmpi", ["--host", "localhost:2"])],
    )
    def test_the_ranks_get_the_environment(self, user, launcher, hosts):
        if shutil.which(launcher, path=os.environ["PATH"]) is None:
            pytest.fail(f"{launcher} is not installed: tools/setup installs it")
        user.program("rank", "#!/bin/sh\necho $SUIRO_PRESET $SUIRO_STAGE_BYTES $LD_PRELOAD\n")
        words = [
            "run",
            "-p",
            "direct",
            "-s",
            "stage_bytes=8K",
            launcher,
            *hosts,
            "-n",
            "2",
            user.directory / "bin" / "rank",
        ]
        result = user.suiro(*words)
        assert result.returncode == 0, result.stderr
        assert result.stdout.splitlines() == [f"direct 8K {LIBRARY}"] * 2


def test_an_aborted_launcher_leaves_its_status(user, compiled):
    program = compiled("fails", MPI_SOURCE.replace("return 0", "return 7"), compiler="mpicc.mpich")
    assert user.suiro("run", "-p", "direct", "mpiexec.mpich", "-n", "2", program).returncode == 7


def test_reading_the_command_line_is_quick(user):
    """A launch is delayed by milliseconds, not by a walk through the system."""
    started = time.monotonic()
    for _ in range(5):
        subprocess.run([SUIRO, "run", "-p", "direct", "true"], env=user.environment, check=True, timeout=30)
    assert time.monotonic() - started < 5 * 1.0
