"""A session's passage to a fresh context: a transaction whose every step has its proof.

``requested`` by the agent itself, in a turn; when that turn is over: what it showed is captured,
the agent is told to clear, reports its new context, is given its first prompt there, and reports
that. Until then no other message reaches it. Each step has a deadline and a way back: before the
clear to the context as it was, after it to a session whose messages flow again.
"""

import shlex
from dataclasses import replace

from sm.core import delivery
from sm.core.effects import (
    CaptureArtifacts,
    CheckPane,
    ClearContext,
    Effect,
    EraseCommand,
    FileHandoff,
    RelaunchAgent,
)
from sm.core.events import (
    ArtifactsCaptured,
    ClearRefused,
    ClearTyped,
    HandoffCancelled,
    HandoffRequested,
    MessageQueued,
    RelaunchRefused,
)
from sm.core.ids import MessageId, SessionId
from sm.core.message import Message, MessageState, Mode
from sm.core.notices import derived_id, notice
from sm.core.passage import AUTO, SELF, Filed, Handoff, HandoffState
from sm.core.state import Session, State
from sm.core.terminal import Obstacle
from sm.core.waiting import is_waiting

Result = tuple[Session, tuple[Effect, ...]]

LESSON = (
    "You run inside sm, which keeps your work going when your context fills up. When sm says that "
    "it does, or at a good point to begin afresh: hand over to a fresh context of yours with a "
    "document of what it must know (for an outline: `sm handoff --template`). As the last thing in "
    "your turn run `sm handoff <file>`, or without a file `sm handoff - <<'EOF'` with the document "
    "and a line EOF behind it. Your context is then cleared, and you go on from that document."
)
"""Told to each new context, unless the configuration says otherwise."""
TIMER = "handoff"
DEADLINE = "handoff:deadline"
TASKS_WITHIN = 30.0
"""How long what runs in the background may take before the context is left all the same."""
CLEARED_WITHIN = 4.0
"""How long an agent may take to report its new context before we look again."""
ENTERS_ALLOWED = 3
ATTEMPTS_ALLOWED = 3
GIVE_UP_AFTER = 600.0
"""A dialog or a draft may stand in the way for a while; messages wait no longer than this."""
PAUSES = (0.1, 0.2, 0.5, 1.0, 1.0, 2.0, 4.0, 8.0, 15.0)
_UNHURRIED = 3
"""The first pause where it is not for a screen that is just being drawn."""
_DRAWING = (Obstacle.BUSY, Obstacle.NO_BOX)
_GONE = (Obstacle.AGENT_GONE, Obstacle.PANE_GONE, Obstacle.UNREACHABLE)
_NOT_TAKEN = "the agent does not take the command to clear"
REVIVED_WITHIN = 60.0
"""A command to clear that was given up may take effect as late as this."""


def requested(
    session: Session, event: HandoffRequested, now: float, *, by: str | None = None
) -> Result:
    """The agent asks to go on in a fresh context; the last of several requests holds."""
    known = session.handoff
    asked = event.handoff
    is_known = asked.id == session.last_handoff or any(h.id == asked.id for h in session.handoffs)
    if is_known or (known is not None and known.is_moving):
        return session, ()
    if known is not None:
        over = known.moved(
            HandoffState.SUPERSEDED, now, "superseded", f"the agent asked again: {asked.id}"
        )
        session = session.with_handoff(over)
        # A clear that was begun for the one before may still take effect.
        asked = replace(asked, tries=known.tries)
    session = delivery.put_back(_without_older_prompt(session, now))
    context = session.context
    asked = replace(
        asked,
        context=context.number,
        context_id=context.id,
        transcript=context.transcript,
    ).noted("requested", now, by or f"by the agent itself, with {asked.source}{_redacted(asked)}")
    session = replace(session, last_handoff=asked.id, given_up=None)
    return _unhurried(session.with_handoff(asked)), ()


def _redacted(asked: Handoff) -> str:
    what = "1 secret was" if asked.redacted == 1 else f"{asked.redacted} secrets were"
    return f"; {what} taken out" if asked.redacted else ""


def _unhurried(session: Session) -> Session:
    """Its turn runs: until it ends, nothing of the handoff is waited for."""
    return session.with_timer(TIMER, None).with_timer(DEADLINE, None)


def _without_older_prompt(session: Session, now: float) -> Session:
    """A first prompt that its context did not take in time tells of an older document."""
    for message in session.messages:
        if message.handoff is not None and is_waiting(session, message):
            over = message.moved(MessageState.CANCELLED, now, "the agent hands over again")
            session = session.with_message(over)
    return session


