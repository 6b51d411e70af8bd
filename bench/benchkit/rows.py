"""From the samples of a benchmark run to judged rows: which figure counts in which row, and what it has to be.

The targets are those of the project's performance requirements; a row without one is for information.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from .stats import Interval, Target, bootstrap, differences, ratios, spread, verdict

NO_WORSE = Target(least=0.95, reaches="interval")
TWICE = Target(least=2.0)
AS_FAST = Target(least=1.0)
CALL_NS = Target(most=300.0)
STUB_NS = Target(most=50.0)
FLAT = Target(most=1.5, reaches="interval")
VIEW_BYTES = 64 << 10

MAPPED_BELOW = 1024  # smaller pieces need not be twice as fast


@dataclass(frozen=True)
class Kind:
    """What the figure of a row is: numerator and denominator (or the two sides of a difference) by contender."""

    group: str
    left: str
    right: str
    figure: str  # "ratio" or "difference"
    target: Target | None


GROUPS = (  # in the order of the tables
    "Contiguous, own ranges",
    "Strided view of 50 %, independent",
    "Other views and memory",
    "Collective, for information",
    "Small call over the bare one",
    "Added to calls of unrouted files",
    "Open and close",
    "View: set, seek, byte offset",
    "View: growth of the process",
)


def _number(name: str) -> int:
    return int(name.rsplit("-", maxsplit=1)[1])


def kind_of(name: str) -> Kind:
    """How to judge the row of that name. Raises ValueError for a name it does not know: no row may go unjudged."""

    def speed(group: str, target: Target | None) -> Kind:
        return Kind(group, "native", "suiro", "ratio", target)

    if name.startswith("contiguous-"):
        return speed(GROUPS[0], None if "-sync-" in name else NO_WORSE)
    if name.startswith("strided-read-"):
        return speed(GROUPS[1], TWICE)
    if name.startswith("strided-write-sync-"):
        return speed(GROUPS[1], None)
    if name.startswith("strided-write-"):
        return speed(GROUPS[1], TWICE if _number(name) >= MAPPED_BELOW else AS_FAST)
    if name.startswith(("subarray-3d-", "irregular-", "memory-gaps-")):
        return speed(GROUPS[2], None)
    if name.startswith("collective-"):
        return speed(GROUPS[3], None)
    if name.startswith("call-"):
        return Kind(GROUPS[4], "suiro", "bare", "difference", CALL_NS)
    if name in {"unrouted-get_position", "unrouted-write_at"}:
        return Kind(GROUPS[5], "stub", "library", "difference", STUB_NS)
    if name.startswith("open-close-"):
        return speed(GROUPS[6], None)
    if name.startswith("view-vector-"):
        return Kind(GROUPS[7], "suiro", "suiro_1000", "ratio", FLAT)
    if name.startswith("memory-view-"):
        return Kind(GROUPS[8], "suiro", "native", "memory", None)
    raise ValueError(f"the benchmark measured {name}, for which no judgement is defined")


@dataclass
class Contender:
    """Medians of one contender. seconds and cpu_s per repetition; bytes_per_s and ns_per_call derived from them."""

    seconds: float
    cpu_s: float
    spread: float
    repeats: int
    samples: list[float] = field(repr=False)


@dataclass
class Row:
    name: str
    kind: Kind
    bytes: float
    calls: float
    contenders: dict[str, Contender]
    figure: Interval
    cpu_ratio: float | None  # native over Suiro: less disturbed by other load than the time
    verdict: str
    plain_ratio: float | None = None  # native over plain calls on one range: what a view without any cost would reach
    added_ns: Interval | None = None  # open-close rows: an unrouted open over the library's own


@dataclass
class MemoryRow:
    name: str
    kind: Kind
    extent: int
    growth: dict[str, dict[str, int]]  # contender -> heap, resident
    verdict: str


def judge(record: Mapping[str, Any]) -> Row:
    """One row as measured -> one row as judged."""
    kind = kind_of(record["name"])
    calls = float(record["calls"])
    raw = record["contenders"]
    contenders = {
        name: Contender(
            median(samples["seconds"]),
            median(samples["cpu_s"]),
            spread(samples["seconds"]),
            int(samples["repeats"]),
            list(samples["seconds"]),
        )
        for name, samples in raw.items()
    }
    left, right = (raw[side]["seconds"] for side in (kind.left, kind.right))
    if kind.figure == "ratio":
        figure = bootstrap(ratios(left, right))
    else:
        figure = bootstrap([value / calls * 1e9 for value in differences(left, right)])
    cpu_ratio = None
    if "native" in contenders and contenders["suiro"].cpu_s > 0:
        cpu_ratio = contenders["native"].cpu_s / contenders["suiro"].cpu_s
    row = Row(
        record["name"],
        kind,
        float(record["bytes"]),
        calls,
        contenders,
        figure,
        cpu_ratio,
        verdict(figure, kind.target),
    )
    if "plain" in raw:
        row.plain_ratio = median(ratios(raw["native"]["seconds"], raw["plain"]["seconds"]))
    if "library" in raw and "native" in raw:
        added = differences(raw["native"]["seconds"], raw["library"]["seconds"])
        row.added_ns = bootstrap([value * 1e9 for value in added])
    return row


def judge_memory(record: Mapping[str, Any]) -> MemoryRow:
    growth = {name: dict(values) for name, values in record["contenders"].items()}
    most = max(growth["suiro"]["heap"], growth["suiro"]["resident"])
    return MemoryRow(
        record["name"],
        kind_of(record["name"]),
        int(record["extent"]),
        growth,
        "met" if most <= VIEW_BYTES else "not met",
    )
