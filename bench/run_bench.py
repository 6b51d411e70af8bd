#!/usr/bin/env python3
"""Measures Suiro beside the native MPI-IO and the calibrated limit, and judges the figures by their targets.

For each MPI library one program runs on two ranks under the preloaded libsuiro.so: the same file is opened twice, once
with the prefix direct: (Suiro serves it) and once without (the native MPI-IO does), and both are measured in turn in one
loop. A full run writes its results to bench/results/, a --quick or partial one below the build folder. Exit status: 0
when everything was measured, 1 when a run failed (with --strict also when a target was not met), 2 when it could not
begin.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchkit import launch, machine, report, rows
from rich.console import Console

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
MPIS = ("mpich", "openmpi")
WIDE = 200  # columns of output to a file
FULL = ["--rounds", "15", "--sample", "0.02"]
QUICK = ["--rounds", "5", "--sample", "0.003", "--scale", "0.25", "--native-pieces", "100000"]
FREE_BYTES = 1 << 30


class NotReadyError(Exception):
    """The benchmark cannot begin; the text says what is missing and what to do."""


def parse_arguments(words: Sequence[str] | None) -> argparse.Namespace:
    def mpis(text: str) -> list[str]:
        names = [name for name in text.split(",") if name]
        if not names or set(names) - set(MPIS):
            raise argparse.ArgumentTypeError(f"a list of {', '.join(MPIS)}")
        return names

    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", help="build folder")
    parser.add_argument("--mpi", type=mpis, default=list(MPIS), help="default: mpich,openmpi")
    parser.add_argument("--rows", metavar="WORDS", help="only rows whose name holds one of these words, a,b,...")
    parser.add_argument("--rounds", type=int, metavar="N", help="pairs per row (default 15; with --quick 5)")
    parser.add_argument("--dir", type=Path, help="where to write, on a local file system (default: the build folder)")
    parser.add_argument("--output", type=Path, help="folder of the results")
    parser.add_argument("--timeout", type=float, default=1800.0, metavar="S", help="seconds per MPI (default 1800)")
    parser.add_argument("--quick", action="store_true", help="about a minute: fewer pairs and bytes, no verdict is 'met'")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a target is not met")
    arguments = parser.parse_args(words)
    if arguments.rounds is not None and not 1 <= arguments.rounds <= 999:
        parser.error("--rounds: 1 to 999")
    if arguments.output is None:
        partial = arguments.quick or arguments.rows or arguments.rounds or set(arguments.mpi) != set(MPIS)
        arguments.output = arguments.build / "bench/results" if partial else BENCH / "results"
    return arguments


def check_ready(build: Path, mpis: Sequence[str]) -> Path:
    """The library to preload. Raises NotReadyError."""
    library = build / "src/preload/libsuiro.so"
    needed = [library, *(build / "bench" / mpi / "mpiio_bench" for mpi in mpis)]
    for path in needed:
        if not path.exists():
            raise NotReadyError(f"{path} is not there: build it first (make build)")
    for mpi in mpis:
        if shutil.which(f"mpiexec.{mpi}") is None:
            raise NotReadyError(f"mpiexec.{mpi} is not installed: run tools/setup, or leave {mpi} out by --mpi")
    return library


def make_directory(parent: Path) -> Path:
    """A new folder on a local file system with room enough. Raises NotReadyError."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        kind = machine.filesystem_type(parent)
        if kind not in machine.LOCAL:
            raise NotReadyError(f"{parent} is on {kind or 'an unknown file system'}, which is not a local one: use --dir")
        if shutil.disk_usage(parent).free < FREE_BYTES:
            raise NotReadyError(f"{parent} has less than 1 GiB of room: give another folder by --dir")
        return Path(tempfile.mkdtemp(prefix="suiro-bench-", dir=parent)).resolve()
    except OSError as error:
        raise NotReadyError(f"cannot write below {parent}: {error.strerror}") from None


def told(words: Sequence[str]) -> str:
    """The command of this run without the folders of this machine."""

    def shortened(word: str) -> str:
        path = Path(word)
        if not path.is_absolute():
            return word
        return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else f".../{path.name}"

    if words[:1] == ["--build"] and len(words) == 2:
        return "make bench"  # what it does
    return shlex.join(["bench/run_bench.py", *map(shortened, words)])


def measure(arguments: argparse.Namespace, mpi: str, library: Path, command: str, console: Console) -> dict[str, Any]:
    """Everything of one MPI. Raises BenchFailedError, NotReadyError."""
    options = list(QUICK if arguments.quick else FULL)
    if arguments.rounds:
        options[1] = str(arguments.rounds)
    if arguments.rows:
        options += ["--rows", arguments.rows]
    directory = make_directory(arguments.dir or arguments.build / "bench")
    result: dict[str, Any] = {
        "schema": report.SCHEMA,
        "mpi": mpi,
        "command": command,
        "program_options": options,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": machine.describe(directory, ROOT),
        "rows": [],
    }

    def take(record: dict[str, Any]) -> None:
        if record["kind"] == "run":
            result.update({key: record[key] for key in ("library", "ranks", "rounds", "sample_s")})
            return
        judged = rows.judge_memory(record) if record["kind"] == "memory" else rows.judge(record)
        result["rows"].append(report.row_json(judged))
        name, native, suiro, figure, *_, verdict = report.cells(result["rows"][-1])
        if console.is_terminal:
            console.print(f"{mpi:8} {name:34} {native:>24} {suiro:>24}  {figure}  {verdict}", markup=False, highlight=False)

    try:
        program = arguments.build / "bench" / mpi / "mpiio_bench"
        launch.run(mpi, program, library, options, directory, arguments.timeout, take)
    finally:
        shutil.rmtree(directory)
    if not result["rows"]:
        raise NotReadyError(f"no row has a name with one of {arguments.rows}")
    # The order of the tables, whatever the order of measuring.
    order = list(dict.fromkeys(row["group"] for row in result["rows"]))
    order.sort(key=rows.GROUPS.index)
    result["rows"].sort(key=lambda row: order.index(row["group"]))
    return result


def main(words: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if words is None else words)
    arguments = parse_arguments(given)
    arguments.build = arguments.build.resolve()
    console = Console() if sys.stdout.isatty() else Console(width=WIDE)
    results = []
    failed = False
    try:
        library = check_ready(arguments.build, arguments.mpi)
        for mpi in arguments.mpi:
            try:
                results.append(measure(arguments, mpi, library, told(given), console))
            except launch.BenchFailedError as error:
                failed = True
                console.print(f"bench: FAILED: {error}", style="bold red", markup=False)
    except NotReadyError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    for result in results:
        console.print(report.table(result))
        console.print(f"bench: {result['mpi']}: {report.summary(result['rows'])}", markup=False, highlight=False)
    if failed:
        return 1
    arguments.output.mkdir(parents=True, exist_ok=True)
    for result in results:
        path = arguments.output / f"foundation.{result['mpi']}.json"
        path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    page = arguments.output / "foundation.md"
    page.write_text(report.markdown(results, told(given)), encoding="utf-8")
    console.print(f"bench: results in {os.path.relpath(arguments.output)}", markup=False, highlight=False)
    missed = any(row["target"] and row["verdict"] != "met" for result in results for row in result["rows"])
    return 1 if arguments.strict and missed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
