"""Runs the benchmark program of one MPI library under the preloaded libsuiro.so and reads what it prints."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

MARK = "@bench "
RANKS = 2
GRACE_S = 10.0


class BenchFailedError(Exception):
    """The benchmark did not run to its end; the text says why."""


def environment(base: Mapping[str, str], library: Path) -> dict[str, str]:
    """Nothing of Suiro but the preloaded library: its settings are the defaults, whatever the user's shell has set."""
    kept = {name: value for name, value in base.items() if not name.startswith("SUIRO") and name != "LD_PRELOAD"}
    kept |= {
        "LD_PRELOAD": str(library),
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    }
    if os.geteuid() == 0:
        kept |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return kept


def parse_line(line: str) -> dict[str, Any] | None:
    """A record of the benchmark, or None for a line that is none."""
    if not line.startswith(MARK):
        return None
    record: dict[str, Any] = json.loads(line[len(MARK) :])
    return record


def run(
    mpi: str,
    program: Path,
    library: Path,
    options: Sequence[str],
    directory: Path,
    timeout_s: float,
    on_record: Callable[[dict[str, Any]], None],
) -> list[str]:
    """Runs the benchmark, giving each record to on_record as it comes. Returns the command. Raises BenchFailedError."""
    command = [f"mpiexec.{mpi}", "-n", str(RANKS), str(program), "--dir", str(directory), *options]
    errors = directory / "stderr"
    finished = False
    other: list[str] = []
    with errors.open("wb") as error_file:
        process = subprocess.Popen(
            command,
            env=environment(os.environ, library),
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=error_file,
            text=True,
            start_new_session=True,
        )
        overdue = threading.Event()

        def stop() -> None:
            overdue.set()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)

        timer = threading.Timer(timeout_s, stop)
        timer.start()
        try:
            assert process.stdout is not None
            for line in process.stdout:
                record = parse_line(line)
                if record is None:
                    other.append(line.rstrip())
                elif record["kind"] == "end":
                    finished = True
                else:
                    on_record(record)
            status = process.wait(GRACE_S)
        except BaseException:
            stop()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(GRACE_S)
            raise
        finally:
            timer.cancel()
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            if process.stdout is not None:
                process.stdout.close()
    said = [*other, *errors.read_text(encoding="utf-8", errors="replace").splitlines()][-20:]
    if overdue.is_set():
        raise BenchFailedError("\n".join([f"{mpi}: stopped after {timeout_s:.0f} s", *said]))
    if status != 0 or not finished:
        raise BenchFailedError("\n".join([f"{mpi}: exit status {status}", *said]))
    return command
