"""What `make install` puts into a folder works from there: pkg-config, CMake, environment module, manual, command."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_File file;
  MPI_Info info;
  char preset[64] = "not routed";
  int found = 0;
  if (MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file) != MPI_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_File_get_info(file, &info);
  MPI_Info_get(info, "suiro_preset", sizeof preset - 1, preset, &found);
  MPI_Info_free(&info);
  MPI_File_close(&file);
  dprintf(1, "%s\n", preset);  /* one write: MPICH passes pieces on as they come, mixed with those of other ranks */
  MPI_Finalize();
  return 0;
}
"""

LAUNCH = {"mpich": ["mpiexec.mpich"], "openmpi": ["mpiexec.openmpi", "--oversubscribe"]}
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("SUIRO")},
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}


def run(*command, environment=None, folder=None):
    """Standard output of a command that must succeed."""
    done = subprocess.run(
        [str(word) for word in command],
        env=ENVIRONMENT | (environment or {}), cwd=folder, capture_output=True, text=True, timeout=120,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def version(build_dir):
    cache = build_dir("CMakeCache.txt").read_text()
    return re.search(r"^CMAKE_PROJECT_VERSION:STATIC=(.+)$", cache, re.MULTILINE).group(1)


@pytest.fixture(scope="module")
def prefix(build_dir, tmp_path_factory):
    """The installed tree, moved away from where it was installed to: nothing in it may know an absolute path."""
    destination = tmp_path_factory.mktemp("install")
    run("cmake", "--install", build_dir(""), environment={"DESTDIR": str(destination)})
    installed = next(path.parent.parent for path in destination.rglob("bin/suiro"))
    moved = tmp_path_factory.mktemp("moved") / "suiro"
    shutil.move(installed, moved)
    return moved


def only(prefix: Path, pattern: str) -> Path:
    found = sorted(prefix.glob(pattern))
    assert len(found) == 1, f"{pattern}: {found}"
    return found[0]


def test_the_command_knows_its_version(prefix, version):
    assert version in run(prefix / "bin/suiro", "--version")


def test_libraries_lie_where_they_look_for_each_other(prefix):
    library = only(prefix, "lib/**/libsuiro.so")
    assert {path.name for path in (library.parent / "suiro").iterdir()} == {
        "libsuiro-mpich.so", "libsuiro-ompi.so", "libsuiro-abi.so",
    }


def test_installed_libraries_carry_no_build_path(prefix, build_dir):
    for path in [*prefix.rglob("*.so*"), prefix / "bin/suiro"]:
        assert not re.search(r"\((RPATH|RUNPATH)\)", run("readelf", "-dW", path)), f"{path} has a run path"


def test_manual_page_has_no_formatting_errors(prefix):
    page = prefix / "share/man/man1/suiro.1"
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-z", str(page)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == ""


def test_documents_are_installed(prefix):
    names = {path.name for path in (prefix / "share/doc/suiro").rglob("*")}
    assert {"LICENSE", "NOTICE", "README.md", "CHANGELOG.md", "settings.md"} <= names


@pytest.mark.parametrize("mpi", LAUNCH)
def test_a_program_linked_by_pkg_config_is_served(prefix, version, mpi, tmp_path):
    where = {"PKG_CONFIG_PATH": str(only(prefix, "lib/**/suiro.pc").parent)}
    assert run("pkg-config", "--modversion", "suiro", environment=where).strip() == version
    libraries = run("pkg-config", "--libs", "suiro", environment=where).split()
    (tmp_path / "program.c").write_text(PROGRAM)
    program = tmp_path / "program"
    run(f"mpicc.{mpi}", tmp_path / "program.c", "-o", program, *libraries)
    path = {"LD_LIBRARY_PATH": str(only(prefix, "lib/**/libsuiro.so").parent)}
    said = run(*LAUNCH[mpi], "-n", "2", program, f"direct:{tmp_path}/data", environment=path)
    assert said.split() == ["direct", "direct"]
    assert (tmp_path / "data").exists()


@pytest.mark.parametrize("mpi", LAUNCH)
def test_the_installed_command_serves_an_ordinary_program(prefix, mpi, tmp_path):
    (tmp_path / "program.c").write_text(PROGRAM)
    program = tmp_path / "program"
    run(f"mpicc.{mpi}", tmp_path / "program.c", "-o", program)
    suiro = [prefix / "bin/suiro", "run", "--preset", "direct"]
    assert run(*suiro, *LAUNCH[mpi], "-n", "2", program, tmp_path / "data").split() == ["direct", "direct"]
    # The canary: without Suiro the same program must say so.
    assert run(*LAUNCH[mpi], "-n", "2", program, tmp_path / "data").split() == ["not", "routed"] * 2


def test_cmake_package_gives_a_target_that_links(prefix, version, tmp_path):
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(user C)\n"
        f"find_package(suiro {version} REQUIRED CONFIG)\n"
        "add_executable(user main.c)\ntarget_link_libraries(user PRIVATE suiro::suiro)\n"
        'message(STATUS "command: ${SUIRO_COMMAND}")\n'
    )
    said = run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    assert f"command: {prefix}/bin/suiro" in said
    run("cmake", "--build", tmp_path / "build")
    assert "libsuiro.so" in run("readelf", "-dW", tmp_path / "build/user")


def test_environment_module_sets_paths_of_the_moved_tree(prefix, version):
    modules = {"MODULEPATH": str(prefix / "share/modulefiles")}
    shown = run("/usr/bin/modulecmd", "bash", "load", f"suiro/{version}", environment=modules)
    exported = run("bash", "-c", f"{shown}\nprintf '%s\\n' \"$SUIRO_ROOT\" \"$PATH\" \"$LD_LIBRARY_PATH\"").splitlines()
    assert exported[0] == str(prefix)
    assert exported[1].startswith(f"{prefix}/bin:")
    assert exported[2].startswith(f"{prefix}/lib")
