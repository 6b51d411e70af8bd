"""Reads JUnit files of ctest and pytest and says what happened: a table per suite and MPI library, what failed, what was
skipped and why, and one last line `N passed, N failed, N skipped`. A suite that ran no test at all is a failure: a check
that silently checks nothing must not look like one that passed.
"""

from __future__ import annotations

import dataclasses
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from pathlib import Path

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"

# A test belongs to an MPI library by the first word of its name (mpich.n4.random_views) or a parameter (test_x[openmpi]).
LIBRARIES = {"mpich": "MPICH", "openmpi": "Open MPI", "abi": "MPI-5 ABI"}
NO_LIBRARY = "-"


@dataclasses.dataclass(frozen=True)
class Case:
    """One test: its suite, name, MPI library (or NO_LIBRARY), outcome, seconds, and why it failed or was skipped."""

    suite: str
    name: str
    library: str
    outcome: str
    seconds: float
    reason: str = ""


def library_of(name: str) -> str:
    """The MPI library a test name speaks of."""
    first = re.split(r"[._]", name, maxsplit=1)[0]
    words = [first, *re.findall(r"[A-Za-z0-9]+", "".join(re.findall(r"\[(.*)\]", name)))]
    for word in words:
        if word in LIBRARIES:
            return LIBRARIES[word]
    return NO_LIBRARY


def read_junit(suite: str, path: Path) -> list[Case]:
    """The cases of one JUnit file; a file that is missing, broken or empty is one failed case."""
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError) as error:
        return [Case(suite, "(no result)", NO_LIBRARY, FAILED, 0.0, f"{path.name}: {error}")]
    cases = [_case(suite, element) for element in root.iter("testcase")]
    return cases or [Case(suite, "(no test ran)", NO_LIBRARY, FAILED, 0.0, f"{path.name} lists no test")]


def _case(suite: str, element: ElementTree.Element) -> Case:
    name = element.get("name", "?")
    # pytest gives the module in classname; ctest repeats the name there.
    module = element.get("classname", "")
    full = name if module in ("", name) else f"{module}.{name}"
    outcome, reason = PASSED, ""
    for tag, meaning in (("failure", FAILED), ("error", FAILED), ("skipped", SKIPPED)):
        found = element.find(tag)
        if found is not None:
            outcome, reason = meaning, _reason(element, found)
            break
    else:
        # ctest says so when a test's program does not exist or when it was not started after a failed fixture.
        if element.get("status") in ("fail", "notrun", "disabled"):
            outcome, reason = FAILED, f"status {element.get('status')}"
    return Case(suite, full, library_of(name), outcome, float(element.get("time") or 0), reason)


def _reason(element: ElementTree.Element, found: ElementTree.Element) -> str:
    """One line: what the test itself said, else what its runner says about it."""
    output = element.findtext("system-out") or ""
    if found.tag == "skipped":
        said = re.search(r"SKIPPED:?\s*(.+)", output)
        if said:
            return said.group(1).strip()
    text = found.get("message") or found.text or ""
    return text.strip().splitlines()[0].strip() if text.strip() else ""


def table(cases: Iterable[Case]) -> list[str]:
    """Lines: one row per suite and MPI library in the order of appearance, with counts and seconds."""
    rows: dict[tuple[str, str], dict[str, float]] = {}
    for case in cases:
        row = rows.setdefault((case.suite, case.library), {PASSED: 0, FAILED: 0, SKIPPED: 0, "seconds": 0.0})
        row[case.outcome] += 1
        row["seconds"] += case.seconds
    width = max([len(suite) for suite, _ in rows] + [5])
    lines = [f"{'suite':<{width}}  {'MPI':<9}  {'passed':>6}  {'failed':>6}  {'skipped':>7}  {'seconds':>8}"]
    for (suite, library), row in rows.items():
        lines.append(
            f"{suite:<{width}}  {library:<9}  {row[PASSED]:>6.0f}  {row[FAILED]:>6.0f}  {row[SKIPPED]:>7.0f}"
            f"  {row['seconds']:>8.1f}"
        )
    return lines


def report(cases: list[Case]) -> tuple[str, bool]:
    """The whole summary and whether everything is well: no failure, and at least one test passed."""
    lines = table(cases)
    skipped = [case for case in cases if case.outcome == SKIPPED]
    failed = [case for case in cases if case.outcome == FAILED]
    if skipped:
        lines += ["", "skipped:"] + [f"  {case.suite}: {case.name}: {case.reason or 'no reason given'}" for case in skipped]
    if failed:
        lines += ["", "FAILED:"] + [f"  {case.suite}: {case.name}{': ' + case.reason if case.reason else ''}" for case in failed]
    passed = len(cases) - len(failed) - len(skipped)
    lines += ["", f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped"]
    return "\n".join(lines), not failed and passed > 0


def main(arguments: list[str]) -> int:
    """summary.py SUITE=FILE.xml...: prints the report, exits 1 unless all is well."""
    cases: list[Case] = []
    for argument in arguments:
        suite, separator, path = argument.partition("=")
        if not separator:
            print(f"summary.py: '{argument}' is not SUITE=FILE", file=sys.stderr)
            return 2
        cases += read_junit(suite, Path(path))
    text, well = report(cases)
    print(text)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
