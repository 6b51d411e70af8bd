"""Runs one command of the demo, bounded in time, with nothing left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

GRACE_S = 5.0  # a launcher that is told to stop gets this long to stop its ranks


@dataclass(frozen=True)
class Outcome:
    """How a command ended. status is None if it was stopped because its time was over."""

    command: Sequence[str]
    status: int | None
    seconds: float
    stdout: str
    stderr: str

    def failure(self) -> str | None:
        """Why the command did not succeed, or None."""
        if self.status is None:
            return f"stopped after {self.seconds:.0f} s"
        return None if self.status == 0 else f"exit status {self.status}"

    def tail(self, lines: int = 20) -> str:
        """The last lines of what the command said, for a human."""
        parts = [("stdout", self.stdout), ("stderr", self.stderr)]
        return "\n".join(
            f"{name}: {line}" for name, text in parts for line in text.rstrip().splitlines()[-lines:] if line.strip()
        )


def _stop_group(process: subprocess.Popen[bytes]) -> None:
    for number, patience_s in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, GRACE_S)):
        # Also when the leader is gone: others of the group may not be.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience_s)


def run(command: Sequence[str], environment: Mapping[str, str], folder: Path, log: Path, timeout_s: float) -> Outcome:
    """Runs a command in a process group of its own, in folder, and stops the whole group when the time is over.

    Output goes to the files log.stdout and log.stderr, never through pipes: a stray process that holds a pipe open
    could not make the demo wait. An exception (such as ctrl-C) stops the group too.
    """
    paths = [log.with_name(f"{log.name}.{stream}") for stream in ("stdout", "stderr")]
    began = time.monotonic()
    status: int | None = None
    with paths[0].open("wb") as out, paths[1].open("wb") as err:
        process = subprocess.Popen(
            list(command),
            env=dict(environment),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        try:
            status = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            _stop_group(process)
        except BaseException:
            _stop_group(process)
            raise
    seconds = time.monotonic() - began
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in paths]
    return Outcome(tuple(command), status, seconds, texts[0], texts[1])


def mpi_environment(base: Mapping[str, str]) -> dict[str, str]:
    """The environment of every run: no trace of Suiro but its log level, more ranks than cores allowed."""
    kept = {name: value for name, value in base.items() if not name.startswith("SUIRO") and name != "LD_PRELOAD"}
    kept |= {
        "SUIRO_LOG": "info",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if os.geteuid() == 0:
        kept |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return kept


def launcher(mpi: str) -> str:
    return f"mpiexec.{mpi}"
