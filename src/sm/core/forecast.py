"""How a context fills: which samples are kept of it, and when the next level is reached."""

from collections.abc import Sequence
from dataclasses import dataclass

from sm.core.state import Level, Sample

KEPT = 16
SPACING = 30.0
"""Of samples that come closer together than this, the newest stands for all."""
RECENT = 900.0
"""The pace is that of so many last seconds: what was before says little of what comes."""
ENOUGH = 5.0
"""Over less than this no pace is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    level: Level
    seconds: float


def kept(samples: tuple[Sample, ...], newest: Sample) -> tuple[Sample, ...]:
    """The history with one more sample: the whole way of a context, ever coarser, never long."""
    is_close = len(samples) > 1 and newest.at - samples[-2].at < SPACING
    older = samples[:-1] if is_close else samples
    if len(older) >= KEPT:
        older = older[::2]
    return (*older, newest)


def forecast(
    samples: Sequence[Sample], limits: Sequence[tuple[Level, int]], now: float
) -> Forecast | None:
    """When the next of these levels is reached if it goes on like this; None if nobody knows."""
    pace = _pace(samples, now)
    if pace is None:
        return None
    tokens = samples[-1].tokens
    ahead = next(((level, limit) for level, limit in limits if limit > tokens), None)
    if ahead is None:
        return None
    level, limit = ahead
    return Forecast(level=level, seconds=(limit - tokens) / pace)


def _pace(samples: Sequence[Sample], now: float) -> float | None:
    """Tokens per second. Time in which nothing came counts: an idle agent fills nothing."""
    recent = [sample for sample in samples if now - sample.at <= RECENT]
    if len(recent) < 2:
        return None
    first, last = recent[0], recent[-1]
    took, grown = now - first.at, last.tokens - first.tokens
    return grown / took if took >= ENOUGH and grown > 0 else None
