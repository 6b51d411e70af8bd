"""The figures of the benchmark decide what is called met: its statistics, its judging and its driver must not flatter.

The last part runs the whole driver with stand-ins for the launcher and the benchmark program, among them canaries that
must make it fail.
"""

from __future__ import annotations

import json
import random
import re
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import run_bench  # noqa: E402
from benchkit import launch, machine, report, rows, stats  # noqa: E402

# ---------------------------------------------------------------- statistics


def test_equal_samples_have_an_interval_of_no_width() -> None:
    assert stats.bootstrap([2.0] * 11) == stats.Interval(2.0, 2.0, 2.0, 11)


def test_the_interval_encloses_the_median_and_is_the_same_each_time() -> None:
    values = [1.0, 1.1, 0.9, 1.3, 0.7, 1.05, 0.95, 1.2, 0.8, 1.0, 5.0]
    interval = stats.bootstrap(values)
    assert interval.low <= interval.middle <= interval.high
    assert interval.middle == 1.0
    assert interval.high < 5.0  # one outlier does not decide
    assert stats.bootstrap(values) == interval


@pytest.mark.parametrize("truth", [0.9, 1.0, 2.0])
def test_the_interval_holds_the_true_median_about_as_often_as_it_says(truth: float, monkeypatch: Any) -> None:
    monkeypatch.setattr(stats, "RESAMPLES", 300)
    chance = random.Random(int(truth * 10))
    trials = 200
    held = 0
    for _ in range(trials):
        interval = stats.bootstrap([truth * chance.lognormvariate(0, 0.2) for _ in range(15)])
        held += interval.low <= truth <= interval.high
    assert held >= 0.88 * trials
    assert held < trials  # canary: an interval that always holds it says nothing


def test_nothing_comes_of_no_samples() -> None:
    with pytest.raises(ValueError, match="no samples"):
        stats.bootstrap([])


def test_ratios_and_differences_compare_what_was_measured_together() -> None:
    # Both became slower together: pair by pair nothing changed, the ratio of the medians of all would say the same here,
    # but not the one of the fastest.
    native, suiro = [2.0, 4.0, 8.0], [1.0, 2.0, 4.0]
    assert stats.ratios(native, suiro) == [2.0, 2.0, 2.0]
    assert stats.differences(native, suiro) == [1.0, 2.0, 4.0]
    with pytest.raises(ValueError, match="cannot be paired"):
        stats.ratios([1.0], [1.0, 2.0])


def test_the_spread_is_relative_and_ignores_the_tails() -> None:
    assert stats.spread([5.0] * 9) == 0
    assert stats.spread([9.0, 9.5, 10.0, 10.5, 11.0]) == pytest.approx(0.05)
    assert stats.spread([0.0, 0.0]) == 0


# ---------------------------------------------------------------- verdicts


def interval(low: float, middle: float, high: float, count: int = 11) -> stats.Interval:
    return stats.Interval(low, middle, high, count)


@pytest.mark.parametrize(
    ("figure", "target", "expected"),
    [
        (interval(0.90, 0.93, 0.96), stats.Target(least=0.95, reaches="interval"), "met"),
        (interval(0.90, 0.93, 0.949), stats.Target(least=0.95, reaches="interval"), "not met"),
        (interval(1.5, 1.99, 9.0), stats.Target(least=2.0), "not met"),
        (interval(1.5, 2.0, 2.5), stats.Target(least=2.0), "met"),
        (interval(100, 300, 900), stats.Target(most=300), "met"),
        (interval(100, 301, 900), stats.Target(most=300), "not met"),
        (interval(1.2, 1.4, 1.6), stats.Target(most=1.25, reaches="interval"), "met"),
        (interval(1.3, 1.4, 1.6), stats.Target(most=1.25, reaches="interval"), "not met"),
        (interval(5, 5, 5, 10), stats.Target(least=2.0), "too few pairs"),
        (interval(1, 1, 1, 10), stats.Target(least=2.0), "not met"),
        (interval(0, 0, 0), None, ""),
    ],
)
def test_verdicts(figure: stats.Interval, target: stats.Target | None, expected: str) -> None:
    assert stats.verdict(figure, target) == expected


def test_a_target_is_one_bound() -> None:
    for wrong in ({}, {"least": 1.0, "most": 2.0}, {"least": 1.0, "reaches": "mean"}):
        with pytest.raises(ValueError, match="target"):
            stats.Target(**wrong)  # type: ignore[arg-type]


# ---------------------------------------------------------------- rows


def record(name: str, bytes_moved: float = 0, calls: float = 1, **seconds: list[float]) -> dict[str, Any]:
    contenders = {
        who: {"repeats": 1, "seconds": samples, "cpu_s": [2 * value for value in samples]}
        for who, samples in seconds.items()
    }
    return {"kind": "row", "name": name, "bytes": bytes_moved, "calls": calls, "contenders": contenders}


