"""How full ada's context gets, and what she is told of it."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sm.core import monitor
from sm.core.effects import QueueNotice, ReadUsage
from sm.core.events import DaemonStarted, MonitorSwitched, StatusSeen, UsageSeen
from sm.core.ids import ContextId
from sm.core.message import Message, MessageState, Mode
from sm.core.monitor import BELOW, SILENT_FOR, alarm, level, marks
from sm.core.reports import ContextCompacted, ToolEnded
from sm.core.state import (
    USUAL,
    Adoption,
    Level,
    Limit,
    Session,
    State,
    Thresholds,
    Usage,
    WalkAway,
)
from sm.core.terminal import AgentStatus, Sign
from sm.core.usage import ASK_IN_TURN, OVERDUE_TOOLS, STATUSLINE, TRANSCRIPT
from tests.core.samples import (
    BOB,
    CONTEXT,
    IDLE,
    NOON,
    PANE,
    WORKING,
    after,
    due,
    fired,
    hook,
    prompted,
    queued,
    started,
    stopped,
    through,
)

WINDOW = 200_000
WARNING = (
    "[sm context] Context at 104,312 tokens (~52%). "
    "Consider writing a handoff doc and running `sm handoff <path>`."
)
CRITICAL = (
    "[sm context] Context critically high. Write your handoff doc NOW and run "
    "`sm handoff <path>`. Compaction is imminent."
)


def full(
    tokens: int | None, at: float = 1.0, *, context: ContextId | None = CONTEXT, **changes: Any
) -> UsageSeen:
    usage = Usage(tokens=tokens, window=WINDOW, model="m", source=STATUSLINE, at=NOON + at)
    return UsageSeen(context=context, usage=replace(usage, **changes))


def told(session: Session) -> list[Message]:
    """Everything ada was told of her context and has not yet forgotten."""
    return [m for m in session.messages if m.context is not None]


def waiting(session: Session) -> list[str]:
    return [m.text for m in told(session) if m.state is MessageState.QUEUED]


def news(session: Session, *events: Any) -> list[str]:
    """What she is told in the course of these events, in the order it is stored."""
    found: dict[str, str] = {}
    for event in events:
        session = after(session, event)
        found.update({m.id: m.text for m in told(session)})
    return list(found.values())


def tool(nth: int = 1, at: float = 1.0) -> ToolEnded:
    return ToolEnded(hook=hook(f"PostToolUse {nth}", 0, NOON + at), tool="Bash", failed=False)


COMPACTED = ContextCompacted(hook=hook("PostCompact", 0, NOON + 9), trigger="auto")


# --- levels ----------------------------------------------------------------------------------


def test_a_warning_waits_for_the_turns_end_and_a_critical_one_does_not() -> None:
    """Worded as agents know it; nobody is told when the turn that took it ends."""
    (warning,) = told(after(WORKING, full(104_312)))
    assert (warning.mode, warning.text) == (Mode.SEQUENTIAL, WARNING)
    assert (warning.sender_name, warning.notify) == ("sm", False)

    (critical,) = told(after(WORKING, full(130_000)))
    assert (critical.mode, critical.text) == (Mode.URGENT, CRITICAL)


@pytest.mark.parametrize(
    ("deadline", "when"),
    [(600.0, "10 min from now"), (90.0, "2 min from now"), (45.0, "45 s from now"),
     (0.0, "at your next tool call")],
)  # fmt: skip
def test_in_walk_away_mode_the_agent_learns_what_happens_otherwise(
    deadline: float, when: str
) -> None:
    alone = replace(WORKING, walkaway=WalkAway(deadline=deadline))
    (critical,) = told(after(alone, full(130_000)))

    assert critical.text == (
        CRITICAL.removesuffix("Compaction is imminent.")
        + f"If you do not, sm does it for you {when}, with what it finds in the record: your own"
        " document is better."
    )
    given_up = replace(WORKING, walkaway=WalkAway(over="it leads nowhere"))
    assert [m.text for m in told(after(given_up, full(130_000)))] == [CRITICAL]


@pytest.mark.parametrize(
    ("tokens", "expected", "shown"),
    [
        (79_999, [], "OK"),
        (80_000, [], "EARLY_WARN"),
        (99_999, [], "EARLY_WARN"),
        (100_000, ["WARN"], "WARN"),
        (129_999, ["WARN"], "WARN"),
        (130_000, ["CRITICAL"], "CRITICAL"),
        (250_000, ["CRITICAL"], "CRITICAL"),
    ],
)
def test_a_level_begins_exactly_at_its_threshold(
    tokens: int, expected: list[str], shown: str
) -> None:
    """49.9 % is not 50 %; the early level is shown and nothing is sent."""
    session = after(WORKING, full(tokens))

    words = {"WARN": f"Context at {tokens:,}", "CRITICAL": "critically high"}
    assert len(told(session)) == len(expected)
    assert all(words[one] in m.text for one, m in zip(expected, told(session), strict=True))
    assert level(session) == shown


def test_each_level_is_told_once() -> None:
    """However often it is measured, also when it sinks and rises again."""
    samples = (104_000, 104_001, 60_000, 104_002, 131_000, 100_500, 140_000)

    assert len(news(WORKING, *(full(n, i) for i, n in enumerate(samples, 1)))) == 2


def test_a_level_that_was_jumped_over_is_not_told() -> None:
    """From 30 % to 70 % at once: only the critical one, and no warning afterwards."""
    assert news(WORKING, full(60_000), full(140_000, 2), full(104_000, 3)) == [CRITICAL]


def test_a_warning_that_still_waits_gives_way_to_the_critical_one() -> None:
    """It would come after it and say less."""
    session = after(WORKING, full(104_312), full(131_000, 2))

    assert waiting(session) == [CRITICAL]
    (withdrawn,) = [m for m in told(session) if m.state is MessageState.CANCELLED]
    assert withdrawn.receipts[-1].evidence == "CRITICAL was reached"


def test_without_a_number_nothing_is_known() -> None:
    assert level(IDLE) is None
    assert level(after(WORKING, full(None))) is None
    assert told(after(WORKING, full(None))) == []


# --- one context and the next ----------------------------------------------------------------


def test_a_new_context_arms_every_level_again() -> None:
    """After /clear the same fill is news again, under another id."""
    before = after(WORKING, full(104_312))
    cleared = after(before, started("clear", context="c2", at=NOON + 2), at=NOON + 2)
    again = after(cleared, full(104_312, 3, context=ContextId("c2")))

    assert cleared.context.alerted == ()
    assert (cleared.context.samples, cleared.tools) == ((), 0)
    assert waiting(again) == [WARNING]
    assert told(again)[-1].id != told(before)[0].id


def test_a_warning_of_the_old_context_that_waits_is_withdrawn() -> None:
    """The new context is empty; to warn it would be wrong."""
    cleared = after(WORKING, full(104_312), started("clear", context="c2", at=NOON + 2))

    (old,) = told(cleared)
    assert old.state is MessageState.CANCELLED
    assert old.receipts[-1].evidence == "the context it tells of is over"


def test_one_that_comes_back_to_the_queue_late_is_withdrawn_then() -> None:
    """It was being typed when the context ended; it must not be typed into the next one."""
    typing = after(IDLE, full(104_312))
    assert typing.attempt is not None
    cleared = after(typing, started("clear", context="c2", at=NOON + 2))
    assert [m.state for m in told(cleared)] == [MessageState.QUEUED]

    given_up = replace(cleared, attempt=None)

    assert waiting(after(given_up, prompted(7, at=NOON + 3))) == []


def test_messages_of_people_survive_a_new_context() -> None:
    cleared = after(WORKING, queued(), MonitorSwitched(on=False), full(140_000))
    cleared = after(cleared, started("clear", context="c2", at=NOON + 2))

    assert [m.state for m in cleared.messages] == [MessageState.QUEUED]


def test_a_late_sample_of_the_old_context_says_nothing() -> None:
    """The client's status line runs a moment late."""
    cleared = after(WORKING, started("clear", context="c2", at=NOON + 2))

    assert told(after(cleared, full(140_000, 3, context=CONTEXT))) == []


