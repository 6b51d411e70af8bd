"""`suiro settings`, `suiro doctor`, `suiro help`, programs named suiro-NAME, and the generated page of settings."""

import json
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def settings(user, *words):
    result = user.suiro("settings", "--json", *words)
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    return document | {"by_name": {entry.get("name", entry["environment"]): entry for entry in document["settings"]}}


class TestSettings:
    def test_the_committed_page_is_up_to_date(self, user):
        result = user.suiro("settings", "--markdown")
        assert result.returncode == 0
        committed = (ROOT / "docs" / "user" / "settings.md").read_text()
        assert committed == result.stdout, "run: suiro settings --markdown > docs/user/settings.md"

    def test_every_setting_is_shown_in_every_form(self, user):
        document = settings(user)
        text = user.suiro("settings").stdout
        page = user.suiro("settings", "--markdown").stdout
        assert len(document["settings"]) >= 13
        for entry in document["settings"]:
            assert entry["environment"] in text
            assert f"`{entry['environment']}`" in page
            assert entry["meaning"] in page.replace("\\|", "|")
            assert entry["value"] == entry["value"].strip()

    def test_each_value_tells_where_it_comes_from(self, user):
        file = user.write("suiro.toml", "[defaults]\npreset = 'direct'\nread_sieve_bytes = '1M'\n")
        user.environment["SUIRO_STAGE_BYTES"] = "8K"
        user.environment["SUIRO_LOG"] = "error"
        document = settings(user)
        assert document["files_read"] == [str(file)]
        found = {name: (entry["value"], entry["source"]) for name, entry in document["by_name"].items()}
        assert found["preset"] == ("direct", f"{file}:2")
        assert found["read_sieve_bytes"] == ("1048576", f"{file}:3")
        assert found["stage_bytes"] == ("8192", "SUIRO_STAGE_BYTES")
        assert found["on_error"] == ("degrade", "default")
        assert found["SUIRO_LOG"] == ("error", "SUIRO_LOG")
        text = user.suiro("settings").stdout
        assert f"read_sieve_bytes = 1048576   ({file}:3)" in text
        assert f"rules were read from {file}" in text

    def test_a_path_shows_its_preset_and_why(self, user):
        file = user.write("suiro.toml", "[[rule]]\nmatch = 'out/*.h5'\npreset = 'direct'\nstage_bytes = '8K'\n")
        document = settings(user, "out/a.h5")
        assert (document["preset"], document["opened_as"]) == ("direct", "out/a.h5")
        assert document["by_name"]["preset"]["source"] == f"{file}:3"
        assert f"preset   direct   ({file}:3)" in user.suiro("settings", "out/a.h5").stdout
        result = user.suiro("settings", "elsewhere/a.h5")
        assert "the MPI library's own MPI-IO serves this file" in result.stdout
        document = settings(user, "direct:/x", "--hint", "suiro_stage_bytes=16K", "--hint", "cb_nodes=2")
        assert document["opened_as"] == "/x"
        assert document["by_name"]["stage_bytes"]["value"] == "16384"
        assert document["by_name"]["stage_bytes"]["source"] == "hint suiro_stage_bytes"

    @pytest.mark.parametrize(
        ("words", "status", "message"),
        [
            (["ring:/x"], 1, "'ring' (prefix ring:) is not built in yet"),
            (["direct:"], 1, "the file name is empty"),
            (["x", "--hint", "suiro_stage_bytes=1"], 1, "'1' is not allowed; allowed: 4 KiB"),
            (["x", "--hint", "suiro_stage_bytes"], 2, "expected KEY=VALUE"),
            (["--hint", "suiro_stage_bytes=8K"], 2, "needs the PATH"),
            (["x", "y"], 2, "y"),
            (["--jsn"], 2, "--jsn"),
            (["--json", "--markdown"], 2, "excludes"),
        ],
    )
    def test_mistakes_are_named(self, user, words, status, message):
        result = user.suiro("settings", *words)
        assert result.returncode == status
        assert message in result.stderr
        assert result.stdout == ""

    def test_bad_sources_are_named(self, user):
        user.environment["SUIRO_STAGE_BYTE"] = "8K"
        assert "did you mean 'SUIRO_STAGE_BYTES'?" in user.suiro("settings").stderr
        user.write("suiro.toml", "[defaults]\nwrong = 1\n")
        result = user.suiro("settings")
        assert result.returncode == 1
        assert "suiro.toml:2:1: unknown key 'wrong'" in result.stderr


def doctor(user, *words):
    result = user.suiro("doctor", "--json", *words)
    document = json.loads(result.stdout)
    assert result.returncode == (1 if document["problems"] else 0)
    assert document["problems"] == sum(check["level"] == "problem" for check in document["checks"])
    return document["checks"]


def level_of(checks, area, text):
    levels = {check["level"] for check in checks if check["area"] == area and text in check["text"]}
    assert len(levels) == 1, (area, text, checks)
    return levels.pop()