@pytest.mark.parametrize(
    ("name", "native_over_suiro", "expected"),
    [
        ("contiguous-write-1048576", 0.95, "met"),
        ("contiguous-read-4096", 0.94, "not met"),
        ("strided-read-8", 1.9, "not met"),
        ("strided-read-65536", 2.0, "met"),
        ("strided-write-1024", 1.9, "not met"),
        ("strided-write-256", 1.0, "met"),
        ("strided-write-256", 0.9, "not met"),
        ("strided-write-sync-4096", 0.1, ""),
        ("collective-strided-write-64", 0.1, ""),
        ("irregular-10000-read", 0.1, ""),
        ("open-close-self", 0.1, ""),
    ],
)
def test_a_row_is_judged_by_its_own_target(name: str, native_over_suiro: float, expected: str) -> None:
    row = rows.judge(record(name, 1e6, native=[native_over_suiro] * 11, suiro=[1.0] * 11))
    assert row.verdict == expected
    assert row.figure.middle == native_over_suiro
    assert row.cpu_ratio == pytest.approx(native_over_suiro)


def test_costs_of_calls_are_nanoseconds_per_call() -> None:
    def judged(nanoseconds: float) -> rows.Row:
        suiro = [(1000 + nanoseconds) * 2000 * 1e-9] * 11
        return rows.judge(record("call-write-8", calls=2000, native=suiro, suiro=suiro, bare=[2e-3] * 11))

    assert judged(290).figure.middle == pytest.approx(290)
    assert judged(290).verdict == "met"
    assert judged(310).verdict == "not met"
    stub = rows.judge(record("unrouted-get_position", calls=1000, library=[1e-6] * 11, stub=[61e-6] * 11))
    assert (round(stub.figure.middle), stub.verdict) == (60, "not met")


def test_views_have_to_be_flat_and_small() -> None:
    flat = rows.judge(record("view-vector-1000000", native=[9.0] * 11, suiro=[1.2] * 11, suiro_1000=[1.0] * 11))
    assert flat.verdict == "met"
    growing = rows.judge(record("view-vector-1000000", native=[9.0] * 11, suiro=[2.0] * 11, suiro_1000=[1.0] * 11))
    assert growing.verdict == "not met"
    memory = {"kind": "memory", "name": "memory-view-9", "extent": 1}
    assert rows.judge_memory(memory | {"contenders": {"suiro": {"heap": 9, "resident": 4096}}}).verdict == "met"
    assert rows.judge_memory(memory | {"contenders": {"suiro": {"heap": 1 << 20, "resident": 0}}}).verdict == "not met"
    assert rows.judge_memory(memory | {"contenders": {"suiro": {"heap": 0, "resident": 1 << 20}}}).verdict == "not met"


def test_a_row_that_nobody_judges_is_an_error() -> None:
    with pytest.raises(ValueError, match="no judgement"):
        rows.kind_of("something-new")


# ---------------------------------------------------------------- text


def test_numbers_are_short() -> None:
    assert [report.duration(value) for value in (2.5, 3e-3, 4.25e-6, 12e-9)] == ["2.5 s", "3 ms", "4.25 µs", "12 ns"]
    assert [report.size(value) for value in (0, -2048, 3 << 30)] == ["0 B", "-2 KiB", "3 GiB"]
    assert [report.ratio(value) for value in (0.5, 12.34, 1234.5)] == ["0.50x", "12.3x", "1234x"]
    assert report.rate(1.5e9) == "1.50 GB/s"


def test_the_page_comes_from_the_json_alone() -> None:
    row = rows.judge(record("strided-read-8", 1e9, native=[4.0] * 11, suiro=[1.0] * 11, plain=[0.5] * 11))
    about = {"cpu": "c", "cores": 2, "system": "s", "kernel": "k", "file_system": "ext4", "load_before": 0, "suiro": "r"}
    result = {"mpi": "mpich", "library": "L", "ranks": 2, "rounds": 11, "date": "D", "machine": about}
    result = json.loads(json.dumps(result | {"rows": [report.row_json(row)]}))
    page = report.markdown([result], "make bench")
    assert "| strided-read-8 | 0.25 GB/s | 1.00 GB/s | 4.00x [4.00-4.00] |" in page
    assert "plain 2.00 (8.00x) GB/s" in page
    assert "1 of 1 targets met" in page
    assert "`make bench`" in page


def test_only_local_file_systems_are_taken(tmp_path: Path) -> None:
    mounts = f"a / ext4 rw 0 0\nb {tmp_path} nfs4 rw 0 0\n"
    assert machine.filesystem_type(Path("/"), mounts) in machine.LOCAL
    assert machine.filesystem_type(tmp_path / "x", mounts) not in machine.LOCAL


