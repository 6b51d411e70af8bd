"""What the demo knows of the example programs: their commands, sizes and the line each of them ends with."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Setting:
    """Where things are and how large the demo is."""

    build: Path
    python: dict[str, Path]  # interpreter with parallel h5py, by MPI
    quick: bool = False
    images: Path | None = None  # a folder of FITS images instead of synthetic ones


@dataclass(frozen=True)
class Step:
    """One launch: a program with its arguments on so many ranks. Arguments name files in the folder of the case."""

    name: str
    ranks: int
    command: tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """A program on one MPI and rank count: its steps run one after the other in the same folder."""

    program: str
    mpi: str
    ranks: int
    restart_ranks: int

    def ranks_text(self) -> str:
        return f"{self.ranks}→{self.restart_ranks}" if self.program == "heat" else str(self.ranks)

    def same_bytes_as(self) -> tuple[str, ...]:
        """Cases with the same answer write the same files. The two MPIs have different versions of h5py, which store
        the same data with a few different bytes of description."""
        return (self.program, self.mpi) if self.program == "fits2hdf5" else (self.program,)

    def folder_name(self) -> str:
        return f"{self.program}-{self.mpi}-{self.ranks}"


@dataclass(frozen=True)
class Claim:
    """The last line of a program: what it says about itself."""

    verified: bool
    opens: int
    bytes: int
    io_s: float


_CLAIM = re.compile(
    r"^(?P<name>\w+): verification=(?P<verdict>\S+) ranks=(?P<ranks>\d+) opens=(?P<opens>\d+) bytes=(?P<bytes>\d+) "
    r"compute_s=[\d.]+ io_s=(?P<io_s>[\d.]+)$",
    re.MULTILINE,
)


def parse_claim(program: str, ranks: int, stdout: str) -> Claim | None:
    """The claim in the output of a run, or None if there is not exactly one by this program on so many ranks."""
    found = [match for match in _CLAIM.finditer(stdout) if match["name"] == program and int(match["ranks"]) == ranks]
    if len(found) != 1:
        return None
    claim = found[0]
    return Claim(claim["verdict"] == "passed", int(claim["opens"]), int(claim["bytes"]), float(claim["io_s"]))


def _heat(setting: Setting, case: Case, folder: Path) -> list[Step]:
    program = str(setting.build / "examples" / case.mpi / "heat")
    half, full = ("5", "10") if setting.quick else ("10", "20")
    size = ("--ny", "160", "--nx", "200") if setting.quick else ()
    first = (program, *size, "--steps", full, "--checkpoint-every", half, "--preallocate")
    checkpoint, result = (str(folder / f"straight.{int(step):06d}") for step in (half, full))
    again = (program, "--steps", full, "--restart", checkpoint, "--compare", result, "--checkpoint-every", "0")
    return [
        Step("straight", case.ranks, (*first, "--output", str(folder / "straight"))),
        Step("restarted", case.restart_ranks, (*again, "--output", str(folder / "restarted"))),
    ]


def _multipart(setting: Setting, case: Case, folder: Path) -> list[Step]:
    program = str(setting.build / "examples" / case.mpi / "multipart")
    sizes = ("--grid", "12,12,12", "--steps", "2") if setting.quick else ("--grid", "24,24,24", "--steps", "6")
    common = (program, *sizes, "--dump-every", "2")
    return [
        Step("simple", case.ranks, (*common, "--mode", "simple", "--piece", "4", "--output", str(folder / "simple"))),
        Step("full", case.ranks, (*common, "--mode", "full", "--output", str(folder / "full"))),
    ]


def _fits2hdf5(setting: Setting, case: Case, folder: Path) -> list[Step]:
    script = str(EXAMPLES / "fits2hdf5" / "fits2hdf5.py")
    count = "3" if setting.quick else "6"
    source = ("--synthetic", count) if setting.images is None else ("--images", str(setting.images))
    output = ("--output", str(folder / "images.h5"))
    return [Step("store", case.ranks, (str(setting.python[case.mpi]), script, *source, *output))]


PROGRAMS: dict[str, Callable[[Setting, Case, Path], list[Step]]] = {
    "heat": _heat,
    "multipart": _multipart,
    "fits2hdf5": _fits2hdf5,
}


def plan(programs: Sequence[str], mpis: Sequence[str], ranks: Sequence[int]) -> list[Case]:
    """All cases, in the order in which they run. A restart uses the next rank count of the list."""
    cases = []
    for program in programs:
        for mpi in mpis:
            for position, count in enumerate(ranks):
                other = ranks[(position + 1) % len(ranks)]
                if other == count:
                    other = 2 if count == 1 else 1
                cases.append(Case(program, mpi, count, other))
    return cases
