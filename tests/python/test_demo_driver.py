"""The demo driver must notice everything that would make its "identical" a lie.

The first half tests the judging functions. The second half runs the whole driver with stand-ins for the launcher, an
example program and the suiro command; the stand-in of suiro misbehaves in one way per test, and the driver must fail.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))

import run_demo  # noqa: E402
from demo import judge, launch, programs, report  # noqa: E402

# ---------------------------------------------------------------- comparing files


def two_folders(tmp_path: Path, left: dict[str, bytes], right: dict[str, bytes]) -> tuple[Path, Path]:
    folders = tmp_path / "native", tmp_path / "routed"
    for folder, files in zip(folders, (left, right), strict=True):
        folder.mkdir()
        for name, data in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(data)
    return folders


def test_equal_folders_have_no_differences(tmp_path: Path) -> None:
    files = {"a": b"x" * 3_000_000, "sub/b": b""}
    assert judge.differences(*two_folders(tmp_path, files, files)) == []


@pytest.mark.parametrize("place", [0, 1, 1_048_575, 1_048_576, 2_999_999])
def test_one_flipped_bit_is_found_and_located(tmp_path: Path, place: int) -> None:
    data = bytearray(3_000_000)
    original = bytes(data)
    data[place] ^= 1
    folders = two_folders(tmp_path, {"a": original, "b": b"same"}, {"a": bytes(data), "b": b"same"})
    assert judge.differences(*folders) == [f"a differs from byte {place} on (3000000 and 3000000 bytes)"]


@pytest.mark.parametrize("length", [0, 99, 1_048_576])
def test_a_file_that_ends_early_or_late_differs(tmp_path: Path, length: int) -> None:
    data = b"\0" * 1_500_000
    folders = two_folders(tmp_path, {"a": data}, {"a": data[:length]})
    assert judge.first_difference(folders[0] / "a", folders[1] / "a") == length
    assert judge.first_difference(folders[1] / "a", folders[0] / "a") == length
    assert len(judge.differences(*folders)) == 1


def test_missing_and_surplus_files_are_found(tmp_path: Path) -> None:
    folders = two_folders(tmp_path, {"a": b"1", "b": b"2"}, {"a": b"1", "c": b"2"})
    assert judge.differences(*folders) == ["b is missing", "c is too many"]


def test_two_empty_folders_are_not_identical(tmp_path: Path) -> None:
    assert judge.differences(*two_folders(tmp_path, {}, {})) == ["the native run left no file"]


# ---------------------------------------------------------------- the proof that Suiro was in the path


def test_opened_lines_are_recognised_among_others() -> None:
    log = (
        "some launcher text\n"
        "suiro: info: opened /work/a file preset=direct route=direct ranks=4\n"
        "suiro: info: closed /work/b preset=direct\n"
        "not at the start suiro: info: opened /work/c preset=direct\n"
        "suiro: info: opened /work/d preset=ring\n"
    )
    assert judge.routed_opens(log) == [judge.Opened("/work/a file", "direct"), judge.Opened("/work/d", "ring")]


def test_no_routed_open_is_a_failure(tmp_path: Path) -> None:
    assert judge.routing_problems([], "direct", 0, []) != []
    assert judge.routing_problems([], "direct", 2, [tmp_path / "a"]) != []


def test_routing_is_proven_only_by_every_file_every_open_and_the_right_preset(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    good = [judge.Opened(str(a), "direct"), judge.Opened(str(b), "direct")]
    assert judge.routing_problems(good, "direct", 2, [a, b]) == []
    assert judge.routing_problems(good, "ring", 2, [a, b]) != []
    assert judge.routing_problems(good, "direct", 3, [a, b]) != []
    assert judge.routing_problems([good[0], good[0]], "direct", 2, [a, b]) == ["b was never opened through Suiro"]


# ---------------------------------------------------------------- claims, plan, table, file systems

CLAIM = "heat: verification=passed ranks=2 opens=4 bytes=100 compute_s=0.5 io_s=0.25\n"


def test_a_claim_is_read_from_the_output() -> None:
    claim = programs.parse_claim("heat", 2, "heat: step 3\n" + CLAIM)
    assert claim == programs.Claim(True, 4, 100, 0.25)


@pytest.mark.parametrize(
    "text",
    ["", CLAIM + CLAIM, CLAIM.replace("ranks=2", "ranks=1") * 2, CLAIM.replace("heat", "multipart"), CLAIM[:-10]],
    ids=["nothing", "twice", "as two single processes", "another program", "cut short"],
)
def test_anything_but_one_whole_claim_is_no_claim(text: str) -> None:
    assert programs.parse_claim("heat", 2, text) is None


def test_a_failed_verification_is_seen() -> None:
    claim = programs.parse_claim("heat", 2, CLAIM.replace("passed", "FAILED"))
    assert claim is not None
    assert not claim.verified


def test_every_case_restarts_on_another_rank_count() -> None:
    for ranks in ([1, 2, 4], [1], [2], [7]):
        cases = programs.plan(["heat"], ["mpich", "openmpi"], ranks)
        assert [case.ranks for case in cases] == ranks * 2
        assert all(case.restart_ranks != case.ranks for case in cases)


def row_with(native: report.Measured, routed: report.Measured) -> report.Row:
    return report.Row(programs.Case("heat", "mpich", 2, 4), native, {"direct": routed}, {"a": "00"})


def test_a_row_is_good_only_if_everything_in_it_is() -> None:
    def fine() -> report.Measured:
        return report.Measured(verified=True)

    def routed(**changes: object) -> report.Measured:
        return report.Measured(**({"verified": True, "differences": []} | changes))  # type: ignore[arg-type]

    assert row_with(fine(), routed()).good()
    assert not row_with(report.Measured(), routed()).good()
    assert not row_with(fine(), routed(verified=False)).good()
    assert not row_with(fine(), routed(differences=["a is missing"])).good()
    assert not row_with(fine(), routed(differences=None)).good()
    assert not row_with(fine(), routed(problems=["not routed"])).good()
    assert not report.Row(programs.Case("heat", "mpich", 2, 4), fine(), {}, {}).good()


def test_files_that_change_with_the_rank_count_are_found() -> None:
    def row(ranks: int, digest: str, program: str = "heat", mpi: str = "mpich") -> report.Row:
        case = programs.Case(program, mpi, ranks, 1)
        return report.Row(case, report.Measured(), {}, {"straight": digest})

    assert report.shared_bytes_problems([row(1, "aa"), row(2, "aa")]) == []
    assert len(report.shared_bytes_problems([row(1, "aa"), row(2, "bb"), row(4, "aa")])) == 1
    assert len(report.shared_bytes_problems([row(1, "aa"), row(1, "bb", mpi="openmpi")])) == 1
    python = [row(1, "aa", "fits2hdf5"), row(1, "bb", "fits2hdf5", "openmpi")]
    assert report.shared_bytes_problems(python) == []
    assert len(report.shared_bytes_problems([*python, row(2, "cc", "fits2hdf5", "openmpi")])) == 1


def test_the_file_system_of_a_path_is_that_of_its_nearest_mount(tmp_path: Path) -> None:
    inside = tmp_path / "with space"
    inside.mkdir()
    mounts = "none / ext4 rw 0 0\n" + f"none {tmp_path} xfs rw 0 0\n" + f"none {tmp_path}/with\\040space tmpfs rw 0 0\n"
    assert judge.filesystem_type(Path("/"), mounts) == "ext4"
    assert judge.filesystem_type(tmp_path, mounts) == "xfs"
    assert judge.filesystem_type(inside, mounts) == "tmpfs"


# ---------------------------------------------------------------- launching


@pytest.mark.parametrize("escape", ["", "setsid"], ids=["in the group", "in a session of its own"])
def test_a_run_that_takes_too_long_is_stopped_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, escape: str
) -> None:
    monkeypatch.setattr(launch, "GRACE_S", 0.5)
    child_script = "echo $$ > child; trap '' TERM; while :; do sleep 1; done"
    script = f"trap '' TERM; {escape} sh -c '{child_script.replace(chr(39) * 2, chr(34) * 2)}' & wait"
    began = time.monotonic()
    outcome = launch.run(["sh", "-c", script], os.environ, tmp_path, tmp_path / "log", 1.0)
    assert outcome.status is None
    assert "stopped" in str(outcome.failure())
    assert time.monotonic() - began < 30
    child = int((tmp_path / "child").read_text())
    status = Path(f"/proc/{child}/status")
    assert not status.exists() or "State:\tZ" in status.read_text()  # dead; its new parent may not have collected it


def test_stopping_a_run_leaves_other_processes_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "GRACE_S", 0.5)
    with subprocess.Popen(["sleep", "300"], env={**os.environ, launch.MARK: "another"}) as bystander:
        launch.run(["sleep", "300"], os.environ, tmp_path, tmp_path / "log", 0.2)
        alive = bystander.poll() is None
        bystander.kill()
    assert alive


def test_the_environment_of_a_run_holds_no_trace_of_suiro() -> None:
    kept = launch.mpi_environment({"PATH": "/bin", "LD_PRELOAD": "x", "SUIRO_PRESET": "direct", "SUIRO": "off"})
    assert {name: value for name, value in kept.items() if "SUIRO" in name} == {"SUIRO_LOG": "info"}
    assert "LD_PRELOAD" not in kept
    assert kept["PATH"] == "/bin"


# ---------------------------------------------------------------- the whole driver, with stand-ins

# mpiexec: -n RANKS PROGRAM ARGUMENTS; the program runs once and learns the rank count from the environment.
MPIEXEC = '#!/bin/sh\nRANKS=$2; export RANKS; shift 2; exec "$@"\n'

# heat: writes what is named after --output with .000005, and says so.
HEAT = """#!/bin/sh
while [ $# -gt 0 ]; do [ "$1" = --output ] && out=$2; shift; done
printf 'some data' > "$out.000005"
echo "heat: verification=${VERDICT:-passed} ranks=$RANKS opens=1 bytes=9 compute_s=0.1 io_s=0.2"
exit ${STATUS:-0}
"""

# suiro run --preset P -- COMMAND: runs it, then MISCHIEF, then logs the opens that a real one would have seen.
SUIRO = """#!/bin/sh
preset=$3; shift 4
{before}
"$@" || exit
for word in "$@"; do [ "$last" = --output ] && out=$word; last=$word; done
file=$out.000005
{after}
{log}
"""
LOG = 'echo "suiro: info: opened $file preset=$preset route=direct" >&2'


def set_the_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str = "", after: str = "", log: str = LOG, heat: str = HEAT
) -> list[str]:
    """Makes a build folder of stand-ins and returns the arguments of the driver."""
    build, tools = tmp_path / "build", tmp_path / "bin"
    for path, text in {
        build / "programs" / "suiro": SUIRO.format(before=before, after=after, log=log),
        build / "examples" / "mpich" / "heat": heat,
        tools / "mpiexec.mpich": MPIEXEC,
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setattr(run_demo, "VOLATILE", set())  # wherever the tests run
    (tmp_path / "work").mkdir()
    words = ["--build", str(build), "--programs", "heat", "--mpi", "mpich", "--ranks", "1,2", "--timeout", "20"]
    return [*words, "--work", str(tmp_path / "work"), "--json", str(tmp_path / "result.json")]


def test_the_driver_accepts_a_faithful_suiro_and_cleans_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = set_the_stage(tmp_path, monkeypatch)
    assert run_demo.main(words) == 0
    assert "demo: identical: all 4 files of 2 cases" in re.sub(r"\s+", " ", capsys.readouterr().out)
    assert list((tmp_path / "work").iterdir()) == []
    rows = json.loads((tmp_path / "result.json").read_text())
    assert [(row["good"], row["presets"]["direct"]["routed_opens"]) for row in rows] == [(True, 2), (True, 2)]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"after": "printf S | dd of=$file conv=notrunc status=none"}, "differs from byte 0"),
        ({"after": "printf ! >> $file"}, "differs from byte 9"),
        ({"after": "rm $file"}, "is missing"),
        ({"after": "cp $file $file.lock"}, "is too many"),
        ({"log": ""}, "no routed open"),
        ({"log": 'echo "suiro: info: opened /elsewhere preset=$preset" >&2'}, "was never opened through Suiro"),
        ({"log": LOG.replace("$preset", "ring")}, "not direct"),
        ({"before": "export VERDICT=FAILED"}, "verification failed"),
        ({"before": "export STATUS=3"}, "exit status 3"),
        ({"before": "exit 0"}, "did not say"),
        ({"heat": HEAT + "\n"}, None),
        (
            {"heat": HEAT.replace("exit", "echo suiro: info: opened x preset=direct >&2; exit")},
            "native run went through",
        ),
    ],
    ids=[
        "byte changed",
        "byte more",
        "file lost",
        "file more",
        "no log",
        "another file logged",
        "another preset",
        "verification failed",
        "bad exit",
        "nothing done",
        "control: nothing wrong",
        "native run routed",
    ],
)
def test_the_driver_fails_when(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, str],
    complaint: str | None,
) -> None:
    status = run_demo.main(set_the_stage(tmp_path, monkeypatch, **changes))
    said = re.sub(r"\s+", " ", capsys.readouterr().out)
    if complaint is None:
        assert status == 0
        return
    assert status == 1
    assert complaint in said
    assert "demo: FAILED" in said
    assert "demo: identical" not in said
    assert list((tmp_path / "work").iterdir()) != []  # the evidence is kept


def test_the_driver_does_not_begin_without_its_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = set_the_stage(tmp_path, monkeypatch)
    assert run_demo.main([*words, "--mpi", "mpich,other"]) == 2
    (tmp_path / "build" / "programs" / "suiro").unlink()
    assert run_demo.main(words) == 2
    assert "build it first" in capsys.readouterr().err


def test_the_driver_refuses_a_work_folder_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = set_the_stage(tmp_path, monkeypatch)
    monkeypatch.setattr(run_demo, "VOLATILE", {judge.filesystem_type(tmp_path)})
    assert run_demo.main(words) == 2
    assert "live in memory" in capsys.readouterr().err


# ---------------------------------------------------------------- the examples themselves


def test_the_examples_know_nothing_of_suiro() -> None:
    sources = [EXAMPLES / name for name in ("heat/heat.c", "multipart/multipart.f90")]
    sources += (EXAMPLES / "fits2hdf5").glob("*.py")
    assert len(sources) == 4
    for source in sources:
        assert "suiro" not in source.read_text(encoding="utf-8").lower(), source