def cancelled(session: Session, event: HandoffCancelled, now: float) -> Result:
    """Withdraw a handoff, unless the agent may already have been told to clear."""
    handoff = session.handoff
    if handoff is None or handoff.id != event.id or not is_cancellable(handoff):
        return session, ()
    over = handoff.moved(HandoffState.CANCELLED, now, "cancelled", f"by {event.by}")
    session, effects = _closed(session, over, now)
    session, told = _tell_agent(session, handoff, f"it was withdrawn by {event.by}", now)
    return session, (*effects, *told)


def is_cancellable(handoff: Handoff) -> bool:
    is_early = handoff.state in (HandoffState.REQUESTED, HandoffState.CAPTURING)
    # A command that was sent off before a turn came in between may still take effect.
    return is_early and not handoff.clears


def due(session: Session, now: float) -> Result:
    """Take the next step if the agent is where it must be for it."""
    handoff = session.handoff
    if handoff is None:
        return session, ()
    if session.kill_requested:
        over = handoff.moved(HandoffState.CANCELLED, now, "cancelled", "the session is ended")
        return _closed(session, over, now)
    if session.exit is not None:
        return failed(session, "the agent is gone", now)
    if handoff.state is HandoffState.PROMPTING:
        return _arrived(session, handoff, now)
    if is_relaunching(session):
        # Its agent is being ended: whatever it still begins goes with it.
        return session, ()
    if session.turn is not None:
        return _put_off(session, handoff, now), ()
    if session.timer(DEADLINE) is None:
        session = session.with_timer(DEADLINE, now + GIVE_UP_AFTER)
    if session.dialog is not None:
        return _deferred(session, handoff, now, "a dialog came"), ()
    if handoff.state is HandoffState.REQUESTED and session.state is State.IDLE:
        return _turn_over(session, handoff, now)
    return session, ()


def _put_off(session: Session, handoff: Handoff, now: float) -> Session:
    """A turn runs: what waited for its end waits again, background tasks too."""
    if handoff.waited:
        handoff = replace(handoff, waited=False)
        session = session.with_handoff(handoff)
    return _unhurried(_deferred(session, handoff, now, "a turn began"))


def _deferred(session: Session, handoff: Handoff, now: float, why: str) -> Session:
    """Something came before the context was cleared: back to waiting."""
    if handoff.state is HandoffState.REQUESTED:
        return session
    waiting = handoff.moved(HandoffState.REQUESTED, now, "deferred", f"{why} before the clear")
    return session.with_handoff(replace(waiting, enters=0)).with_timer(TIMER, None)


def _turn_over(session: Session, handoff: Handoff, now: float) -> Result:
    """What must be settled before the context may go; then keep what it leaves behind."""
    if session.attempt is not None:
        # A message that is half given: what became of it must be known before its context ends.
        return delivery.hastened(session, now), ()
    if session.timer(TIMER) is not None:
        return session, ()
    if session.tasks and not handoff.waited:
        waiting = handoff.noted("waiting", now, f"still running: {', '.join(session.tasks)}")
        session = session.with_handoff(replace(waiting, waited=True))
        return session.with_timer(TIMER, now + TASKS_WITHIN), ()
    ended_at = session.turn_ended_at if session.turn_ended_at > handoff.requested_at else now
    capturing = handoff.moved(HandoffState.CAPTURING, ended_at, "ended", "the turn is over")
    session = session.with_handoff(replace(capturing, tasks=session.tasks))
    return session, (CaptureArtifacts(handoff=handoff.id),)


def captured(session: Session, event: ArtifactsCaptured, now: float) -> Result:
    """What the agent showed is kept: now its context may go."""
    handoff = session.handoff
    is_awaited = handoff is not None and handoff.state is HandoffState.CAPTURING
    if handoff is None or not is_awaited or handoff.id != event.handoff:
        return session, ()
    handoff = replace(
        handoff.noted("captured", now, event.evidence),
        document=event.document or handoff.document,
        log=handoff.log or event.log,
        dump=event.dump,
        artifacts=event.artifacts,
    )
    return _leave(session, handoff, now)


def capture_failed(session: Session, error: str, now: float) -> Result:
    """A handoff does not fail because a snapshot did."""
    handoff = session.handoff
    if handoff is None or handoff.state is not HandoffState.CAPTURING:
        return session, ()
    return _leave(session, handoff.noted("captured", now, f"nothing: {error}"), now)


def _leave(session: Session, handoff: Handoff, now: float) -> Result:
    """The context may go; but not without a document for the next one."""
    if handoff.document:
        session, effects = _clear(session, handoff)
        return session, (_filed(handoff, Filed.CLAIMED), *effects)
    session = session.with_handoff(handoff)
    return failed(session, f"no document could be written ({handoff.steps[-1].evidence})", now)


