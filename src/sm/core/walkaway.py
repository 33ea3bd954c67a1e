"""Walk-away mode: what sm does about a full context when nobody is there.

A ladder. The monitor warns; at the last level the agent is asked to hand over. If it has not done
so by the deadline, or after two more turns, or when it is about to compact by itself, sm writes
the document and hands over for it. A turn that runs on is ended at its next tool result, by the
agent's own means: nothing is typed into it. A compaction is held back for it once per context; an
agent that must compact all the same is let. What fails is tried again; what leads nowhere is not.
"""

from dataclasses import replace

from sm.core import handoff, monitor
from sm.core.channel import handoff_name
from sm.core.effects import Effect
from sm.core.events import HandoffRequested
from sm.core.ids import HandoffId
from sm.core.notices import derived_id, notice
from sm.core.passage import AUTO, Handoff, HandoffState
from sm.core.reports import CompactionBegun, Hook, ToolEnded
from sm.core.state import Asked, Level, Session, WalkAway

Result = tuple[Session, tuple[Effect, ...]]

TIMER = "walkaway"
TURNS = 2
"""Turns that may end after the agent was asked."""
FRUITLESS = 2
"""Contexts in a row that may fill up without a turn's end or a tool call: the next one would too.
"""
AGAIN_AFTER = 60.0
"""Seconds before a handoff that came to nothing is tried again, at least."""
RECORD = "the record"
"""The source of a document that sm writes."""


def due(session: Session, now: float) -> Result:
    """The next rung, if it is time for it. Looked at after every event."""
    rules, asked = session.walkaway, session.context.asked
    if rules is None or not _is_on(session):
        return _unasked(session), ()
    if asked is None:
        if Level.CRITICAL not in session.context.alerted:
            return session, ()
        return _asked(session, now).with_timer(TIMER, now + rules.deadline), ()
    if session.handoff is None and asked.turns >= TURNS:
        return taken_over(session, now, f"{TURNS} turns ended without its own handoff")
    if session.timer(TIMER) is None and _is_waiting(session.handoff):
        again = max(rules.deadline, rules.cooldown, AGAIN_AFTER)
        return session.with_timer(TIMER, now + again), ()
    return session, ()


def _is_on(session: Session) -> bool:
    rules = session.walkaway
    is_wanted = rules is not None and not rules.over and monitor.is_watching(session)
    return is_wanted and session.alive


def _is_waiting(passing: Handoff | None) -> bool:
    """Whether it is still the agent's turn to do something."""
    return passing is None or (passing.state is HandoffState.REQUESTED and not passing.overdue)


def _asked(session: Session, now: float) -> Session:
    return replace(session, context=replace(session.context, asked=Asked(at=now)))


def _unasked(session: Session) -> Session:
    if session.context.asked is None:
        return session
    return replace(session, context=replace(session.context, asked=None)).with_timer(TIMER, None)


def ruled(session: Session, rules: WalkAway | None) -> Session:
    """The session under the rules of a new configuration; what was counted stays."""
    known = session.walkaway
    if known is None or rules is None:
        return session
    rules = replace(known, deadline=rules.deadline, cooldown=rules.cooldown)
    return replace(session, walkaway=rules)


def resumed(session: Session) -> Session:
    """A person has looked, and wants it to go on."""
    rules = session.walkaway
    if rules is None or not rules.over:
        return session
    return replace(session, walkaway=replace(rules, over="", fruitless=0, rotations=0))


def turn_ended(session: Session) -> Session:
    """One more turn of this context is over."""
    asked = session.context.asked
    if asked is None:
        context = replace(session.context, turns=session.context.turns + 1)
    else:
        context = replace(
            session.context,
            turns=session.context.turns + 1,
            asked=replace(asked, turns=asked.turns + 1),
        )
    return replace(session, context=context)


def timer_fired(session: Session, now: float) -> Result:
    """The agent had its time."""
    if session.context.asked is None or not _is_on(session):
        return session, ()
    if session.handoff is None:
        return taken_over(session, now, "the time for its own handoff is over")
    return _hastened(session), ()


