"""The summary at the end of `make check` must never call something passed that was not."""

import pytest
import summary

CTEST = """<testsuite name="x" tests="4">
  <testcase name="mpich.n4.views" classname="mpich.n4.views" time="1.5" status="run"><system-out>fine</system-out></testcase>
  <testcase name="openmpi.n2.views" classname="openmpi.n2.views" time="2" status="fail">
    <failure message="Failed"/><system-out>byte 17 differs</system-out></testcase>
  <testcase name="openmpi.n2.small_fs" classname="openmpi.n2.small_fs" time="0" status="notrun">
    <skipped message="SKIP_RETURN_CODE=77"/><system-out>x
SKIPPED: no private mount namespace here
</system-out></testcase>
  <testcase name="openmpi.n1.gone" classname="openmpi.n1.gone" time="0" status="notrun"/>
</testsuite>"""

PYTEST = """<testsuites><testsuite name="pytest" tests="3">
  <testcase classname="tests.python.test_run" name="test_demo[mpich-2]" time="0.5"/>
  <testcase classname="tests.python.test_run" name="test_other" time="0.1"><error message="fixture broke&#10;more">trace</error></testcase>
  <testcase classname="tests.python.test_run" name="test_third" time="0"><skipped type="pytest.skip" message="no FUSE"/></testcase>
</testsuite></testsuites>"""


@pytest.fixture
def read(tmp_path):
    def read_text(text):
        path = tmp_path / "result.xml"
        path.write_text(text)
        return summary.read_junit("suite", path)

    return read_text


def test_ctest_outcomes_and_reasons(read):
    passed, failed, skipped, gone = read(CTEST)
    assert (passed.outcome, passed.library, passed.seconds) == (summary.PASSED, "MPICH", 1.5)
    assert (failed.outcome, failed.library) == (summary.FAILED, "Open MPI")
    assert (skipped.outcome, skipped.reason) == (summary.SKIPPED, "no private mount namespace here")
    assert gone.outcome == summary.FAILED, "a test that was not run is not a test that passed"


def test_pytest_outcomes_and_reasons(read):
    passed, failed, skipped = read(PYTEST)
    assert (passed.outcome, passed.library) == (summary.PASSED, "MPICH")
    assert (failed.outcome, failed.library, failed.reason) == (summary.FAILED, summary.NO_LIBRARY, "fixture broke")
    assert (skipped.outcome, skipped.reason) == (summary.SKIPPED, "no FUSE")


@pytest.mark.parametrize("text", ["", "<testsuite><testcase", "<testsuite/>"])
def test_missing_broken_and_empty_results_are_failures(read, text):
    (case,) = read(text)
    assert case.outcome == summary.FAILED and case.reason


def test_a_file_that_was_never_written_is_a_failure(tmp_path):
    (case,) = summary.read_junit("suite", tmp_path / "none.xml")
    assert case.outcome == summary.FAILED


@pytest.mark.parametrize(
    ("name", "library"),
    [
        ("mpich.n4.random_views", "MPICH"),
        ("openmpi.n1.x", "Open MPI"),
        ("abi.smoke", "MPI-5 ABI"),
        ("tests.test_x.test_y[openmpi-4]", "Open MPI"),
        ("access_pattern_test", "-"),
        ("tests.test_x.test_mpich", "-"),
    ],
)
def test_the_library_follows_from_the_name(name, library):
    assert summary.library_of(name) == library


def test_report_counts_per_library_and_ends_with_one_plain_line(read):
    text, well = summary.report(read(CTEST) + read(PYTEST))
    lines = text.splitlines()
    assert not well
    assert lines[-1] == "2 passed, 3 failed, 2 skipped"
    rows = {tuple(line.split()[1:-1]) for line in lines if line.startswith("suite ")}
    assert ("MPICH", "2", "0", "0") in rows
    assert ("Open", "MPI", "0", "2", "1") in rows
    assert any("no FUSE" in line for line in lines) and any("fixture broke" in line for line in lines)


def test_only_skipped_tests_are_not_well(read):
    _, _, skipped = read(PYTEST)
    assert summary.report([skipped])[1] is False
    assert summary.report(read(PYTEST)[:1])[1] is True