def _clear(session: Session, handoff: Handoff) -> Result:
    """Begin to type the agent's own command for a fresh context."""
    clearing = replace(handoff, state=HandoffState.CLEARING, tries=handoff.tries + 1, enters=0)
    session = session.with_handoff(clearing).with_timer(TIMER, None)
    if session.wrapped:
        return session, (RelaunchAgent(handoff=clearing.id),)
    return session, (_clear_context(clearing),)


def is_relaunching(session: Session) -> bool:
    """Whether its agent is being ended so that it can be started again."""
    handoff = session.handoff
    is_left = handoff is not None and handoff.state is HandoffState.CLEARING
    return session.wrapped and is_left and not session.kill_requested


def _clear_context(handoff: Handoff) -> ClearContext:
    return ClearContext(mark=handoff.mark, number=handoff.enters + 1, stash=handoff.draft)


def typed(session: Session, event: ClearTyped, now: float) -> Result:
    handoff = in_hand(session, event.mark)
    if handoff is None:
        return session, ()
    entered = replace(handoff, enters=handoff.enters + 1, draft="")
    entered = entered.noted("entered", now, event.evidence)
    return session.with_handoff(entered).with_timer(TIMER, now + CLEARED_WITHIN), ()


def refused(session: Session, event: ClearRefused, now: float) -> Result:
    """Nothing was sent off. The handoff waits, and says why."""
    handoff = in_hand(session, event.mark)
    if handoff is None:
        return session, ()
    if event.obstacle is Obstacle.NOT_SHOWN:
        # The command is not in the box, and no new context was reported: it was swallowed.
        lost = handoff.noted("lost", now, event.obstacle.words)
        if sum(step.step == "lost" for step in lost.steps) >= ATTEMPTS_ALLOWED:
            return failed(session, _NOT_TAKEN, now)
        return _clear(session, lost)
    held = handoff
    if not handoff.steps or handoff.steps[-1].evidence != event.obstacle.words:
        held = handoff.noted("held", now, event.obstacle.words)
    held = replace(held, draft=event.draft)
    if event.obstacle is Obstacle.DIALOG:
        session = replace(session, dialog=event.obstacle.words)
    tried = session.refusals + (0 if event.obstacle in _DRAWING else _UNHURRIED)
    pause = PAUSES[min(tried, len(PAUSES) - 1)]
    session = replace(session, refusals=session.refusals + 1)
    effects = (CheckPane(),) if event.obstacle in _GONE else ()
    return session.with_handoff(held).with_timer(TIMER, now + pause), effects


def timer_fired(session: Session, key: str, now: float) -> Result:
    """A wait is over: look again, or give up."""
    handoff = session.handoff
    if handoff is None:
        return session, ()
    if key == DEADLINE:
        return failed(session, _too_long(session, handoff), now)
    if handoff.state is HandoffState.CLEARING:
        if handoff.enters >= ENTERS_ALLOWED:
            return failed(session, _NOT_TAKEN, now)
        return session, (_clear_context(handoff),)
    # ``due`` goes on with it.
    return session, ()


def _too_long(session: Session, handoff: Handoff) -> str:
    if handoff.state is HandoffState.PROMPTING:
        return "the new context did not take its first prompt in time"
    return f"its context was not cleared in time: {why_open(session, handoff) or _NOT_TAKEN}"


def effect_failed(session: Session, now: float) -> Session:
    """A look or a key ended in an error nobody foresaw: ask again, under the same mark."""
    handoff = session.handoff
    if handoff is None or handoff.state is not HandoffState.CLEARING:
        return session
    return session.with_timer(TIMER, now + CLEARED_WITHIN)


def context_replaced(session: Session, now: float, evidence: str, began_at: float) -> Result:
    """The agent reported a new context: the one we asked for, or somebody else's doing."""
    handoff = session.handoff
    if handoff is None or handoff.context == session.context.number:
        return session, ()
    if handoff.state is HandoffState.REQUESTED and began_at < handoff.requested_at:
        # The report came late: it was asked for in this context, which is still to be left.
        context = session.context
        here = replace(
            handoff, context=context.number, context_id=context.id, transcript=context.transcript
        )
        return session.with_handoff(replace(here, tries=0)), ()
    if handoff.state is HandoffState.PROMPTING:
        # Cleared once more, by a person: the prompt goes where the agent is now.
        return session, ()
    if not handoff.clears:
        over = handoff.moved(
            HandoffState.CANCELLED, now, "cancelled", "somebody else cleared the context first"
        )
        return _closed(session, over, now)
    message = first_prompt(session, handoff, now)
    cleared = handoff.moved(HandoffState.PROMPTING, now, "cleared", evidence)
    session = session.with_handoff(replace(cleared, message=message.id)).with_timer(TIMER, None)
    session = session.with_timer(DEADLINE, now + GIVE_UP_AFTER)
    session = replace(session, refusals=0).with_timer("retry", None)
    session, given = delivery.queued(session, MessageQueued(message=message), now)
    return session, (*given, _filed(cleared, Filed.CLAIMED))


