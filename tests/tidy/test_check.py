"""tools/check judges steps: what hangs, crashes or leaves no result is a failure."""

import importlib.machinery
import importlib.util
import sys
import time
import tomllib
from pathlib import Path

import pytest
import summary
from tidy_sources import ROOT


@pytest.fixture(scope="module")
def check():
    loader = importlib.machinery.SourceFileLoader("suiro_check", str(ROOT / "tools/check"))
    specification = importlib.util.spec_from_loader("suiro_check", loader)
    module = importlib.util.module_from_spec(specification)
    sys.modules["suiro_check"] = module  # dataclasses look their module up there
    loader.exec_module(module)
    return module


def judge(check, step):
    return check.results(step, *check.run(step))


def is_alive(process_id: int) -> bool:
    """A process that has ended but that nobody waited for is not alive."""
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_good_build_has_nothing_to_report(check):
    assert judge(check, check.Step("build", ["true"], 10)) == []


def test_a_failed_build_is_a_failure(check):
    (case,) = judge(check, check.Step("build", ["false"], 10))
    assert case.outcome == summary.FAILED and "exit code 1" in case.reason


@pytest.mark.parametrize("leader_trap", ["", "trap '' TERM;"])
def test_a_hanging_step_is_ended_with_its_children_and_is_a_failure(check, tmp_path, leader_trap):
    noted = tmp_path / "pid"
    child = f"sh -c 'trap \"\" TERM; echo $$ >{noted}; while :; do sleep 1; done'"
    started = time.monotonic()
    command = ["sh", "-c", f"{leader_trap} {child} & wait; wait"]
    (case,) = judge(check, check.Step("tests", command, 1, tmp_path / "none.xml"))
    assert case.outcome == summary.FAILED and "still running after 1 s" in case.reason
    child_id = int(noted.read_text())
    while is_alive(child_id):  # a killed process takes a moment to go
        assert time.monotonic() - started < 30, "the child outlived its step"
        time.sleep(0.05)


def test_a_runner_that_succeeds_without_a_result_is_a_failure(check, tmp_path):
    (case,) = judge(check, check.Step("tests", ["true"], 10, tmp_path / "none.xml"))
    assert case.outcome == summary.FAILED


def test_a_result_of_an_earlier_run_is_not_believed(check, tmp_path):
    old = tmp_path / "old.xml"
    old.write_text('<testsuite><testcase name="a"/></testsuite>')
    assert [case.outcome for case in judge(check, check.Step("tests", ["true"], 10, old))] == [summary.FAILED]


def test_a_runner_that_crashes_after_green_tests_is_a_failure(check, tmp_path):
    result = tmp_path / "result.xml"
    command = ["sh", "-c", f"echo '<testsuite><testcase name=\"a\"/></testsuite>' >{result}; exit 3"]
    cases = judge(check, check.Step("tests", command, 10, result))
    assert [case.outcome for case in cases] == [summary.PASSED, summary.FAILED]


def test_every_kind_of_test_has_its_step(check):
    steps = check.steps(long=False)
    names = {step.name for step in steps}
    assert names == {step.name for step in check.steps(long=True)}
    assert {"unit", "mpi", "unit asan-ubsan", "mpi asan-ubsan"} <= names
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert set(settings["testpaths"]) == {step.command[-1] for step in steps if "pytest" in step.command}