class TestDoctor:
    def test_this_machine_is_healthy(self, user):
        checks = doctor(user)
        assert level_of(checks, "suiro", "libsuiro.so can be loaded") == "ok"
        assert level_of(checks, "mpi", "served by libsuiro-mpich.so") == "ok"
        assert level_of(checks, "mpi", "served by libsuiro-ompi.so") == "ok"
        assert level_of(checks, "launcher", "mpiexec.mpich") == "ok"
        assert level_of(checks, "launcher", "mpiexec.openmpi") == "ok"
        assert level_of(checks, "shared memory", "/dev/shm: works") == "ok"
        assert level_of(checks, "file system", "works: shared mappings") == "ok"
        assert not [check for check in checks if check["level"] == "problem"]
        assert list(user.directory.glob(".*")) == []  # its trial files are gone

    def test_each_line_says_its_level_and_what_to_do(self, user):
        user.environment["SUIRO_SHARED_DIR"] = "/nowhere"
        result = user.suiro("doctor")
        assert result.returncode == 1
        lines = result.stdout.splitlines()
        assert lines[-1] == "1 problem found"
        assert all(line.startswith(("ok ", "note ", "problem ", "         -> ")) for line in lines[:-1])
        at = next(i for i, line in enumerate(lines) if line.startswith("problem  shared memory: /nowhere"))
        assert "SUIRO_SHARED_DIR" in lines[at + 1]

    def test_bad_rules_are_a_problem(self, user):
        user.write("suiro.toml", "[defaults]\nwrong = 1\n")
        checks = doctor(user)
        assert level_of(checks, "rules", "suiro.toml:2:1: unknown key 'wrong'") == "problem"

    def test_unknown_variables_are_a_note(self, user):
        user.environment["SUIRO_WRONG"] = "1"
        assert level_of(doctor(user), "rules", "SUIRO_WRONG is unknown") == "note"

    def test_paths(self, user):
        checks = doctor(user, "/dev/shm", "/nowhere", "/proc")
        assert level_of(checks, "file system", "/dev/shm: tmpfs, local") == "ok"
        assert level_of(checks, "file system", "/nowhere") == "problem"
        assert level_of(checks, "file system", "/proc") == "note"

    def test_other_preloads(self, user):
        user.environment["LD_PRELOAD"] = "libm.so.6"
        assert level_of(doctor(user), "preload", "LD_PRELOAD holds libm.so.6") == "note"
        user.environment["LD_PRELOAD"] = "/nowhere/lib.so"
        assert level_of(doctor(user), "preload", "/nowhere/lib.so") == "problem"

    def test_a_library_that_cannot_be_loaded(self, user):
        user.environment["SUIRO_LIB"] = str(user.write("libsuiro.so", "this is no library"))
        assert level_of(doctor(user), "suiro", "cannot be loaded") == "problem"


class TestHelp:
    def test_the_front_page(self, user):
        result = user.suiro("--help")
        assert result.returncode == 0
        for command in ("run", "doctor", "settings", "help"):
            assert f"\n  {command} " in result.stdout
        assert "suiro run --preset direct mpirun" in result.stdout
        assert user.suiro("help").stdout == result.stdout

    def test_without_a_command_it_is_a_mistake(self, user):
        assert user.suiro().returncode == 2

    def test_version(self, user):
        result = user.suiro("--version")
        version = re.search(r"project\(suiro VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
        assert (result.returncode, result.stdout) == (0, f"suiro {version}\n")

    @pytest.mark.parametrize("command", ["run", "doctor", "settings"])
    def test_each_command_explains_itself_with_examples(self, user, command):
        by_option = user.suiro(command, "--help")
        by_command = user.suiro("help", command)
        assert by_option.returncode == by_command.returncode == 0
        assert by_option.stdout == by_command.stdout
        assert f"Usage: suiro {command}" in by_option.stdout
        assert f"\n  suiro {command} " in by_option.stdout

    def test_every_option_is_in_the_manual_page(self, user):
        page = (ROOT / "docs" / "man" / "suiro.1").read_text().replace("\\-", "-")
        for command in ("run", "doctor", "settings"):
            lines = [line for line in user.suiro(command, "--help").stdout.splitlines() if line.startswith("  -")]
            assert lines
            for line in lines:
                option = line.split()[0].split(",")[-1]
                assert option in page, f"{option} of suiro {command}"


class TestExtensions:
    def test_a_program_in_the_path_becomes_a_command(self, user):
        user.program("suiro-hello", '#!/bin/sh\necho "$@"\nexit 5\n')
        result = user.suiro("hello", "--json", "a b")
        assert (result.returncode, result.stdout) == (5, "--json a b\n")

    def test_an_unknown_command_is_named_with_the_nearest(self, user):
        result = user.suiro("docter")
        assert result.returncode == 2
        assert "'docter' is no suiro command" in result.stderr
        assert "did you mean 'suiro doctor'?" in result.stderr
        assert "did you mean" not in user.suiro("something-else").stderr
        assert user.suiro("help", "docter").returncode == 2

    def test_what_is_not_executable_is_not_taken(self, user):
        user.program("suiro-hello").chmod(0o644)
        if os.access(user.directory / "bin" / "suiro-hello", os.X_OK):
            pytest.fail("a file without x bits counts as executable here")
        assert user.suiro("hello").returncode == 2