def revived(session: Session, now: float) -> Session:
    """The session with a handoff whose command took effect after it was given up."""
    given_up = session.given_up
    if given_up is None:
        return session
    session = replace(session, given_up=None)
    if session.handoff is not None or now - given_up.steps[-1].at > REVIVED_WITHIN:
        return session
    # What was about to be given goes behind the first prompt.
    session = delivery.held_back(session)
    failure = session.message(_failure_id(session, given_up))
    if failure is not None and is_waiting(session, failure):
        over = failure.moved(MessageState.CANCELLED, now, "the context was cleared after all")
        session = session.with_message(over)
    again = given_up.moved(HandoffState.CLEARING, now, "revived", "its command took effect late")
    return session.with_handoff(again)


def relaunch_refused(session: Session, event: RelaunchRefused, now: float) -> Result:
    """Its agent could not be started again, and was not ended: it goes on where it is."""
    handoff = session.handoff
    if handoff is None or handoff.id != event.handoff or not is_relaunching(session):
        return session, ()
    return failed(session, event.reason, now)


def outlived(handoff: Handoff, survivors: tuple[str, ...]) -> Handoff:
    """The handoff with what the agent left running when it was ended."""
    return replace(handoff, tasks=(*handoff.tasks, *survivors)) if survivors else handoff


def first_prompt(session: Session, handoff: Handoff, now: float) -> Message:
    """What its new context is told first."""
    return Message(
        # The same cause always gives the same id: it cannot be told twice.
        id=derived_id(f"{session.id}:handoff:{handoff.id}"),
        to=session.id,
        sender_name="sm",
        mode=Mode.IMPORTANT,
        text=first_words(session, handoff),
        queued_at=now,
        notify=False,
        handoff=handoff.id,
    )


def _arrived(session: Session, handoff: Handoff, now: float) -> Result:
    """Whether the agent has reported its first prompt."""
    message = session.message(handoff.message) if handoff.message is not None else None
    if message is None or message.state in (MessageState.QUEUED, MessageState.OFFERED):
        is_given = message is not None and message.state is MessageState.OFFERED
        if is_given and not any(step.step == "prompted" for step in handoff.steps):
            return session.with_handoff(handoff.noted("prompted", now, _how(session))), ()
        return session, ()
    if message.state not in (MessageState.ACCEPTED, MessageState.DONE):
        return failed(session, f"its first prompt was {message.state.value}", now)
    accepted = next(r for r in reversed(message.receipts) if r.step == MessageState.ACCEPTED)
    if not any(step.step == "prompted" for step in handoff.steps):
        handoff = handoff.noted("prompted", now, _how(session))
    done = handoff.noted("accepted", accepted.at, accepted.evidence)
    done = done.moved(
        HandoffState.DONE, now, "done", f"context {session.context.number} goes on with it"
    )
    return _closed(session, done, now)


def _how(session: Session) -> str:
    return "given to it at its start" if session.wrapped else "typed"


def failed(session: Session, reason: str, now: float) -> Result:
    """The way back: messages flow again, and whoever must know is told."""
    handoff = session.handoff
    if handoff is None:
        return session, ()
    over = handoff.moved(HandoffState.FAILED, now, "failed", reason)
    is_cleared = handoff.state is HandoffState.PROMPTING
    session, effects = _closed(session, over, now)
    if session.alive and not is_cleared:
        session, more = _tell_agent(session, handoff, reason, now)
        effects = (*effects, *more)
    if session.alive and handoff.clears and not session.wrapped:
        # What is left in the box must not be sent off by a person's next Enter.
        session = replace(session, given_up=over)
        effects = (EraseCommand(mark=handoff.mark), *effects)
    if session.parent is not None:
        effects = (*effects, _tell(session, session.parent, handoff, reason, now))
    return session, effects