def test_a_compaction_arms_every_level_again() -> None:
    """Also when the old number is told once more after it."""
    session = after(WORKING, full(140_000), at=NOON + 1)
    session = after(session, COMPACTED, full(140_000, 10), at=NOON + 10)
    assert waiting(session) == []

    assert waiting(after(session, full(30_000, 11), full(104_312, 12))) == [WARNING]


def test_a_compaction_is_recorded_and_the_parent_told() -> None:
    """It happened anyway: when, by whom, and how full it was."""
    session, asked = through(replace(WORKING, parent=BOB), full(167_000), COMPACTED, at=NOON + 9)

    past = session.context.compacted
    assert past is not None
    assert (past.at, past.trigger, past.tokens) == (NOON + 9, "auto", 167_000)
    assert session.context.compactions == 1
    (notice,) = [e for e in asked if isinstance(e, QueueNotice)]
    assert (notice.to, notice.message.text) == (
        BOB,
        "[sm] ada's context was compacted (auto) at 167,000 tokens: details may be lost",
    )


def test_a_second_compaction_is_told_too() -> None:
    child = replace(WORKING, parent=BOB)
    _, asked = through(child, COMPACTED, replace(COMPACTED, trigger="manual"))

    notices = [e.message for e in asked if isinstance(e, QueueNotice)]
    assert len({m.id for m in notices}) == 2
    assert "compacted (manual):" in notices[1].text


