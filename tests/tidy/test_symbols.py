"""What was compiled keeps its promises to the process it is loaded into. Canaries at the end."""

import sysconfig
from pathlib import Path

import pytest
import tidy_symbols as symbols
from tidy_sources import ROOT

TABLE = symbols.parse_table((ROOT / "src/preload/functions.def").read_text())
SYSTEM = Path("/usr/lib") / str(sysconfig.get_config_var("MULTIARCH"))
ABI = ROOT / "build/venv-abi/lib"


def test_table_has_every_function_of_the_standard():
    # MPI-4.0 chapter 14: 55 MPI_File functions beside those for handles and errors, and MPI_Register_datarep.
    assert len(TABLE.served) == 56
    assert {name.removesuffix("_c") for name in TABLE.large_count} <= TABLE.served
    assert all(name.endswith("_c") for name in TABLE.large_count)
    assert len(TABLE.native) == 6


def test_preload_library_exports_the_table_and_loads_anywhere(build_dir):
    assert symbols.preload_faults(symbols.read_library(build_dir("libsuiro.so")), TABLE) == []


@pytest.mark.parametrize("name", ["mpich", "ompi", "abi"])
def test_shim_exports_its_entry_points_only(build_dir, name):
    assert symbols.shim_faults(symbols.read_library(build_dir(f"libsuiro-{name}.so"))) == []


def test_every_mpi_library_here_is_covered():
    libraries = [symbols.read_library(path) for path in symbols.mpi_libraries([SYSTEM, ABI])]
    speaking = {library.name for library in libraries if "PMPI_File_open" in library.defined}
    for expected in ("libmpich.so.12", "libmpi.so.40", "libmpi_abi.so.1"):
        assert any(name.startswith(expected) for name in speaking), f"{expected} is not among {speaking}"
    assert [fault for library in libraries for fault in symbols.uncovered_functions(library, TABLE)] == []


class TestCanaries:
    TABLE = symbols.parse_table("SUIRO_FN(MPI_File_open)\nSUIRO_FN_C(MPI_File_read_c)\nSUIRO_NATIVE(MPI_File_c2f)\n")
    GOOD = frozenset({"MPI_File_open", "PMPI_File_open", "MPI_File_read_c", "PMPI_File_read_c"})

    def preload(self, **changes):
        return symbols.preload_faults(symbols.Library("libx.so", **{"defined": self.GOOD} | changes), self.TABLE)

    def test_good_preload_library_passes(self):
        assert self.preload(defined=self.GOOD | {"suiro_version"}, needed=("libc.so.6",)) == []

    @pytest.mark.parametrize(
        "changes",
        [
            {"defined": GOOD - {"PMPI_File_open"}},
            {"defined": GOOD | {"helper"}},
            {"defined": GOOD | {"MPI_File_c2f"}},
            {"undefined": frozenset({"PMPI_Comm_rank"})},
            {"needed": ("libstdc++.so.6",)},
            {"needed": ("libmpi.so.40",)},
        ],
    )
    def test_bad_preload_library_is_found(self, changes):
        assert len(self.preload(**changes)) == 1

    @pytest.mark.parametrize(
        "changes",
        [
            {"defined": frozenset({"suiro_shim_start", "_ZN5suiro4openEv"})},
            {"defined": frozenset()},
            {"unique": frozenset({"_ZGVZ1f"})},
            {"undefined": frozenset({"MPI_Comm_c2f"})},
            {"needed": ("libmpich.so.12",)},
        ],
    )
    def test_bad_shim_is_found(self, changes):
        good = {"defined": frozenset({"suiro_shim_start"})}
        assert symbols.shim_faults(symbols.Library("libs.so", **good)) == []
        assert len(symbols.shim_faults(symbols.Library("libs.so", **good | changes))) == 1

    def test_unknown_function_is_found(self):
        library = symbols.Library("libmpi.so", frozenset({"PMPI_File_open", "MPI_File_c2f", "MPI_File_toint", "MPI_Send"}))
        assert symbols.uncovered_functions(library, self.TABLE) == []
        for name in ("MPI_File_iwrite_new", "PMPI_File_open_c", "MPI_Register_datarep_c"):
            newer = symbols.Library("libmpi.so", library.defined | {name})
            assert len(symbols.uncovered_functions(newer, self.TABLE)) == 1
