"""Checks of what was built: which symbols the libraries export and need, compared with the one table of functions."""

from __future__ import annotations

import dataclasses
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

# Functions of MPI libraries that the table need not have, and why.
NOT_INTERCEPTED = {
    "MPI_File_toint": "MPI-5: turns a handle into an integer; a routed handle is a native one",
    "MPI_File_fromint": "MPI-5: turns an integer into a handle; a routed handle is a native one",
}
# Open MPI names its Fortran entry points MPI_File_open_f and _f08; they call the C functions, which are intercepted.
FILE_FUNCTION = re.compile(r"P?(MPI_(?:File_\w+|Register_datarep\w*))(?<!_f)(?<!_f08)$")


@dataclasses.dataclass(frozen=True)
class Table:
    """src/preload/functions.def: what is served, what of it is a large-count form, what is native on purpose."""

    served: frozenset[str]
    large_count: frozenset[str]
    native: frozenset[str]

    @property
    def exported(self) -> set[str]:
        """What libsuiro.so defines: each served name and its PMPI twin."""
        return {prefix + name for name in self.served | self.large_count for prefix in ("", "P")}


def parse_table(text: str) -> Table:
    lines = re.findall(r"^(SUIRO_FN|SUIRO_FN_C|SUIRO_NATIVE)\((\w+)\)", text, re.MULTILINE)
    names = {kind: frozenset(name for which, name in lines if which == kind) for kind, _ in lines}
    empty: frozenset[str] = frozenset()
    return Table(names.get("SUIRO_FN", empty), names.get("SUIRO_FN_C", empty), names.get("SUIRO_NATIVE", empty))


@dataclasses.dataclass(frozen=True)
class Library:
    """The dynamic symbol table of a shared library, versions stripped, and the libraries it asks for."""

    name: str
    defined: frozenset[str]
    undefined: frozenset[str] = frozenset()
    needed: tuple[str, ...] = ()
    unique: frozenset[str] = frozenset()


def read_library(path: Path) -> Library:
    def output(*command: str) -> str:
        return subprocess.run([*command, str(path)], check=True, capture_output=True, text=True).stdout

    defined, undefined, unique = set(), set(), set()
    for line in output("nm", "-D", "--without-symbol-versions").splitlines():
        *_, kind, name = line.split()
        if kind in "Uwv" and kind != "v" and len(line.split()) == 2:
            undefined.add(name)
        else:
            defined.add(name)
            if kind == "u":
                unique.add(name)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-dW"))
    return Library(path.name, frozenset(defined), frozenset(undefined), tuple(needed), frozenset(unique))


def preload_faults(library: Library, table: Table) -> list[str]:
    """libsuiro.so exports the table and nothing else, and loads into any process: no MPI symbol wanted, no C++."""
    exported = library.defined
    faults = [f"does not export {name}" for name in sorted(table.exported - exported)]
    faults += [f"exports {name}" for name in sorted(exported - table.exported) if not name.startswith("suiro_")]
    faults += [f"needs the MPI symbol {name}" for name in sorted(library.undefined) if re.match(r"P?MPI_", name)]
    faults += [f"depends on {name}" for name in library.needed if re.match(r"libstdc\+\+|libgcc_s|libmpi|libmpich", name)]
    return [f"{library.name}: {fault}" for fault in faults]


def shim_faults(library: Library) -> list[str]:
    """A shim exports its entry points only, so that its C++ core cannot meet another copy in the process, and takes no
    symbol that some MPI library lacks."""
    faults = [f"exports {name}" for name in sorted(library.defined) if not name.startswith("suiro_shim_")]
    faults += [f"has the process-wide symbol {name}" for name in sorted(library.unique)]
    faults += [
        f"needs {name} at load time" for name in sorted(library.undefined) if re.match(r"P?MPI_\w+_(c2f|f2c)$", name)
    ]
    faults += [f"depends on {name}" for name in library.needed if re.match(r"libstdc\+\+|libmpi|libmpich", name)]
    if not any(name.startswith("suiro_shim_") for name in library.defined):
        faults.append("exports no suiro_shim_ entry point")
    return [f"{library.name}: {fault}" for fault in faults]


def uncovered_functions(library: Library, table: Table) -> list[str]:
    """File functions of an MPI library that would bypass Suiro because the table does not know them."""
    known = table.served | table.large_count | table.native | NOT_INTERCEPTED.keys()
    names = {match.group(1) for name in library.defined if (match := FILE_FUNCTION.match(name))}
    return [f"{library.name}: {name} is not in src/preload/functions.def" for name in sorted(names - known)]


def mpi_libraries(folders: Iterable[Path]) -> list[Path]:
    """Every libmpi*/libmpich* in the folders, once per real file."""
    found = {}
    for folder in folders:
        for path in sorted(folder.glob("libmpi*.so*")) + sorted(folder.glob("openmpi/lib/libmpi*.so*")):
            if path.is_file() and path.read_bytes()[:4] == b"\x7fELF":  # lib*.so may be a linker script
                found[path.resolve()] = path
    return sorted(found)