def test_the_zeros_that_come_before_the_report_do_not_hide_the_size() -> None:
    """Claude Code's status line tells of nothing before its hook tells of the compaction."""
    session = after(WORKING, full(167_000), full(0, 2), COMPACTED)

    assert session.context.compacted is not None
    assert session.context.compacted.tokens == 167_000


def test_an_adopted_agent_that_a_person_cleared_is_armed_again() -> None:
    """No hook tells: its state file names another conversation."""
    adopted = replace(WORKING, adoption=Adoption(pane=PANE, logged=True))
    status = AgentStatus(
        sign=Sign.PROMPT, detail="idle", at=NOON + 5, context=ContextId("c2"), transcript="/t/c2"
    )
    session = after(adopted, tool(), full(104_312), StatusSeen(status=status), at=NOON + 9)

    assert (session.context.alerted, session.tools) == ((), 0)
    assert session.context.begun_at == NOON + 9
    assert waiting(session) == []


TOKENS = st.integers(min_value=1, max_value=WINDOW)
STEPS = st.one_of(TOKENS, st.sampled_from(["clear", "compact", "stop", "prompt", "old", "on"]))


@given(st.lists(STEPS, max_size=40))
def test_once_per_level_and_context_and_never_a_lower_after_a_higher(steps: list[Any]) -> None:
    """Whatever the numbers do, and whatever comes between them."""
    session, stretch, at = WORKING, 0, 1.0
    found: dict[int, list[str]] = {0: []}
    known: set[str] = set()
    for step in steps:
        at += 1.0
        context = session.context.id
        match step:
            case "clear":
                stretch += 1
                event: Any = started("clear", context=f"c{stretch}", at=NOON + at)
            case "compact":
                stretch += 1
                event = ContextCompacted(
                    hook=hook("PostCompact", 0, NOON + at, context), trigger="auto"
                )
            case "stop":
                event = replace(stopped(0, at=NOON + at), hook=hook("Stop", 0, NOON + at, context))
            case "prompt":
                event = prompted(int(at), at=NOON + at)
            case "old":
                event = full(WINDOW, at, context=ContextId("older"))
            case "on":
                event = MonitorSwitched(on=True)
            case tokens:
                event = full(tokens, at, context=context)
        session = after(session, event, at=NOON + at)
        new = [m for m in told(session) if m.id not in known]
        known |= {m.id for m in new}
        found.setdefault(stretch, []).extend(m.text for m in new)

    for texts in found.values():
        levels = [Level.CRITICAL if text == CRITICAL else Level.WARNING for text in texts]
        assert levels == sorted(set(levels))


