"""Statistics of paired samples. Pure functions; all randomness is seeded, so that the same samples give the same text."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

RESAMPLES = 2000
CONFIDENCE = 0.95
FEWEST_PAIRS = 11  # with fewer, nothing is said to be met


@dataclass(frozen=True)
class Interval:
    """A median with the bounds within which the true one lies with 95 % confidence."""

    low: float
    middle: float
    high: float
    count: int


def bootstrap(values: Sequence[float]) -> Interval:
    """The median of values and its percentile bootstrap interval. values must not be empty."""
    if not values:
        raise ValueError("no samples")
    chance = random.Random(20080217)
    medians = sorted(median(chance.choices(values, k=len(values))) for _ in range(RESAMPLES))
    tail = (1 - CONFIDENCE) / 2
    low = medians[math.floor(tail * (RESAMPLES - 1))]
    high = medians[math.ceil((1 - tail) * (RESAMPLES - 1))]
    return Interval(low, median(values), high, len(values))


def _paired(first: Sequence[float], second: Sequence[float]) -> list[tuple[float, float]]:
    if len(first) != len(second):
        raise ValueError(f"{len(first)} samples cannot be paired with {len(second)}")
    return list(zip(first, second, strict=True))


def ratios(above: Sequence[float], below: Sequence[float]) -> list[float]:
    """above/below, pair by pair: what both met in the same moment of the machine is compared."""
    return [a / b for a, b in _paired(above, below)]


def differences(left: Sequence[float], right: Sequence[float]) -> list[float]:
    """left - right, pair by pair."""
    return [a - b for a, b in _paired(left, right)]


def spread(values: Sequence[float]) -> float:
    """Half the distance of the quartiles over the median: how unsteady the samples were."""
    ordered = sorted(values)
    last = len(ordered) - 1
    lower, upper = ordered[round(last * 0.25)], ordered[round(last * 0.75)]
    middle = median(ordered)
    return (upper - lower) / 2 / middle if middle else 0.0


@dataclass(frozen=True)
class Target:
    """What a figure has to be. reaches="interval": the 95 % interval has to reach the value ("no worse than", where the
    truth is expected close to it); reaches="median": the median itself has to."""

    least: float | None = None
    most: float | None = None
    reaches: str = "median"

    def __post_init__(self) -> None:
        if (self.least is None) == (self.most is None):
            raise ValueError("a target has either a least or a most value")
        if self.reaches not in {"median", "interval"}:
            raise ValueError(f"a target is reached by median or interval, not {self.reaches}")


def verdict(figure: Interval, target: Target | None) -> str:
    """'met', 'not met', 'too few pairs', or '' without a target."""
    if target is None:
        return ""
    by_interval = target.reaches == "interval"
    if target.least is not None:
        good = (figure.high if by_interval else figure.middle) >= target.least
    else:
        assert target.most is not None
        good = (figure.low if by_interval else figure.middle) <= target.most
    if not good:
        return "not met"
    return "met" if figure.count >= FEWEST_PAIRS else "too few pairs"
