"""Which samples of a context are kept, and when its next level is expected."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sm.core.forecast import KEPT, RECENT, SPACING, Forecast, forecast, kept
from sm.core.state import Level, Sample
from tests.core.samples import NOON

LIMITS = [(Level.EARLY, 80_000), (Level.WARNING, 100_000), (Level.CRITICAL, 130_000)]


def sample(after: float, tokens: int) -> Sample:
    return Sample(at=NOON + after, tokens=tokens, tools=0)


def history(*samples: Sample) -> tuple[Sample, ...]:
    found: tuple[Sample, ...] = ()
    for one in samples:
        found = kept(found, one)
    return found


def test_of_samples_close_together_the_newest_stands_for_all() -> None:
    """A busy agent tells ten times a minute; a person wants to see how it went."""
    found = history(sample(0, 1), sample(5, 2), sample(10, 3), sample(SPACING, 4))

    assert [one.tokens for one in found] == [1, 3, 4]


@given(st.lists(st.floats(min_value=0.1, max_value=300), min_size=1, max_size=300))
def test_a_history_is_short_ordered_and_keeps_both_ends(gaps: list[float]) -> None:
    """However long a context lives, it costs the same to store."""
    at, found, last = 0.0, history(sample(0, 0)), sample(0, 0)
    for nth, gap in enumerate(gaps, 1):
        at += gap
        last = sample(at, nth)
        found = kept(found, last)

    assert 1 < len(found) <= KEPT + 1
    assert (found[0], found[-1]) == (sample(0, 0), last)
    assert [one.at for one in found] == sorted(one.at for one in found)


def test_the_next_level_is_told_by_the_present_pace() -> None:
    """20,000 tokens in ten minutes: the next 20,000 take ten more."""
    found = [sample(0, 70_000), sample(600, 90_000)]

    assert forecast(found, LIMITS, NOON + 600) == Forecast(level=Level.WARNING, seconds=300.0)


def test_idle_time_slows_the_pace_and_in_the_end_there_is_none() -> None:
    """Nobody fills a context by waiting."""
    found = [sample(0, 70_000), sample(300, 90_000)]

    slower = forecast(found, LIMITS, NOON + 600)
    assert slower is not None
    assert slower.seconds == 300.0
    assert forecast(found, LIMITS, NOON + RECENT + 1) is None


@pytest.mark.parametrize(
    "found",
    [
        [],
        [sample(0, 90_000)],
        [sample(0, 90_000), sample(1, 95_000)],
        [sample(0, 90_000), sample(60, 90_000)],
        [sample(0, 90_000), sample(60, 30_000)],
        [sample(0, 90_000), sample(60, 140_000)],
    ],
    ids=["nothing", "one", "too soon", "no growth", "shrunk", "past the last"],
)
def test_where_nothing_can_be_foretold_nothing_is(found: list[Sample]) -> None:
    assert forecast(found, LIMITS, (found[-1].at if found else NOON) + 1) is None