# --- where levels lie ------------------------------------------------------------------------


def placed(*limits: int | float, window: int | None = WINDOW, ends: int | None = None) -> Any:
    """The levels' tokens and why they were moved; whole numbers are tokens, others percent."""
    given = [Limit(tokens=n) if isinstance(n, int) else Limit(percent=n) for n in limits]
    thresholds = Thresholds(early=given[0], warning=given[1], critical=given[2])
    return [(mark.tokens, mark.moved) for mark in marks(thresholds, window, ends)]


def test_percentages_are_of_the_real_window() -> None:
    assert placed(40.0, 50.0, 65.0) == [(80_000, None), (100_000, None), (130_000, None)]
    assert placed(40.1, 50.0, 65.0, window=1_000_000)[0] == (401_000, None)
    # Half a token more than half is needed, not less.
    assert placed(40.0, 50.0, 65.0, window=200_001)[1] == (100_001, None)


def test_what_lies_above_the_agents_own_compaction_is_moved_below_it() -> None:
    """Visibly, and in order."""
    why = "below the agent's own compaction at 167,000"
    assert placed(40.0, 50.0, 65.0, window=1_000_000, ends=167_000) == [
        (117_083, why), (142_785, why), (158_650, why),
    ]  # fmt: skip
    assert placed(40.0, 50.0, 65.0, ends=120_000) == [
        (80_000, None), (100_000, None), (114_000, "below the agent's own compaction at 120,000"),
    ]  # fmt: skip


def test_a_compaction_at_nothing_moves_nothing() -> None:
    """Somebody set a window that is smaller than what the agent keeps free."""
    assert placed(40.0, 50.0, 65.0, ends=-10_000) == placed(40.0, 50.0, 65.0)


def test_a_level_that_would_not_lie_below_a_moved_one_follows_it() -> None:
    """Mixed units can disagree, too: only the window decides."""
    assert placed(50_000, 118_000, 150_000, ends=120_000) == [
        (50_000, None),
        (102_600, "below CRITICAL at 114,000"),
        (114_000, "below the agent's own compaction at 120,000"),
    ]
    assert placed(40.0, 100_000, 45.0) == [
        (80_000, None), (81_000, "below CRITICAL at 90,000"), (90_000, None),
    ]  # fmt: skip


def test_without_a_window_the_agents_own_compaction_has_to_do() -> None:
    """Half of nobody knows what is no number."""
    assert placed(40.0, 50.0, 65.0, window=None) == []
    assert placed(40.0, 100_000, 65.0, window=None) == [
        (82_000, "the window is not known"), (100_000, None),
    ]  # fmt: skip
    assert placed(40.0, 50.0, 65.0, window=None, ends=100_000)[2] == (
        95_000, "the window is not known",
    )  # fmt: skip


LIMITS = st.one_of(
    st.integers(min_value=100, max_value=2_000_000), st.floats(min_value=1, max_value=100)
)


@given(
    LIMITS, LIMITS, LIMITS,
    st.one_of(st.none(), st.integers(min_value=10_000, max_value=2_000_000)),
    st.one_of(st.none(), st.integers(min_value=1_000, max_value=2_000_000)),
)  # fmt: skip
def test_levels_are_always_in_order_and_below_the_compaction(
    early: Any, warning: Any, critical: Any, window: int | None, ends: int | None
) -> None:
    """Whatever the configuration and the agent say."""
    found = [tokens for tokens, _ in placed(early, warning, critical, window=window, ends=ends)]

    assert found == sorted(set(found))
    assert ends is None or found[-1] < ends


