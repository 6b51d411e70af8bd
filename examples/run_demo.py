#!/usr/bin/env python3
"""Runs the example programs natively and through Suiro and compares every byte they write.

For each program, MPI library and rank count: one native run, then one run per preset under `suiro run`. A line of the
final table says "identical" only if every file is the same byte for byte, the program verified its own data, and the
log of Suiro shows that each of these files was really opened through it. The exit status is 0 only if all of this
holds in every line; 2 if the demo could not begin.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from demo import judge, launch, programs, report
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

VOLATILE = {"tmpfs", "ramfs"}
WIDE = 110  # columns of a terminal that has room for an airy table; also of output to a file


class NotReadyError(Exception):
    """The demo cannot begin; the text says what is missing and what to do."""


def parse_arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    def names(text: str) -> list[str]:
        return [word.strip() for word in text.split(",") if word.strip()]

    def counts(text: str) -> list[int]:
        numbers = [int(word) for word in names(text)]
        if not numbers or min(numbers) < 1 or len(set(numbers)) != len(numbers):
            raise argparse.ArgumentTypeError("a list of different rank counts, such as 1,2,4")
        return numbers

    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--build", type=Path, default=programs.EXAMPLES.parent / "build", help="build folder")
    parser.add_argument("--programs", type=names, default=list(programs.PROGRAMS), help="default: all three")
    parser.add_argument("--mpi", type=names, default=["mpich", "openmpi"], help="default: mpich,openmpi")
    parser.add_argument("--ranks", type=counts, help="rank counts (default: 1,2,4; with --quick: 2)")
    parser.add_argument("--presets", type=names, default=["direct"], help="default: direct")
    parser.add_argument("--work", type=Path, help="where to write, on a real file system (default: the temp folder)")
    parser.add_argument("--fits", type=Path, help="folder of FITS images instead of synthetic ones")
    parser.add_argument("--python-mpich", type=Path, help="interpreter whose h5py and mpi4py are MPICH's")
    parser.add_argument("--python-openmpi", type=Path, default=Path("/usr/bin/python3"), help="the same for Open MPI")
    parser.add_argument("--timeout", type=float, default=120.0, metavar="S", help="seconds per run (default 120)")
    parser.add_argument("--json", type=Path, help="write all results to this file")
    parser.add_argument("--quick", action="store_true", help="small, on 2 ranks only")
    parser.add_argument("--keep", action="store_true", help="keep the files that were written")
    arguments = parser.parse_args(words)
    arguments.ranks = arguments.ranks or ([2] if arguments.quick else [1, 2, 4])
    for program in arguments.programs:
        if program not in programs.PROGRAMS:
            parser.error(f"there is no program {program}; there are {', '.join(programs.PROGRAMS)}")
    if not (arguments.programs and arguments.mpi and arguments.presets):
        parser.error("--programs, --mpi and --presets each need at least one name")
    return arguments


def find_python(given: Path | None, build: Path) -> Path:
    """The interpreter for MPICH: as told, else the environment that tools/setup makes."""
    if given is not None:
        return given
    places = [folder / "venv-mpich/bin/python" for folder in (build, programs.EXAMPLES.parent / "build")]
    return next((place for place in places if place.exists()), places[0])


def check_ready(setting: programs.Setting, chosen: Sequence[str], mpis: Sequence[str], suiro: Path) -> None:
    """Everything the demo needs is there, and the examples know nothing of Suiro. Raises NotReadyError."""
    if not os.access(suiro, os.X_OK):
        raise NotReadyError(f"{suiro} is not there: build it first (make)")
    for mpi in mpis:
        if shutil.which(launch.launcher(mpi)) is None:
            raise NotReadyError(
                f"{launch.launcher(mpi)} is not installed: run tools/setup, or leave {mpi} out by --mpi"
            )
        for name in set(chosen) & {"heat", "multipart"}:
            binary = setting.build / "examples" / mpi / name
            if not os.access(binary, os.X_OK):
                raise NotReadyError(
                    f"{binary} is not built: is the compiler of {mpi} installed? Or leave it out by --mpi"
                )
            ldd = subprocess.run(["ldd", str(binary)], capture_output=True, text=True, timeout=30, check=False)
            if "libsuiro" in ldd.stdout:
                raise NotReadyError(f"{binary} is linked with Suiro; the examples must know nothing of it")
        if "fits2hdf5" in chosen:
            command = [str(setting.python[mpi]), "-c", "import mpi4py, h5py, sys; sys.exit(not h5py.get_config().mpi)"]
            environment = {**os.environ, "H5PY_ALWAYS_USE_MPI": "1"}  # Debian's h5py has two faces
            try:
                subprocess.run(command, env=environment, capture_output=True, timeout=60, check=True)
            except (OSError, subprocess.SubprocessError):
                raise NotReadyError(
                    f"{setting.python[mpi]} has no parallel h5py for {mpi}: tools/setup provides it"
                ) from None


def make_work_folder(given: Path | None, build: Path) -> Path:
    """A new folder on a file system that is not memory. Raises NotReadyError."""
    parents = [given] if given is not None else [Path(tempfile.gettempdir()), build]
    for parent in parents:
        try:
            parent.mkdir(parents=True, exist_ok=True)
            if judge.filesystem_type(parent) not in VOLATILE:
                return Path(tempfile.mkdtemp(prefix="suiro-demo-", dir=parent)).resolve()
        except OSError as error:
            raise NotReadyError(f"cannot write below {parent}: {error.strerror}") from None
    raise NotReadyError(
        f"{' and '.join(map(str, parents))} live in memory: give a folder on a real file system by --work"
    )


class Demo:
    """Runs cases one after the other below a work folder and tells the console about failures at once."""

    def __init__(
        self, arguments: argparse.Namespace, setting: programs.Setting, suiro: Path, work: Path, console: Console
    ) -> None:
        self._arguments = arguments
        self._setting = setting
        self._suiro = suiro
        self._work = work
        self._console = console
        self._environment = launch.mpi_environment(os.environ)

    def run_case(self, case: programs.Case) -> report.Row:
        native_folder = self._work / "native" / case.folder_name()
        native = self._measure(case, native_folder, None)
        presets: dict[str, report.Measured] = {}
        for preset in self._arguments.presets:
            folder = self._work / preset / case.folder_name()
            routed = presets[preset] = self._measure(case, folder, preset)
            # Files of a run that broke off say nothing, also if they happen to be equal.
            if native.verified and routed.verified:
                routed.differences = judge.differences(native_folder, folder)
                for text in routed.differences:
                    self._complain(case, preset, text)
        files = judge.files_below(native_folder) if native.verified else {}
        digests = {name: judge.sha256(path) for name, path in files.items()}
        return report.Row(case, native, presets, digests)

    def _measure(self, case: programs.Case, folder: Path, preset: str | None) -> report.Measured:
        """Runs all steps of a case in folder; stops at the first that fails."""
        folder.mkdir(parents=True)
        total = report.Measured(verified=True)
        opens: list[judge.Opened] = []
        for step in programs.PROGRAMS[case.program](self._setting, case, folder):
            command = [launch.launcher(case.mpi), "-n", str(step.ranks), *step.command]
            if preset is not None:
                command = [str(self._suiro), "run", "--preset", preset, "--", *command]
            log = folder.with_name(f"{folder.name}.{step.name}")
            outcome = launch.run(command, self._environment, folder, log, self._arguments.timeout)
            claim = programs.parse_claim(case.program, step.ranks, outcome.stdout)
            why = outcome.failure()
            if why is None and claim is None:
                why = "it did not say whether its verification passed"
            if why is None and claim is not None and not claim.verified:
                why = "its verification failed"
            total.wall_s += outcome.seconds
            opens += judge.routed_opens(outcome.stderr)
            if claim is not None:
                total.io_s += claim.io_s
                total.bytes += claim.bytes
                total.program_opens += claim.opens
            if why is not None:
                total.verified = False
                total.problems.append(f"{step.name}: {why}")
                self._complain(case, preset, f"{step.name}: {why}", outcome)
                break
        total.routed_opens = len(opens)
        if preset is None and opens:
            total.problems.append("the native run went through Suiro")
            self._complain(case, preset, total.problems[-1])
        if preset is not None and total.verified:
            files = judge.files_below(folder).values()
            unproven = judge.routing_problems(opens, preset, total.program_opens, files)
            total.problems += unproven
            for text in unproven:
                self._complain(case, preset, text)
        return total

    def _complain(
        self, case: programs.Case, preset: str | None, text: str, outcome: launch.Outcome | None = None
    ) -> None:
        way = "native" if preset is None else preset
        self._console.print(
            f"{case.program}, {case.mpi}, {case.ranks} ranks, {way}: {text}",
            style="bold red",
            markup=False,
            highlight=False,
        )
        if outcome is not None:
            for line in [f"command: {shlex.join(outcome.command)}", *outcome.tail().splitlines()]:
                self._console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)


def run_all(demo: Demo, cases: Sequence[programs.Case], console: Console) -> list[report.Row]:
    rows = []
    done = TextColumn("{task.completed}/{task.total}")
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), done, TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=len(cases))
        for case in cases:
            progress.update(task, description=f"{case.program}, {case.mpi}, {case.ranks_text()} ranks")
            began = time.monotonic()
            row = demo.run_case(case)
            rows.append(row)
            progress.advance(task)
            if not console.is_terminal:
                word = "ok" if row.good() else "FAILED"
                console.print(
                    f"{case.program:<10} {case.mpi:<8} {case.ranks_text():>4} ranks  {word}  "
                    f"{time.monotonic() - began:.1f} s",
                    highlight=False,
                )
    return rows


def conclude(rows: Sequence[report.Row], presets: Sequence[str], console: Console) -> bool:
    """Shows the table and the verdict; True if everything is as it should be."""
    console.print(report.table(rows, presets, tight=console.width < WIDE))
    console.print(
        "I/O s: what the programs measured, open and close included; ratio: native over Suiro; opens: "
        "through Suiro. One run each: a demonstration, not a benchmark (make bench).",
        style="dim",
    )
    strange = report.shared_bytes_problems(rows)
    for text in strange:
        console.print(text, style="bold red", markup=False)
    bad = [row for row in rows if not row.good()]
    if bad or strange:
        console.print(f"demo: FAILED: {len(bad)} of {len(rows)} lines are not identical and verified", style="bold red")
        return False
    files = sum(len(row.sha256) for row in rows)
    console.print(
        f"demo: identical: all {files} files of {len(rows)} cases, byte for byte, through "
        f"{', '.join(presets)}; each program's own verification passed",
        style="bold green",
        highlight=False,
    )
    return True


def main(words: Sequence[str] | None = None) -> int:
    arguments = parse_arguments(words)
    console = Console() if sys.stdout.isatty() else Console(width=WIDE)
    build = arguments.build.resolve()
    suiro = build / "programs" / "suiro"
    setting = programs.Setting(
        build,
        {"mpich": find_python(arguments.python_mpich, build), "openmpi": arguments.python_openmpi},
        arguments.quick,
        arguments.fits.resolve() if arguments.fits else None,
    )
    try:
        unknown = set(arguments.mpi) - set(setting.python)
        if unknown:
            raise NotReadyError(f"the demo does not know the MPI {', '.join(sorted(unknown))}")
        check_ready(setting, arguments.programs, arguments.mpi, suiro)
        work = make_work_folder(arguments.work, build)
    except NotReadyError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    good = False
    try:
        cases = programs.plan(arguments.programs, arguments.mpi, arguments.ranks)
        rows = run_all(Demo(arguments, setting, suiro, work, console), cases, console)
        good = conclude(rows, arguments.presets, console)
        if arguments.json:
            arguments.json.write_text(json.dumps(report.as_json(rows), indent=2) + "\n", encoding="utf-8")
    finally:
        if good and not arguments.keep:
            shutil.rmtree(work)
        else:
            print(f"demo: the files are kept in {work}")
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
