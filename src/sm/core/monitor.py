"""Watches how full a context gets, and tells the agent in time to hand its work over.

Each level is told once per context; one that is jumped over is not told afterwards. A new context,
or a compaction, arms them anew. What was meant for an older context and still waits is withdrawn.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from sm.core import delivery, usage
from sm.core.effects import Effect
from sm.core.events import MessageQueued
from sm.core.ids import MessageId
from sm.core.message import Message, MessageState, Mode
from sm.core.notices import derived_id, notice
from sm.core.reports import ContextCompacted
from sm.core.state import Compacted, Level, Limit, Session, State, Thresholds, Usage
from sm.core.waiting import is_waiting

Result = tuple[Session, tuple[Effect, ...]]

BELOW = {Level.EARLY: 0.82, Level.WARNING: 0.9, Level.CRITICAL: 0.95}
"""Where a level comes that would not lie below what follows it, as a part of that: the next level,
or after the last one the point at which the agent compacts by itself."""
_MINUTE = 60
SILENT_FOR = 300.0
"""An agent that works this long without a report of its usage is not being watched at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One level in tokens of this context."""

    level: Level
    tokens: int
    wanted: int | None
    """What the configuration says; None where it cannot be told in tokens."""
    moved: str | None
    """Why it does not lie there."""


def marks(thresholds: Thresholds, window: int | None, compacts_at: int | None) -> tuple[Mark, ...]:
    """Every level that can be told in tokens, lowest first, each below the next."""
    found: list[Mark] = []
    # An agent may be told to compact when there is nothing yet; that is no place for a level.
    end = compacts_at if compacts_at is not None and compacts_at > 0 else None
    for level in reversed(Level):
        wanted = _tokens(thresholds.of(level), window)
        if wanted is not None and (end is None or wanted < end):
            mark = Mark(level=level, tokens=wanted, wanted=wanted, moved=None)
        elif end is not None:
            why = _why(wanted, found[-1] if found else None, compacts_at)
            mark = Mark(level=level, tokens=int(end * BELOW[level]), wanted=wanted, moved=why)
        else:
            continue
        found.append(mark)
        end = mark.tokens
    return tuple(reversed(found))


def _tokens(limit: Limit, window: int | None) -> int | None:
    if limit.percent is None or window is None:
        return limit.tokens
    # Rounded first: 40.1 % of a million is not a hair more than 401,000.
    return math.ceil(round(window * limit.percent / 100, 6))


def _why(wanted: int | None, above: Mark | None, compacts_at: int | None) -> str:
    if wanted is None:
        return "the window is not known"
    if compacts_at is not None and wanted >= compacts_at:
        return f"below the agent's own compaction at {compacts_at:,}"
    return f"below {above.level.shown} at {above.tokens:,}" if above is not None else ""


def marks_of(session: Session) -> tuple[Mark, ...]:
    known = session.context.usage
    if known is None:
        return marks(session.thresholds, None, None)
    return marks(session.thresholds, known.window, known.compacts_at)


def is_watching(session: Session) -> bool:
    """Whether its agent is warned at all."""
    return session.monitored and session.thresholds.enabled


def is_measured(session: Session) -> bool:
    """Whether there is a number, and something to hold it against."""
    known = session.context.usage
    has_number = known is not None and known.tokens is not None
    return has_number and any(mark.level is not Level.EARLY for mark in marks_of(session))


def level(session: Session) -> str | None:
    """How full the context is now, in the word people read; None where nobody can tell."""
    known = session.context.usage
    if known is None or known.tokens is None or not is_measured(session):
        return Level.WARNING.shown if Level.WARNING in session.context.alerted else None
    reached = [mark for mark in marks_of(session) if known.tokens >= mark.tokens]
    return reached[-1].level.shown if reached else "OK"


def checked(session: Session, now: float) -> Result:
    """The session after a new sample: the highest level it reached is told, if it is news."""
    context, known = session.context, session.context.usage
    if not is_watching(session) or known is None or known.tokens is None:
        return session, ()
    tokens = known.tokens
    reached = [mark.level for mark in marks_of(session) if tokens >= mark.tokens]
    if set(reached) <= set(context.alerted):
        return session, ()
    top, before = reached[-1], max(context.alerted, default=None)
    alerted = tuple(sorted({*context.alerted, *reached}))
    session = replace(session, context=replace(context, alerted=alerted))
    if top is Level.EARLY or (before is not None and top <= before):
        return session, ()
    return _tell(session, top, _words(session, top, known), now)


def tool_used(session: Session, now: float) -> Result:
    """One more tool call: the record is read now and then, and where there is nothing to measure,
    their number has to do."""
    session = replace(session, tools=session.tools + 1)
    if session.tools % session.thresholds.every == 0 and usage.is_needed(session, now):
        session = usage.wanted(session, now, usage.ASK_IN_TURN)
    if not is_watching(session) or session.tools < session.thresholds.tool_count:
        return session, ()
    is_blind = not is_measured(session) or _silence(session, now) is not None
    alerted = session.context.alerted
    if not is_blind or max(alerted, default=Level.EARLY) >= Level.WARNING:
        return session, ()
    session = replace(session, context=replace(session.context, alerted=(*alerted, Level.WARNING)))
    words = (
        f"{session.tools:,} tool calls in this context, and how full it is cannot be told. "
        "Consider writing a handoff doc and running `sm handoff <path>`."
    )
    return _tell(session, Level.WARNING, words, now)


def begun_anew(session: Session, now: float) -> Session:
    """A new context, or one that was compacted: every level is armed again."""
    context = replace(session.context, alerted=(), samples=(), begun_at=now, asked=None, held=None)
    return replace(session, context=context, tools=0)


def outdated_withdrawn(session: Session, now: float) -> Session:
    """The session without warnings that tell of an older context and still wait.

    Looked for after every event: one that was under way may come back to the queue later.
    """
    if not session.messages:
        return session
    key = _key(session)
    return _withdrawn(session, now, "the context it tells of is over", lambda m: m.context != key)


def compacted(session: Session, event: ContextCompacted, now: float) -> Result:
    """It happened anyway: what was known holds no more, and the parent is told."""
    context = session.context
    tokens = usage.last_number(context.usage) if context.usage is not None else None
    past = Compacted(at=event.hook.at, trigger=event.trigger, tokens=tokens)
    context = replace(context, compactions=context.compactions + 1, compacted=past)
    session = usage.emptied(replace(session, context=context)).with_timer("usage", None)
    session = usage.wanted(session, now)
    session = begun_anew(session, now)
    if session.parent is None:
        return session, ()
    size = f" at {tokens:,} tokens" if tokens else ""
    words = f"{session.name}'s context was compacted ({event.trigger}){size}: details may be lost"
    about = f"compaction {_key(session)}"
    return session, (notice(session, session.parent, about, words, now),)


def switched(session: Session, now: float, *, on: bool) -> Result:
    """Its agent is to be warned from now on, or to be left alone."""
    session = replace(session, monitored=on)
    if on:
        return checked(session, now)
    # What was not told yet is told when it is switched on again.
    waiting = {m.id for m in session.messages if is_waiting(session, m)}
    told = tuple(n for n in session.context.alerted if _id(session, n) not in waiting)
    session = replace(session, context=replace(session.context, alerted=told))
    return _withdrawn(session, now, "the monitor was switched off", lambda _: True), ()


def alarm(session: Session, now: float) -> str | None:
    """What is said of a session that works while nobody learns how full its context gets."""
    is_at_work = session.state is State.WORKING and is_watching(session)
    silence = _silence(session, now)
    if not is_at_work or silence is None:
        return None
    return (
        f"no usage was seen for {silence / 60:.0f} min though it works;"
        f" it is warned by its tool calls alone ({session.tools:,} so far)"
    )


def _silence(session: Session, now: float) -> float | None:
    """How long there was no sample, where that is too long. One reply may ask for many tools."""
    since = usage.silent_since(session)
    return now - since if since is not None and now - since >= SILENT_FOR else None


def _words(session: Session, level: Level, known: Usage) -> str:
    if level is Level.CRITICAL:
        rules = session.walkaway
        otherwise = "Compaction is imminent."
        if rules is not None and not rules.over:
            otherwise = _otherwise(rules.deadline)
        return (
            "Context critically high. Write your handoff doc NOW and run `sm handoff <path>`. "
            f"{otherwise}"
        )
    percent = f" (~{known.percent:.0f}%)" if known.percent is not None else ""
    return (
        f"Context at {known.tokens:,} tokens{percent}. "
        "Consider writing a handoff doc and running `sm handoff <path>`."
    )


def _otherwise(deadline: float) -> str:
    """What happens in walk-away mode to an agent that does not."""
    when = "at your next tool call"
    if deadline >= _MINUTE:
        when = f"{deadline / _MINUTE:.0f} min from now"
    elif deadline > 0:
        when = f"{deadline:.0f} s from now"
    return (
        f"If you do not, sm does it for you {when}, with what it finds in the record: "
        "your own document is better."
    )


def _tell(session: Session, level: Level, words: str, now: float) -> Result:
    # A lower warning that still waits would come after this one and say less.
    session = _withdrawn(session, now, f"{level.shown} was reached", lambda _: True)
    message = Message(
        # The same cause always gives the same id: it cannot be told twice.
        id=_id(session, level),
        to=session.id,
        sender_name="sm",
        mode=Mode.URGENT if level is Level.CRITICAL else Mode.SEQUENTIAL,
        text=f"[sm context] {words}",
        queued_at=now,
        notify=False,
        context=_key(session),
    )
    return delivery.queued(session, MessageQueued(message=message), now)


def _id(session: Session, level: Level) -> MessageId:
    return derived_id(f"{session.id}:{_key(session)}:{level.name}")


def _withdrawn(
    session: Session, now: float, why: str, is_moot: Callable[[Message], bool]
) -> Session:
    for message in session.messages:
        is_warning = message.context is not None and is_waiting(session, message)
        if is_warning and is_moot(message):
            over = message.moved(MessageState.CANCELLED, now, why)
            session = session.with_message(over)
    return session


def _key(session: Session) -> str:
    """One stretch of a context, from its begin or a compaction to the next."""
    return f"{session.context.number}.{session.context.compactions}"
