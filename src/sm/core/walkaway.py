"""Walk-away mode: what sm does about a full context when nobody is there.

A ladder. The monitor warns; at the last level the agent is asked to hand over. If it has not done
so by the deadline, or after two more turns, or when it is about to compact by itself, sm writes
the document and hands over for it. A turn that runs on is ended at its next tool result, by the
agent's own means: nothing is typed into it. A compaction is held back once per context; an agent
that must compact all the same is let.
"""

from dataclasses import replace

from sm.core import handoff, monitor
from sm.core.channel import handoff_name
from sm.core.effects import Effect
from sm.core.events import CompactionBegun, HandoffRequested, Hook, ToolEnded
from sm.core.ids import HandoffId
from sm.core.notices import derived_id, notice
from sm.core.passage import AUTO, Handoff, HandoffState
from sm.core.state import Asked, Level, Session, WalkAway

Result = tuple[Session, tuple[Effect, ...]]

TIMER = "walkaway"
TURNS = 2
"""Turns that may end after the agent was asked."""
FRUITLESS = 2
"""Contexts in a row that may fill up without a turn's end or a tool call: the next one would too.
"""
RECORD = "the record"
"""The source of a document that sm writes."""


def due(session: Session, now: float) -> Result:
    """The next rung, if it is time for it. Looked at after every event."""
    rules, context = session.walkaway, session.context
    if rules is None or rules.over or not session.alive:
        return session, ()
    if context.asked is None:
        if Level.CRITICAL not in context.alerted or not monitor.is_watching(session):
            return session, ()
        context = replace(context, asked=Asked(at=now))
        return replace(session, context=context).with_timer(TIMER, now + rules.deadline), ()
    if session.handoff is None and context.asked.turns >= TURNS and session.turn is None:
        return taken_over(session, now, f"{TURNS} turns ended without its own handoff")
    return session, ()


def ruled(session: Session, rules: WalkAway | None) -> Session:
    """The session under the rules of a new configuration; what was counted stays."""
    known = session.walkaway
    if known is None or rules is None:
        return session
    rules = replace(known, deadline=rules.deadline, cooldown=rules.cooldown)
    return replace(session, walkaway=rules)


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
    asked = session.context.asked
    if session.walkaway is None or asked is None:
        return session, ()
    passing = session.handoff
    if passing is None:
        return taken_over(session, now, "the time for its own handoff is over")
    if passing.state is HandoffState.REQUESTED and not passing.overdue:
        # It asked to hand over and goes on working: what it wrote is taken as it is.
        session = session.with_handoff(replace(passing, overdue=True))
    return session, ()


def compaction_begun(session: Session, event: CompactionBegun, now: float) -> Result:
    """The agent is about to lose its context: it is held back once, and handed over first."""
    rules, context = session.walkaway, session.context
    is_wanted = rules is not None and not rules.over and monitor.is_watching(session)
    if not is_wanted or event.trigger != "auto" or context.held is not None:
        return session, ()
    asked = context.asked or Asked(at=now)
    context = replace(context, asked=asked, held=event.hook.id if event.hook.answerable else None)
    session = replace(session, context=context)
    if session.handoff is not None:
        return timer_fired(session, now)
    return taken_over(session, now, "it was about to compact")


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
    rules = replace(rules, rotations=rules.rotations + 1, rotated_at=now)
    session = replace(session, walkaway=rules)
    # If it fails, it is tried again.
    session = session.with_timer(TIMER, now + max(rules.deadline, rules.cooldown))
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


def _verdict(rules: WalkAway) -> str:
    """Why there is no going on, if there is none."""
    if rules.limit is not None and rules.rotations >= rules.limit:
        return f"it was handed over {rules.limit} times, as often as max_restarts allows"
    if rules.fruitless >= FRUITLESS:
        return "its new contexts fill up before anything is done in them"
    return ""


def _given_up(session: Session, why: str, now: float) -> Result:
    """A person must look: said once, to whoever started it, and shown with the session."""
    session = session.with_timer(TIMER, None)
    if session.parent is None:
        return session, ()
    words = f"{session.name} is not handed over any more: {why}. See: sm show {session.name}"
    return session, (notice(session, session.parent, "walk-away", words, now),)


def _id(session: Session, now: float) -> HandoffId:
    """The same cause always gives the same id, beside the time."""
    cause = f"{session.id}:auto:{session.context.number}.{session.context.compactions}"
    return HandoffId(handoff_name(now, derived_id(cause)))


def cut(session: Session, event: ToolEnded) -> Session:
    """End a turn that runs on though its context is to be handed over, with this answer."""
    passing = session.handoff
    is_awaited = passing is not None and passing.state is HandoffState.REQUESTED and passing.overdue
    if passing is None or not is_awaited or event.subagent or not event.hook.answerable:
        return session
    return session.with_handoff(replace(passing, cut=event.hook.id))


def is_cut(session: Session, hook: Hook) -> bool:
    """Whether this report is answered with the turn's end."""
    return session.handoff is not None and session.handoff.cut == hook.id


def is_held(session: Session, hook: Hook) -> bool:
    """Whether this report of a compaction is answered with a refusal."""
    return session.context.held == hook.id
