"""How full a session's context is: what was last reported, and when to ask for more."""

from dataclasses import replace

from sm.core.events import UsageSeen
from sm.core.state import Session, Usage

STATUSLINE, TRANSCRIPT = "statusline", "transcript"
ASK_AFTER = 1.0
"""The agent's own report comes a moment after each reply of the model; then it is asked for."""
ASK_IN_TURN = 15.0
"""In a long turn the record is read now and then, not at every tool."""


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
            outdated=_outdated(known) if tokens is None else None,
        )
    elif sample.tokens == 0:
        sample = replace(sample, tokens=None)
    return replace(session, context=replace(context, usage=sample))


def _tokens(sample: Usage, known: Usage) -> int | None:
    """An agent that was just started or failed has no number to tell. One that tells of nothing
    was just compacted: its own last number holds no more, one from its record does."""
    is_repeated = sample.source == STATUSLINE and sample.tokens == known.outdated
    if sample.tokens is None or (known.tokens is None and is_repeated):
        return known.tokens
    if sample.tokens == 0:
        return None if known.source == STATUSLINE else known.tokens
    return sample.tokens


def _outdated(known: Usage) -> int | None:
    return known.outdated if known.tokens is None else known.tokens


def is_news(session: Session, event: UsageSeen) -> bool:
    """Whether a sample says anything new: many repeat what the last one said."""
    before, after = session.context.usage, seen(session, event).context.usage
    if before is None or after is None:
        return after is not before
    return _told(after) != _told(before)


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


def is_stale(session: Session) -> bool:
    """Whether nothing was reported since the last turn ended."""
    usage = session.context.usage
    if usage is None or not is_reported(session) or usage.tokens is None:
        return session.alive
    return session.alive and usage.at < session.turn_ended_at - ASK_AFTER


def emptied(session: Session) -> Session:
    """The context was compacted: what was known is no longer true, also if it is told again."""
    usage = session.context.usage
    if usage is None:
        return session
    usage = replace(usage, tokens=None, outdated=_outdated(usage))
    return replace(session, context=replace(session.context, usage=usage))
