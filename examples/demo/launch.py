"""Runs one command of the demo, bounded in time, with nothing left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

GRACE_S = 5.0  # a launcher that is told to stop gets this long to stop its ranks
MARK = "DEMO_RUN"  # environment variable by which the processes of one run are told from all others


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


def _marked(mark: str) -> list[int]:
    """The processes that carry the mark of a run in their environment."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):  # gone meanwhile, or another user's
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
    return found


def _stop(process: subprocess.Popen[bytes], mark: str) -> None:
    """Stops a run: first its process group politely, so that a launcher can stop its ranks; then whatever is left.

    Launchers put their ranks into sessions of their own, so that the group alone would not do.
    """
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_S
    while process.poll() is None or _marked(mark):
        if time.monotonic() > deadline:
            for pid in _marked(mark):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() > deadline + GRACE_S:
                break  # not even SIGKILL helps (a dead network file system): do not wait for it
        time.sleep(0.05)


def run(command: Sequence[str], environment: Mapping[str, str], folder: Path, log: Path, timeout_s: float) -> Outcome:
    """Runs a command in folder, and stops it with all its descendants when the time is over.

    Output goes to the files log.stdout and log.stderr, never through pipes: a stray process that holds a pipe open
    could not make the demo wait. An exception (such as ctrl-C) stops the command too.
    """
    paths = [log.with_name(f"{log.name}.{stream}") for stream in ("stdout", "stderr")]
    mark = uuid.uuid4().hex
    began = time.monotonic()
    status: int | None = None
    with paths[0].open("wb") as out, paths[1].open("wb") as err:
        process = subprocess.Popen(
            list(command),
            env={**environment, MARK: mark},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        try:
            status = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            _stop(process, mark)
        except BaseException:
            _stop(process, mark)
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
