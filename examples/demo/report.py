"""The result of the demo as a table for humans and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from demo.programs import Case


@dataclass
class Measured:
    """One way of running a case: natively, or through a preset."""

    wall_s: float = 0.0
    io_s: float = 0.0
    bytes: int = 0
    program_opens: int = 0
    routed_opens: int = 0
    verified: bool = False
    problems: list[str] = field(default_factory=list)  # anything that makes this run a failure
    differences: list[str] | None = None  # against the native files; None: not compared

    def good(self) -> bool:
        return self.verified and not self.problems and not self.differences


@dataclass
class Row:
    """A case with all its runs."""

    case: Case
    native: Measured
    presets: dict[str, Measured]
    sha256: dict[str, str]  # of the native files, by name

    def good(self) -> bool:
        """Did every run end well and leave the same files as the native one?"""
        routed = self.presets.values()
        return bool(self.presets) and self.native.good() and all(run.good() and run.differences == [] for run in routed)


def result_text(run: Measured) -> Text:
    """The verdict on the files of one run."""
    if run.differences:
        return Text("DIFFERENT", style="bold red")
    if run.differences is None:
        return Text("not compared", style="bold red")
    if run.problems:
        return Text("NOT PROVEN", style="bold red")
    return Text("identical", style="green")


def _verified_text(row: Row) -> Text:
    runs = [row.native, *row.presets.values()]
    if all(run.verified for run in runs):
        return Text("passed", style="green")
    names = [name for name, run in zip(["native", *row.presets], runs, strict=True) if not run.verified]
    return Text("FAILED: " + ", ".join(names), style="bold red")


def table(rows: Sequence[Row], presets: Sequence[str], *, tight: bool) -> Table:
    """One line per case; per preset its I/O time, the native time over it, its routed opens and the verdict."""
    shown = Table(box=box.SIMPLE_HEAD, title="Native MPI-IO and Suiro", pad_edge=False, padding=0 if tight else (0, 1))
    shown.add_column("program", no_wrap=True)
    shown.add_column("MPI", no_wrap=True)
    for heading in ("ranks", "MB moved", "native I/O s"):
        shown.add_column(heading, justify="right", min_width=6)
    for preset in presets:
        shown.add_column(f"{preset} I/O s", justify="right", min_width=6)
        shown.add_column("ratio", justify="right")
        shown.add_column("opens", justify="right", min_width=5)
        shown.add_column(f"files {preset}", no_wrap=True)
    shown.add_column("verified", no_wrap=True)
    for position, row in enumerate(rows):
        cells: list[str | Text] = [row.case.program, row.case.mpi, row.case.ranks_text()]
        cells += [f"{row.native.bytes / 1e6:.1f}", f"{row.native.io_s:.3f}"]
        for preset in presets:
            run = row.presets[preset]
            ratio = f"{row.native.io_s / run.io_s:.2f}" if run.io_s > 0 and row.native.io_s > 0 else "-"
            cells += [f"{run.io_s:.3f}", ratio, f"{run.routed_opens}", result_text(run)]
        last_of_program = position + 1 < len(rows) and rows[position + 1].case.program != row.case.program
        shown.add_row(*cells, _verified_text(row), end_section=last_of_program)
    return shown


def shared_bytes_problems(rows: Sequence[Row]) -> list[str]:
    """Files that depend on the rank count or the MPI and should not."""
    first: dict[tuple[tuple[str, ...], str], tuple[str, Row]] = {}
    problems = []
    for row in rows:
        for name, digest in row.sha256.items():
            expected, other = first.setdefault((row.case.same_bytes_as(), name), (digest, row))
            if digest != expected:
                problems.append(f"{name} of {row.case.folder_name()} differs from that of {other.case.folder_name()}")
    return problems


def as_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Everything measured, for machines."""
    return [
        {
            "program": row.case.program,
            "mpi": row.case.mpi,
            "ranks": row.case.ranks,
            "restart_ranks": row.case.restart_ranks if row.case.program == "heat" else None,
            "native": vars(row.native),
            "presets": {name: vars(run) for name, run in row.presets.items()},
            "sha256": row.sha256,
            "good": row.good(),
        }
        for row in rows
    ]
