"""How full ada's context is: what was last told, and when more is asked for."""

from dataclasses import replace
from typing import Any

import pytest

from sm.core import usage
from sm.core.effects import ReadUsage
from sm.core.events import AgentExited, DaemonStarted, UsageSeen
from sm.core.ids import ContextId
from sm.core.reports import ContextCompacted
from sm.core.state import Session, Usage
from sm.core.usage import ASK_AFTER, STATUSLINE, TRANSCRIPT
from tests.core.samples import (
    CONTEXT,
    IDLE,
    NOON,
    WORKING,
    after,
    due,
    fired,
    hook,
    started,
    stopped,
    through,
)

FULL = Usage(tokens=167_095, window=200_000, model="sonnet", source=STATUSLINE, at=NOON)
COMPACTED = ContextCompacted(hook=hook("PostCompact", 1, NOON + 1), trigger="auto")
USED = after(IDLE, UsageSeen(context=CONTEXT, usage=FULL))


def seen(context: ContextId | None = CONTEXT, **changes: Any) -> UsageSeen:
    return UsageSeen(context=context, usage=replace(FULL, **changes))


def test_a_percentage_is_of_the_whole_window() -> None:
    assert FULL.percent == 83.5
    assert replace(FULL, tokens=None).percent is None
    assert replace(FULL, window=None).percent is None


def test_the_newest_sample_holds() -> None:
    """A late one says how it was, not how it is."""
    later = after(USED, seen(tokens=170_000, at=NOON + 9))
    assert later.context.usage == replace(FULL, tokens=170_000, at=NOON + 9)

    assert after(later, seen(tokens=1, at=NOON + 8)) == later


def test_a_sample_of_another_context_says_nothing_about_this_one() -> None:
    """One of before a /clear comes late; one of another client is not ours."""
    assert after(USED, seen(ContextId("other"), tokens=1, at=NOON + 9)) == USED


def test_what_a_sample_leaves_out_is_as_before() -> None:
    """The transcript knows no window; an agent that failed has no number."""
    told = seen(tokens=171_000, window=None, model="", source=TRANSCRIPT, at=NOON + 1)
    usage = after(USED, told, seen(tokens=None, at=NOON + 2)).context.usage

    assert usage == replace(FULL, tokens=171_000, at=NOON + 2)


def test_a_compaction_empties_what_is_known_and_asks() -> None:
    """The next request tells the new number; zeros until then are no measurement."""
    session = after(USED, COMPACTED, at=NOON + 1)
    emptied = replace(FULL, tokens=None, outdated=FULL.tokens)
    assert session.context.usage == emptied
    assert due(session, "usage") == NOON + 1 + ASK_AFTER

    asked = after(session, seen(tokens=None, at=NOON + 2))
    assert asked.context.usage == replace(emptied, at=NOON + 2)


def test_a_new_context_begins_empty() -> None:
    assert after(USED, started("clear", context="c2", at=NOON + 1)).context.usage is None
    assert after(USED, started("resume", at=NOON + 1)).context.usage == FULL


@pytest.mark.parametrize(
    ("changes", "is_news"),
    [({}, False), ({"at": NOON + 9}, False), ({"at": NOON - 9, "tokens": 1}, False),
     ({"at": NOON + usage.REPEATED_AFTER}, True),
     ({"tokens": 1}, True), ({"window": 5}, True), ({"model": "opus"}, True)],
)  # fmt: skip
def test_only_what_says_something_new_is_stored(changes: dict[str, Any], is_news: bool) -> None:
    """A status line comes after every reply and mostly repeats itself. Now and then that counts:
    it shows that somebody still tells."""
    assert usage.is_news(USED, seen(**changes)) is is_news


def test_the_first_sample_is_news() -> None:
    assert usage.is_news(IDLE, seen())
    assert not usage.is_news(IDLE, seen(ContextId("other")))


def test_a_turns_end_asks_only_where_the_agent_does_not_tell_by_itself() -> None:
    """The status line comes a moment after the reply; then the transcript is read."""
    silent = after(WORKING, stopped(0), at=NOON + 5)
    assert due(silent, "usage") == NOON + 5 + ASK_AFTER
    assert through(silent, fired("usage"), at=NOON + 6)[1] == [ReadUsage()]

    told = after(silent, seen(at=NOON + 5.5), at=NOON + 5.5)
    assert through(told, fired("usage"), at=NOON + 6)[1] == []


