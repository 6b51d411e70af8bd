"""Runs mpi4py's own file tests (test_file.py, test_io.py) through Suiro, in every rank of an MPI job:

    launch.sh mpich 2 PYTHON run_mpi4py_io.py MPI4PY_SOURCE_DIRECTORY

mpi4py skips tests for MPI libraries whose MPI-IO it knows to be wrong (skipMPI). Suiro replaces that MPI-IO, so those tests
run here all the same, and a skipped test is a failure. The results of all ranks are summed; rank 0 prints one line
`N passed, N failed`. With SUIRO_TEST_NATIVE=1 Suiro is not asked for and mpi4py's own skips stay in force.
"""

from __future__ import annotations

import faulthandler
import io
import os
import sys
import tempfile
import unittest
from pathlib import Path

WATCHDOG_S = int(os.environ.get("SUIRO_TEST_TIMEOUT", "100"))


def check_served(preset: str) -> str:
    """Empty when Suiro serves a scratch file with the preset, else what was found instead."""
    from mpi4py import MPI

    path = Path(tempfile.gettempdir()) / f"served-{MPI.COMM_WORLD.Get_rank()}"
    file = MPI.File.Open(MPI.COMM_SELF, str(path), MPI.MODE_RDWR | MPI.MODE_CREATE | MPI.MODE_DELETE_ON_CLOSE)
    found = file.Get_info().Get("suiro_preset")
    file.Close()
    return "" if found == preset else f"suiro_preset is {found!r}, want {preset!r}"


def load_tests(source: Path, native: bool) -> unittest.TestSuite:
    """The tests of both modules, with mpi4py's lists of known failures switched off."""
    sys.path.insert(0, str(source / "test"))
    import mpiunittest

    if not native:
        mpiunittest.skipMPI = lambda *_conditions: lambda test: test
    import test_file
    import test_io

    loader = unittest.TestLoader()
    return unittest.TestSuite([loader.loadTestsFromModule(test_file), loader.loadTestsFromModule(test_io)])


def main() -> int:
    native = os.environ.get("SUIRO_TEST_NATIVE") == "1"
    faulthandler.dump_traceback_later(WATCHDOG_S, exit=True)
    from mpi4py import MPI

    rank = MPI.COMM_WORLD.Get_rank()
    problems: list[str] = []
    if not native and (wrong := check_served(os.environ.get("SUIRO_TEST_PRESET") or "direct")):
        problems.append(wrong)

    output = io.StringIO()
    result = unittest.TextTestRunner(stream=output, verbosity=2).run(load_tests(Path(sys.argv[1]), native))
    problems += [f"{test}\n{text}" for test, text in result.failures + result.errors]
    problems += [f"{test}: unexpected success" for test in result.unexpectedSuccesses]
    skipped = [f"{test}: skipped: {reason}" for test, reason in result.skipped]
    if not native:
        problems += skipped
    passed = result.testsRun - len(result.failures) - len(result.errors) - len(result.skipped)

    gathered = MPI.COMM_WORLD.gather((passed, problems, skipped), root=0)
    bad = 0
    if gathered is not None:
        for of_rank, (_, of_problems, _) in enumerate(gathered):
            for problem in of_problems:
                print(f"[rank {of_rank}] FAILED {problem}", file=sys.stderr)
        total = sum(entry[0] for entry in gathered)
        failed = sum(len(entry[1]) for entry in gathered)
        vendor = " ".join([MPI.get_vendor()[0], ".".join(map(str, MPI.get_vendor()[1]))])
        print(f"mpi4py's file tests on {vendor}, {len(gathered)} ranks: {sum(len(e[2]) for e in gathered)} skipped")
        print(f"{total} passed, {failed} failed", flush=True)
        bad = int(failed > 0 or total == 0)
    bad = MPI.COMM_WORLD.bcast(bad, root=0)
    faulthandler.cancel_dump_traceback_later()
    return bad if rank == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