def test_a_moved_level_is_the_one_that_is_told() -> None:
    """At 95 % of the point where the agent would compact, not beyond it."""
    at = int(167_000 * BELOW[Level.CRITICAL])
    below, there = (full(n, window=1_000_000, compacts_at=167_000) for n in (at - 1, at))

    assert CRITICAL not in waiting(after(WORKING, below))
    assert waiting(after(WORKING, there)) == [CRITICAL]


# --- tool calls ------------------------------------------------------------------------------

FEW = replace(USUAL, tool_count=3)


def test_where_nothing_can_be_measured_tool_calls_are_counted() -> None:
    """One warning, however many more there are."""
    session = replace(WORKING, thresholds=FEW)
    session = after(session, *(tool(nth) for nth in range(9)))

    (text,) = [m.text for m in told(session)]
    assert text.startswith("[sm context] 3 tool calls in this context,")
    assert level(session) == "WARN"


def test_a_number_makes_the_count_needless() -> None:
    session = after(replace(WORKING, thresholds=FEW), full(1_000))
    many = [tool(nth) for nth in range(9)]

    assert told(after(session, *many)) == []
    assert len(told(after(session, *many, tool(10), at=NOON + SILENT_FOR + 2))) == 1


def test_a_number_without_a_window_does_not() -> None:
    """Read from a transcript, it says how many, not how many of what."""
    session = after(replace(WORKING, thresholds=FEW), full(1_000, window=None, source=TRANSCRIPT))

    assert len(told(after(session, *(tool(nth) for nth in range(4))))) == 1


def test_a_number_that_comes_after_the_count_warned_warns_only_of_more() -> None:
    """The same level was told before, for another reason."""
    session = after(replace(WORKING, thresholds=FEW), *(tool(nth) for nth in range(3)))
    over = replace(session, messages=())

    assert told(after(over, full(104_312))) == []
    assert waiting(after(over, full(104_312), full(131_000, 2))) == [CRITICAL]


def test_a_count_never_follows_a_higher_level() -> None:
    session = after(replace(WORKING, thresholds=FEW), full(140_000))
    session = after(session, *(tool(nth) for nth in range(3 + OVERDUE_TOOLS)))

    assert waiting(session) == [CRITICAL]


def test_counting_alone_stores_nothing() -> None:
    """A tool call that tells nothing new costs no row."""
    session = after(replace(WORKING), tool(1), full(1_000))

    assert not after(session, tool(2)).differs(session)


def test_an_agents_record_is_read_at_every_nth_tool_call() -> None:
    """As the configuration says, where the agent does not tell by itself."""
    session = replace(WORKING, thresholds=replace(USUAL, every=3))
    session = after(session, tool(1), tool(2))
    assert due(session, "usage") is None

    session = after(session, tool(3))
    assert due(session, "usage") == NOON + ASK_IN_TURN

    reported = after(replace(WORKING, thresholds=replace(USUAL, every=1)), full(1_000))
    assert due(after(reported, tool(1)), "usage") is None


# --- silence ---------------------------------------------------------------------------------


def silent(session: Session, tools: int = OVERDUE_TOOLS) -> Session:
    return after(session, *(tool(nth, at=2.0) for nth in range(tools)))


def test_an_agent_that_works_without_a_sample_for_long_is_told_of() -> None:
    """It has called tools, so its model has replied, so something should have come."""
    session = silent(after(WORKING, full(1_000)))

    assert alarm(session, NOON + SILENT_FOR) is None
    words = alarm(session, NOON + SILENT_FOR + 1)
    assert words is not None
    assert words.startswith("no usage was seen for 5 min though it works")
    assert alarm(after(session, full(1_000, SILENT_FOR)), NOON + SILENT_FOR + 1) is None