def test_a_status_line_that_fell_silent_is_not_waited_for() -> None:
    """It told of an earlier turn, but not of this one."""
    session = after(replace(WORKING, context=USED.context), stopped(0, at=NOON + 60), at=NOON + 60)

    assert through(session, fired("usage"), at=NOON + 61)[1] == [ReadUsage()]


def test_a_status_line_without_a_number_is_not_enough() -> None:
    session = after(WORKING, stopped(0), seen(tokens=None, at=NOON + 5), at=NOON + 5)

    assert through(session, fired("usage"), at=NOON + 6)[1] == [ReadUsage()]


def test_an_agent_that_died_or_has_no_transcript_is_not_asked() -> None:
    nameless = replace(WORKING, context=replace(WORKING.context, transcript=None))
    assert due(after(nameless, stopped(0)), "usage") is None

    dead = after(WORKING, stopped(0), AgentExited(status=1, signal=None, evidence="gone"))
    assert through(dead, fired("usage"), at=NOON + 9)[1] == []


def test_a_new_daemon_asks_once() -> None:
    """It may have missed what was told while none was there."""
    session = after(IDLE, DaemonStarted(version="1"))

    assert due(session, "usage") == NOON + ASK_AFTER
    assert due(after(session, DaemonStarted(version="2"), at=NOON + 0.5), "usage") == due(
        session, "usage"
    )


def test_a_context_that_was_just_compacted_has_no_number_of_its_own() -> None:
    """An old sample may come after the compaction; the zeros that follow it say that it is old."""
    session = seen_by(IDLE, tokens=50_000, at=NOON + 1)

    emptied = seen_by(session, tokens=0, at=NOON + 2)

    assert emptied.context.usage is not None
    assert emptied.context.usage.tokens is None


def test_the_record_may_be_read_before_the_compaction_stands_in_it() -> None:
    """What was to be read before is read after a moment, and an old number is known as one."""
    asking = usage.wanted(USED, NOON, 0.5)
    session = after(asking, COMPACTED, at=NOON + 1)
    assert due(session, "usage") == NOON + 1 + ASK_AFTER

    session = seen_by(session, tokens=167_095, at=NOON + 2, source=TRANSCRIPT)
    assert session.context.usage is not None
    assert session.context.usage.tokens is None

    session = seen_by(session, tokens=9_000, at=NOON + 3, source=TRANSCRIPT)
    late = seen_by(session, tokens=167_095, at=NOON + 4).context.usage
    assert late is not None
    assert late.tokens == 9_000


@pytest.mark.parametrize("zeros_first", [True, False])
def test_the_number_from_before_a_compaction_is_old_when_told_again(*, zeros_first: bool) -> None:
    """The agent's status line runs a moment late: its last number may come after the compaction."""
    session = seen_by(IDLE, tokens=50_000, at=NOON + 1)
    if zeros_first:
        session = seen_by(session, tokens=0, at=NOON + 2)
    session = after(session, COMPACTED)

    for at in (NOON + 3, NOON + 4):
        session = seen_by(session, tokens=50_000, at=at)
        assert session.context.usage is not None
        assert session.context.usage.tokens is None

    session = seen_by(session, tokens=9_000, at=NOON + 5)
    assert session.context.usage is not None
    assert session.context.usage.tokens == 9_000
    grown = seen_by(session, tokens=50_000, at=NOON + 6).context.usage
    assert grown is not None
    assert grown.tokens == 50_000


def test_zeros_do_not_outweigh_what_the_record_says() -> None:
    session = seen_by(IDLE, tokens=724, at=NOON + 1, source=TRANSCRIPT)

    after = seen_by(session, tokens=0, at=NOON + 2)

    assert after.context.usage is not None
    assert after.context.usage.tokens == 724


def seen_by(session: Session, *, tokens: int, at: float, source: str = STATUSLINE) -> Session:
    sample = Usage(tokens=tokens, window=200_000, model="m", source=source, at=at)
    return usage.seen(session, UsageSeen(context=session.context.id, usage=sample))