def _hastened(session: Session) -> Session:
    """It asked to hand over and goes on working: what it wrote is taken as it is."""
    passing = session.handoff
    if passing is None or not _is_waiting(passing):
        return session
    return session.with_handoff(replace(passing, overdue=True))


def compaction_begun(session: Session, event: CompactionBegun, now: float) -> Result:
    """The agent is about to lose its context: it is held back once, and handed over first."""
    is_due = _is_on(session) and session.context.held is None
    if not is_due or event.trigger != "auto":
        return session, ()
    effects: tuple[Effect, ...] = ()
    session = session if session.context.asked is not None else _asked(session, now)
    if session.handoff is None:
        session, effects = taken_over(session, now, "it was about to compact")
    session = _hastened(session)
    # Held back only for a handoff: an agent that is merely kept from compacting goes on nowhere.
    if session.handoff is not None and event.hook.answerable:
        session = replace(session, context=replace(session.context, held=event.hook.id))
    return session, effects


def taken_over(session: Session, now: float, why: str) -> Result:
    """sm hands over for the agent; unless that was just done, or leads nowhere."""
    rules = session.walkaway
    if rules is None:
        return session, ()
    ready_at = rules.rotated_at + rules.cooldown
    if now < ready_at:
        return session.with_timer(TIMER, ready_at), ()
    context = session.context
    is_fruitless = context.number > 1 and context.turns == 0 and session.tools == 0
    rules = replace(rules, fruitless=rules.fruitless + 1 if is_fruitless else 0)
    over = _verdict(rules)
    if over:
        return _given_up(replace(session, walkaway=replace(rules, over=over)), over, now)
    rules = replace(rules, rotated_at=now)
    # Counted anew: if this comes to nothing, the agent has its time again.
    session = replace(_asked(session, now), walkaway=rules).with_timer(TIMER, None)
    asked = Handoff(
        id=_id(session, now),
        session=session.id,
        kind=AUTO,
        requested_at=now,
        source=RECORD,
        document="",
        log="",
        overdue=True,
    )
    return handoff.requested(session, HandoffRequested(handoff=asked), now, by=f"by sm: {why}")


def rotated(session: Session, passing: Handoff | None) -> Session:
    """A handoff has come through: one more of those that are counted."""
    rules = session.walkaway
    if rules is None or passing is None or not passing.clears:
        return session
    if passing.kind != AUTO and not session.wrapped:
        # Its own doing, in place: that costs nobody a restart.
        return session
    return replace(session, walkaway=replace(rules, rotations=rules.rotations + 1))


def _verdict(rules: WalkAway) -> str:
    """Why there is no going on, if there is none."""
    if rules.limit is not None and rules.rotations >= rules.limit:
        return f"it was handed over as often as max_restarts allows ({rules.limit})"
    if rules.fruitless >= FRUITLESS:
        return "its new contexts fill up before anything is done in them"
    return ""


def _given_up(session: Session, why: str, now: float) -> Result:
    """A person must look: said once, to whoever started it, and shown with the session."""
    if session.parent is None:
        return session, ()
    words = (
        f"{session.name} is not handed over any more: {why}."
        f" If it shall be: sm context {session.name} --on"
    )
    return session, (notice(session, session.parent, "walk-away", words, now),)


def _id(session: Session, now: float) -> HandoffId:
    """The same cause always gives the same id, beside the time."""
    cause = f"{session.id}:auto:{session.context.number}.{session.context.compactions}"
    return handoff_name(now, derived_id(cause))


def cut(session: Session, event: ToolEnded) -> Session:
    """End a turn that runs on though its context is to be handed over, with this answer."""
    passing = session.handoff
    is_awaited = passing is not None and passing.state is HandoffState.REQUESTED and passing.overdue
    if passing is None or not is_awaited or not event.hook.answerable:
        return session
    return session.with_handoff(replace(passing, cut=event.hook.id))


def is_cut(session: Session, hook: Hook) -> bool:
    """Whether this report is answered with the turn's end."""
    return session.handoff is not None and session.handoff.cut == hook.id


def is_held(session: Session, hook: Hook) -> bool:
    """Whether this report of a compaction is answered with a refusal."""
    return session.context.held == hook.id