def _tell_agent(session: Session, handoff: Handoff, reason: str, now: float) -> Result:
    message = Message(
        id=_failure_id(session, handoff),
        to=session.id,
        sender_name="sm",
        text=f"[sm handoff] {_whose(handoff)} {handoff.id} was not carried out: {reason}. "
        "You go on in the same context; run `sm handoff <path>` again when you want to.",
        queued_at=now,
        notify=False,
    )
    return delivery.queued(session, MessageQueued(message=message), now)


def _whose(handoff: Handoff) -> str:
    return "Your handoff" if handoff.kind == SELF else "sm's handoff for you,"


def _failure_id(session: Session, handoff: Handoff) -> MessageId:
    return derived_id(f"{session.id}:handoff failed:{handoff.id}")


def _tell(session: Session, to: SessionId, handoff: Handoff, reason: str, now: float) -> Effect:
    words = f"{session.name}'s handoff failed: {reason}. See: sm handoffs show {handoff.id}"
    return notice(session, to, f"handoff {handoff.id}", words, now)


def _closed(session: Session, handoff: Handoff, now: float) -> Result:
    session = _unhurried(replace(session.with_handoff(handoff), refusals=0))
    effects = _put_down(session, handoff)
    if session.turn is not None:
        return session, effects
    # Their turn is over, and nothing goes on with it: now their senders are told.
    session, told = delivery.finish_accepted(session, now, how="its turn ended")
    return session, (*effects, *told)


def _put_down(session: Session, handoff: Handoff) -> tuple[Effect, ...]:
    """What its channel is told of a handoff that is over, if it was ever told of it."""
    if not any(step.step == "captured" for step in handoff.steps) or not handoff.document:
        return ()
    if handoff.state is HandoffState.DONE:
        return (_filed(handoff, Filed.CONSUMED),)
    # An agent that died on the way may have taken it in: its own record tells. And a command to
    # clear may still take effect.
    is_moot = session.alive and handoff.tries == 0
    return (_filed(handoff, Filed.CLEARED),) if is_moot else ()


def _filed(handoff: Handoff, status: Filed) -> Effect:
    return FileHandoff(handoff=handoff.id, status=status, was=handoff)


def recorded(session: Session) -> tuple[Effect, ...]:
    """Its new context has a record: by it the channel can tell what became of the handoff."""
    handoff = session.handoff
    if handoff is None or handoff.state is not HandoffState.PROMPTING:
        return ()
    return (_filed(handoff, Filed.CLAIMED),)


def in_hand(session: Session, mark: str) -> Handoff | None:
    """The handoff that is being cleared under this mark."""
    handoff = session.handoff
    is_it = handoff is not None and handoff.state is HandoffState.CLEARING and handoff.mark == mark
    return handoff if is_it else None


def why_open(session: Session, handoff: Handoff) -> str | None:
    """Why a handoff has not come further yet, in words for a person."""
    if not handoff.is_open:
        return None
    last = handoff.steps[-1] if handoff.steps else None
    if last is not None and last.step == "held":
        return last.evidence
    if handoff.state is HandoffState.PROMPTING and handoff.message is not None:
        message = session.message(handoff.message)
        return message.held if message is not None else None
    if handoff.state is HandoffState.REQUESTED:
        if session.dialog is not None:
            return Obstacle.DIALOG.words
        if session.turn is not None:
            return "the turn is not over"
        if session.attempt is not None:
            return f"message {session.attempt.message} is half given"
        return f"still running: {', '.join(session.tasks)}" if session.tasks else None
    return None


def first_words(session: Session, handoff: Handoff) -> str:
    """The first prompt of the new context."""
    is_ours = handoff.kind == AUTO
    log = shlex.quote(handoff.log)
    searched = f'search it only if you need a specific detail: grep -a "keyword" {log}'
    lines = [
        _loaded(handoff) if is_ours else f"Read {handoff.document} and continue {_WHERE}.",
        "",
        f"Full session log (complete since start, raw bytes): {handoff.log}",
        f"Don't read this file — {searched}",
    ]
    if handoff.dump is not None:
        lines += [
            f"Readable terminal transcript of your last context: {handoff.dump}",
            "Don't read this proactively — grep it if needed.",
        ]
    if handoff.tasks:
        lines.append(f"Still running in the background then: {'; '.join(handoff.tasks)}")
    lines.append(
        f"This is context {session.context.number} of session {session.name}; "
        f"{'sm' if is_ours else 'you'} wrote the document in context {handoff.context}"
        f" (handoff {handoff.id})."
    )
    return "\n".join(lines)


_WHERE = "from where you left off"


def _loaded(handoff: Handoff) -> str:
    return (
        f"Continue {_WHERE}. Your work so far was loaded into this context (handoff {handoff.id});"
        f" if you do not see it, or need more of it, read {handoff.document}"
    )
