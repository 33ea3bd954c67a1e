"""How full a session's context is: what was last reported, and when to ask for more."""

from dataclasses import replace

from sm.core import forecast
from sm.core.effects import Effect, ReadUsage
from sm.core.events import UsageSeen
from sm.core.state import Context, Sample, Session, Usage

STATUSLINE, TRANSCRIPT = "statusline", "transcript"
ASK_AFTER = 1.0
"""The agent's own report comes a moment after each reply of the model; then it is asked for."""
ASK_IN_TURN = 15.0
"""In a long turn the record is read now and then, not at every tool."""
REPEATED_AFTER = 60.0
"""A sample that says the same again is news after this long: somebody still tells."""
OVERDUE_AFTER, OVERDUE_TOOLS = 60.0, 5
"""Each tool call was asked for by a reply of the model, and each reply is followed by a sample:
so many calls without one, and the agent does not tell any more."""


def seen(session: Session, event: UsageSeen) -> Session:
    """A newer sample of this very context is kept; what it leaves out is as before."""
    context, sample = session.context, event.usage
    if event.context is not None and event.context != context.id:
        return session
    known = context.usage
    if known is not None:
        if known.at > sample.at:
            return session
        tokens = _tokens(sample, known)
        sample = replace(
            sample,
            tokens=tokens,
            window=sample.window or known.window,
            model=sample.model or known.model,
            outdated=_outdated(sample, known, tokens),
        )
    elif sample.tokens == 0:
        sample = replace(sample, tokens=None)
    context = replace(context, usage=sample)
    is_number = event.usage.tokens and sample.tokens == event.usage.tokens
    return replace(session, context=_noted(context, session.tools) if is_number else context)


def _noted(context: Context, tools: int) -> Context:
    """The context with its newest number in its history."""
    known = context.usage
    if known is None or known.tokens is None:
        return context
    newest = Sample(at=known.at, tokens=known.tokens, tools=tools)
    return replace(context, samples=forecast.kept(context.samples, newest))


def _tokens(sample: Usage, known: Usage) -> int | None:
    """An agent that was just started or failed has no number to tell. One that tells of nothing
    was just compacted: its own last number holds no more, one from its record does."""
    if sample.tokens is None or _is_outdated(sample, known):
        return known.tokens
    if sample.tokens == 0:
        return None if known.source == STATUSLINE else known.tokens
    return sample.tokens


def _is_outdated(sample: Usage, known: Usage) -> bool:
    """The number from before a compaction, told once more: the status line runs a moment late,
    and the record may be read before the compaction stands in it."""
    is_late = known.tokens is None or sample.source == STATUSLINE
    return sample.tokens == known.outdated and is_late


def _outdated(sample: Usage, known: Usage, tokens: int | None) -> int | None:
    """The number that holds no more, until the agent itself tells another."""
    if tokens is None:
        return last_number(known)
    return known.outdated if sample.source == TRANSCRIPT or tokens == known.tokens else None


def last_number(known: Usage) -> int | None:
    """Also where it holds no more, because the context was compacted since."""
    return known.outdated if known.tokens is None else known.tokens


def is_news(session: Session, event: UsageSeen) -> bool:
    """Whether a sample says anything new: many repeat what the last one said."""
    before, after = session.context.usage, seen(session, event).context.usage
    if before is None or after is None:
        return after is not before
    return _told(after) != _told(before) or after.at - before.at >= REPEATED_AFTER


def _told(usage: Usage) -> tuple[object, ...]:
    return usage.tokens, usage.window, usage.model, usage.source


def wanted(session: Session, now: float, after: float = ASK_AFTER) -> Session:
    """The model was asked something: look how full it is, unless that is told before."""
    asked = session.timer("usage")
    if session.context.transcript is None or (asked is not None and asked.due <= now + after):
        return session
    return session.with_timer("usage", now + after)


def is_reported(session: Session) -> bool:
    """Whether the agent tells by itself, so that its record need not be read."""
    usage = session.context.usage
    return usage is not None and usage.source == STATUSLINE


def is_needed(session: Session, now: float) -> bool:
    """Whether the record must be read in a turn: the agent never told by itself, or no more."""
    since = silent_since(session)
    return not is_reported(session) or (since is not None and now - since >= OVERDUE_AFTER)


def silent_since(session: Session) -> float | None:
    """Since when there was no number, though the agent works; None while one is not overdue."""
    context = session.context
    newest = context.samples[-1] if context.samples else None
    if session.tools - (newest.tools if newest is not None else 0) < OVERDUE_TOOLS:
        return None
    return newest.at if newest is not None else context.begun_at or session.created_at


def asked(session: Session, now: float) -> tuple[Session, tuple[Effect, ...]]:
    """It is time to look: into the record, unless the agent told by itself meanwhile."""
    effects = (ReadUsage(),) if _is_stale(session, now) else ()
    if session.alive and session.turn is not None and not session.heard:
        # No hook tells how its turn goes on.
        session = wanted(session, now, ASK_IN_TURN)
    return session, effects


def _is_stale(session: Session, now: float) -> bool:
    """Whether nothing was reported since the last turn ended, or for long."""
    usage = session.context.usage
    if usage is None or usage.tokens is None or is_needed(session, now):
        return session.alive
    return session.alive and usage.at < session.turn_ended_at - ASK_AFTER


def emptied(session: Session) -> Session:
    """The context was compacted: what was known is no longer true, also if it is told again."""
    usage = session.context.usage
    if usage is None:
        return session
    usage = replace(usage, tokens=None, outdated=last_number(usage))
    return replace(session, context=replace(session.context, usage=usage))