def test_the_environment_of_a_run_holds_no_setting_of_the_user() -> None:
    kept = launch.environment({"PATH": "/bin", "LD_PRELOAD": "x", "SUIRO_PRESET": "none"}, Path("/lib/libsuiro.so"))
    assert [name for name in kept if "SUIRO" in name] == []
    assert kept["LD_PRELOAD"] == "/lib/libsuiro.so"


# ---------------------------------------------------------------- the whole driver, with stand-ins

# mpiexec -n 2 PROGRAM ...; the program is a script that prints what the real one would.
MPIEXEC = '#!/bin/sh\nunset LD_PRELOAD\nshift 2\nexec "$@"\n'
RUN = {"kind": "run", "library": "Stand-in", "ranks": 2, "rounds": 11, "sample_s": 0.02}
END = {"kind": "end"}
GOOD_ROW = record("strided-read-8", 1e9, native=[4.0] * 11, suiro=[1.0] * 11)
SLOW_ROW = record("strided-read-8", 1e9, native=[1.0] * 11, suiro=[1.0] * 11)


def set_the_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, records: list[dict[str, Any]], tail: str) -> list[str]:
    build = tmp_path / "build"
    lines = "\n".join(f"echo '{launch.MARK}{json.dumps(one)}'" for one in records)
    for path, text in {
        build / "src/preload/libsuiro.so": "",
        build / "bench/mpich/mpiio_bench": f"#!/bin/sh\n{lines}\n{tail}\n",
        tmp_path / "bin/mpiexec.mpich": MPIEXEC,
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(machine, "LOCAL", {machine.filesystem_type(tmp_path)})
    return ["--build", str(build), "--mpi", "mpich", "--timeout", "20", "--output", str(tmp_path / "out")]


def test_the_driver_measures_judges_and_cleans_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    words = set_the_stage(tmp_path, monkeypatch, [RUN, GOOD_ROW, END], "")
    assert run_bench.main([*words, "--strict"]) == 0
    assert "1 of 1 targets met" in capfd.readouterr().out
    assert [path.name for path in (tmp_path / "build/bench").iterdir()] == ["mpich"]
    result = json.loads((tmp_path / "out/foundation.mpich.json").read_text())
    assert result["rows"][0]["verdict"] == "met"
    assert str(tmp_path) not in json.dumps(result)
    assert "strided-read-8" in (tmp_path / "out/foundation.md").read_text()


def test_a_missed_target_is_said_and_fails_a_strict_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    words = set_the_stage(tmp_path, monkeypatch, [RUN, SLOW_ROW, END], "")
    assert run_bench.main(words) == 0
    assert "0 of 1 targets met; not met: strided-read-8" in capfd.readouterr().out
    assert run_bench.main([*words, "--strict"]) == 1


@pytest.mark.parametrize(
    ("records", "tail", "complaint"),
    [
        ([RUN, GOOD_ROW], "echo 'rank 1: moved other bytes than asked for' >&2; exit 1", "moved other bytes"),
        ([RUN, GOOD_ROW], "", "exit status 0"),
        ([RUN, GOOD_ROW, END], "exit 3", "exit status 3"),
    ],
    ids=["verification failed", "ended early", "bad exit"],
)
def test_a_run_that_fails_gives_no_results(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    records: list[dict[str, Any]],
    tail: str,
    complaint: str,
) -> None:
    assert run_bench.main(set_the_stage(tmp_path, monkeypatch, records, tail)) == 1
    assert complaint in re.sub(r"\s+", " ", capfd.readouterr().out)
    assert not (tmp_path / "out").exists()


def test_a_run_that_hangs_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    words = set_the_stage(tmp_path, monkeypatch, [RUN], "exec sleep 300")
    words[words.index("--timeout") + 1] = "0.5"
    assert run_bench.main(words) == 1
    assert "stopped after" in capfd.readouterr().out


def test_the_driver_does_not_begin_without_its_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    words = set_the_stage(tmp_path, monkeypatch, [RUN, END], "")
    monkeypatch.setattr(machine, "LOCAL", set())
    assert run_bench.main(words) == 2
    assert "not a local one" in capfd.readouterr().err
    (tmp_path / "build/src/preload/libsuiro.so").unlink()
    assert run_bench.main(words) == 2
    assert "build it first" in capfd.readouterr().err


def test_results_are_kept_apart_unless_everything_was_measured(tmp_path: Path) -> None:
    build = ["--build", str(tmp_path)]
    assert run_bench.parse_arguments(build).output == BENCH / "results"
    for partial in (["--quick"], ["--rows", "view"], ["--mpi", "mpich"], ["--rounds", "11"]):
        assert run_bench.parse_arguments([*build, *partial]).output == tmp_path / "bench/results"