def test_a_context_without_any_sample_is_told_of_too() -> None:
    assert alarm(silent(WORKING), NOON + SILENT_FOR) is not None


@pytest.mark.parametrize(
    "session",
    [
        silent(WORKING, OVERDUE_TOOLS - 1),
        after(silent(WORKING), stopped(0)),
        replace(silent(WORKING), monitored=False),
        replace(silent(WORKING), state=State.WAITING),
    ],
    ids=["one long tool", "idle", "opted out", "a dialog"],
)
def test_silence_that_is_to_be_expected_is_no_alarm(session: Session) -> None:
    assert alarm(session, NOON + 9 * SILENT_FOR) is None


def test_a_status_line_that_fell_silent_in_a_turn_is_not_waited_for() -> None:
    """Its transcript is read instead, after a minute."""
    session = after(WORKING, full(1_000))
    soon = after(session, *(tool(nth, at=10.0) for nth in range(9)), at=NOON + 10)
    assert due(soon, "usage") is None

    late = after(soon, tool(10, at=70.0), at=NOON + 70)
    assert due(late, "usage") == NOON + 70 + ASK_IN_TURN
    assert through(late, fired("usage"), at=NOON + 90)[1] == [ReadUsage()]


def test_an_adopted_agent_without_hooks_is_looked_at_again_and_again_in_a_turn() -> None:
    """Nothing else tells that its turn goes on."""
    adopted = replace(IDLE, adoption=Adoption(pane=PANE, logged=True))
    busy = StatusSeen(status=AgentStatus(sign=Sign.BUSY, detail="busy", at=NOON))
    working = after(adopted, busy)
    assert due(working, "usage") == NOON + ASK_IN_TURN

    later, asked = through(working, fired("usage"), at=NOON + ASK_IN_TURN)
    assert asked == [ReadUsage()]
    assert due(later, "usage") == NOON + 2 * ASK_IN_TURN


# --- opting out ------------------------------------------------------------------------------


def test_a_session_that_opted_out_is_told_nothing() -> None:
    """And what waited is withdrawn. Its level is still shown."""
    session = after(WORKING, full(104_312), MonitorSwitched(on=False), full(140_000, 2))

    assert waiting(session) == []
    assert level(session) == "CRITICAL"


def test_switched_on_again_it_is_told_what_it_missed_once() -> None:
    off = after(WORKING, MonitorSwitched(on=False), full(140_000))

    assert waiting(after(off, MonitorSwitched(on=True))) == [CRITICAL]
    twice = after(off, MonitorSwitched(on=True), MonitorSwitched(on=True))
    assert waiting(twice) == [CRITICAL]


def test_a_warning_that_was_withdrawn_is_told_when_it_is_switched_on_again() -> None:
    session = after(WORKING, full(104_312), MonitorSwitched(on=False))
    assert waiting(session) == []

    assert len(waiting(after(session, MonitorSwitched(on=True)))) == 1


def test_a_new_configuration_holds_at_once_but_not_against_an_opt_out() -> None:
    """A daemon that starts with lower thresholds warns those who want to be warned."""
    lower = DaemonStarted(version="2", thresholds=replace(USUAL, warning=Limit(tokens=50_000)))
    session = after(WORKING, full(60_000))

    assert len(waiting(after(session, lower))) == 1
    opted_out = after(session, MonitorSwitched(on=False), lower)
    assert waiting(opted_out) == []
    assert not monitor.is_watching(opted_out)


def test_switched_off_and_on_in_the_configuration_it_watches_again() -> None:
    off = DaemonStarted(version="2", thresholds=replace(USUAL, enabled=False))
    on = DaemonStarted(version="3", thresholds=USUAL)
    session = after(WORKING, off, full(140_000))
    assert waiting(session) == []

    assert waiting(after(session, on)) == [CRITICAL]
