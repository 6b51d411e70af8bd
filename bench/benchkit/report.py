"""From judged rows to text: a table for the terminal, JSON, and a Markdown page made from the JSON alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from rich.box import SIMPLE
from rich.table import Table

from .rows import MemoryRow, Row
from .stats import Interval, Target

SCHEMA = 1


# ---------------------------------------------------------------- numbers


def rate(bytes_per_s: float) -> str:
    gigabytes = bytes_per_s / 1e9
    return f"{gigabytes:.{2 if gigabytes < 10 else 1}f} GB/s"


def duration(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def size(count: float) -> str:
    magnitude = abs(count)
    for unit, scale in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if magnitude >= scale:
            return f"{count / scale:.4g} {unit}"
    return f"{count:.0f} B"


def ratio(value: float) -> str:
    return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f}x"


def with_bounds(interval: dict[str, Any], unit: str) -> str:
    low, middle, high = (interval[key] for key in ("low", "middle", "high"))
    if unit == "ratio":
        return f"{ratio(middle)} [{ratio(low)[:-1]}-{ratio(high)[:-1]}]"
    if unit == "us":
        return f"{middle / 1e3:.1f} [{low / 1e3:.1f} to {high / 1e3:.1f}] µs"
    return f"{middle:+.0f} [{low:+.0f} to {high:+.0f}] ns"


# ---------------------------------------------------------------- JSON


def _interval(interval: Interval) -> dict[str, Any]:
    return {"low": interval.low, "middle": interval.middle, "high": interval.high, "pairs": interval.count}


def _target(target: Target | None, unit: str) -> str:
    if target is None:
        return ""
    text = f">= {target.least:g}" if target.least is not None else f"<= {target.most:g}"
    text += "x" if unit == "ratio" else " ns"
    return text + (" in 95 %" if target.reaches == "interval" else "")


def row_json(row: Row | MemoryRow) -> dict[str, Any]:
    if isinstance(row, MemoryRow):
        return {
            "name": row.name,
            "group": row.kind.group,
            "unit": "memory",
            "extent": row.extent,
            "growth_bytes": row.growth,
            "target": "<= 64 KiB",
            "verdict": row.verdict,
        }
    result: dict[str, Any] = {
        "name": row.name,
        "group": row.kind.group,
        "unit": row.kind.figure,
        "of": [row.kind.left, row.kind.right],
        "bytes": row.bytes,
        "calls": row.calls,
        "figure": _interval(row.figure),
        "cpu_ratio": row.cpu_ratio,
        "target": _target(row.kind.target, row.kind.figure),
        "verdict": row.verdict,
        "contenders": {
            name: {
                "median_s": c.seconds,
                "spread": c.spread,
                "cpu_s": c.cpu_s,
                "cpu_s_per_gb": c.cpu_s / row.bytes * 1e9 if row.bytes else None,
                "repeats": c.repeats,
                "samples_s": c.samples,
            }
            for name, c in row.contenders.items()
        },
    }
    if row.plain_ratio is not None:
        result["plain_ratio"] = row.plain_ratio
    if row.added_ns is not None:
        result["unrouted_added_ns"] = _interval(row.added_ns)
    return result


# ---------------------------------------------------------------- cells, from JSON

COLUMNS = ("row", "native", "Suiro", "figure [95 %]", "in the same loop", "CPU s/GB", "target", "verdict")
LEGEND = (
    "figure: native time / Suiro time unless it says otherwise, above 1 Suiro is faster; plain: the same bytes by plain "
    "calls on one range (how many times as fast as native); disk: one sequential writer with fdatasync; "
    "CPU s/GB: native / Suiro, all ranks"
)
LABELS = {"limit": "disk", "bare": "bare call", "library": "library", "stub": "stub", "suiro_1000": "1000 pieces"}


def _speed(row: dict[str, Any], name: str) -> str:
    contender = row["contenders"].get(name)
    if contender is None:
        return "-"
    if row["bytes"]:
        return rate(row["bytes"] / contender["median_s"])
    return duration(contender["median_s"] / row["calls"])


def _figure(row: dict[str, Any]) -> str:
    text = with_bounds(row["figure"], row["unit"])
    if row["of"] == ["native", "suiro"]:
        return text
    left, right = (LABELS.get(name, name) for name in row["of"])
    return f"{left} {'/' if row['unit'] == 'ratio' else '-'} {right}: {text}"


def _beside(row: dict[str, Any]) -> str:
    others = [name for name in row["contenders"] if name not in {"native", "suiro"}]
    if not row["bytes"]:
        return ", ".join(f"{LABELS.get(name, name)} {_speed(row, name)}" for name in others)
    texts = {name: f"{LABELS.get(name, name)} {_speed(row, name).removesuffix(' GB/s')}" for name in others}
    if "plain_ratio" in row:
        texts["plain"] += f" ({ratio(row['plain_ratio'])})"
    return ", ".join(texts.values()) + " GB/s"


def cells(row: dict[str, Any]) -> tuple[str, ...]:
    """One line of the table; the columns are COLUMNS."""
    if row["unit"] == "memory":
        growth = {name: size(max(grown.values())) for name, grown in row["growth_bytes"].items()}
        extent = f"extent {size(row['extent'])}; growth: heap or resident, the larger"
        return (row["name"], growth.get("native", "-"), growth["suiro"], "", extent, "", row["target"], row["verdict"])
    beside = _beside(row)
    if "unrouted_added_ns" in row:
        beside += f"; unrouted open + {with_bounds(row['unrouted_added_ns'], 'us')}"
    cpu = ""
    if row["bytes"]:
        cpu = " / ".join(f"{row['contenders'][name]['cpu_s_per_gb']:.2f}" for name in ("native", "suiro"))
    native, suiro = _speed(row, "native"), _speed(row, "suiro")
    return (row["name"], native, suiro, _figure(row), beside, cpu, row["target"], row["verdict"])


def headline(result: dict[str, Any]) -> str:
    machine = result["machine"]
    return (
        f"{result['library']}, {result['ranks']} ranks, {result['rounds']} pairs per row; {machine['cpu']}, "
        f"{machine['cores']} cores, {machine['system']}, kernel {machine['kernel']}, {machine['file_system']}; "
        f"load before the run {machine['load_before']}"
    )


def summary(rows: Sequence[dict[str, Any]]) -> str:
    judged = [row for row in rows if row["target"]]
    text = f"{sum(row['verdict'] == 'met' for row in judged)} of {len(judged)} targets met"
    for word in ("not met", "too few pairs"):
        names = [row["name"] for row in judged if row["verdict"] == word]
        if names:
            text += f"; {word}: {', '.join(names)}"
    return text


# ---------------------------------------------------------------- tables


def table(result: dict[str, Any]) -> Table:
    shown = Table(title=headline(result), title_justify="left", caption=LEGEND, caption_justify="left", box=SIMPLE)
    for column in COLUMNS:
        right = column in {"native", "Suiro", "CPU s/GB"}
        shown.add_column(column, justify="right" if right else "left", no_wrap=column == "row")
    for group, rows in groupby(result["rows"], key=lambda row: row["group"]):
        shown.add_section()
        shown.add_row(f"[bold]{group}[/bold]")
        for row in rows:
            style = {"not met": "red", "met": "green"}.get(row["verdict"], "")
            *plain, judged = (text.replace("[", "\\[") for text in cells(row))
            shown.add_row(*plain, f"[{style}]{judged}[/{style}]" if style else judged)
    return shown


def markdown(results: Sequence[dict[str, Any]], command: str) -> str:
    """The page of the figures. Everything on it comes from the JSON files beside it."""
    lines = [
        "# Foundation: the direct route beside the native MPI-IO",
        "",
        f"Made by `{command}`, which also wrote the JSON files beside this page; not edited by hand.",
        "",
        "Native and Suiro move the same bytes of the same file in the same process, in pairs whose order alternates, "
        "with plain calls, `memcpy` and (for writes) one sequential writer with a final `fdatasync` in the same loop. "
        "Times are those of the slowest rank; every file was written once before. Before it is timed, each contender "
        "proves that it moves the right bytes. Ratios and differences are medians over the pairs with their 95 % "
        "bootstrap intervals.",
        "",
        f"{LEGEND[0].upper()}{LEGEND[1:]}.",
    ]
    for result in results:
        lines += ["", f"## {result['mpi']}", "", f"{headline(result)}. Suiro {result['machine']['suiro']}, "]
        lines[-1] += f"{result['date']}. {summary(result['rows'])}."
        for group, rows in groupby(result["rows"], key=lambda row: row["group"]):
            lines += ["", f"### {group}", "", "| " + " | ".join(COLUMNS) + " |", "|" + " --- |" * len(COLUMNS)]
            lines += ["| " + " | ".join(text.replace("|", "\\|") for text in cells(row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"
