"""When a queued message may be given to an agent, by which route, and what proves that it arrived.

The gentlest route that fits is taken: the answer to a turn's end, the result of a tool, a note in
the inbox, typing; an interrupt comes last. Typing is a conversation in steps: paste, Enter, wait
for the agent's own report. Each step looks before it acts, so it can be asked again after any
crash. A message is given a second time only after the agent was searched for it in vain.
"""

from dataclasses import replace

from sm.core.effects import (
    CheckPane,
    Effect,
    InterruptTurn,
    PasteText,
    PressEnter,
    RingBell,
    SeekMessage,
)
from sm.core.envelope import length as _length
from sm.core.events import (
    BellRung,
    EnterPressed,
    MessageCancelled,
    MessageQueued,
    MessageSought,
    TextPasted,
    TurnInterrupted,
    TypingRefused,
)
from sm.core.ids import MessageId, PromptId
from sm.core.message import Message, MessageState, Mode, Route
from sm.core.notices import notice
from sm.core.reports import Hook
from sm.core.state import Attempt, Blocked, Session, State, Step, Turn
from sm.core.terminal import Obstacle, Place
from sm.core.waiting import is_overdue, is_waiting, waiting

Result = tuple[Session, tuple[Effect, ...]]

CONFIRM_WITHIN = 2.0
"""How long an agent may take to report a prompt before we look for it."""
ASK_AGAIN_AFTER = 0.5
MISSES_ALLOWED = 4
"""Searches in vain, a confirm period apart, before a message is typed again."""
ENTERS_ALLOWED = 3
INTERRUPT_WITHIN = 3.0
PAUSES = (1.0, 1.0, 2.0, 4.0, 8.0, 15.0)
DRAWING = (0.05, 0.1, 0.2, 0.5, *PAUSES)
"""An agent reports a turn's end a moment before its screen shows it."""
UNPROVED_PAUSE = 0.5
ANSWER_WITHIN = 4.0
"""An agent's hook waits for our answer a little longer than this, then goes without one."""
STOP_REPLIES_ALLOWED = 7
"""Claude Code overrides the ninth answer in a row that keeps it from stopping."""
RECORDED = (0.25, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
"""An agent writes what an answer told it into its record a moment later."""
NOTE_TAKEN_WITHIN = 4.0
QUOTED = 200
"""Characters of an agent's last words in a notice."""
_GENTLE = (Step.REPLIED, Step.RINGING, Step.RUNG)


def queued(session: Session, event: MessageQueued, now: float) -> Result:
    """A message joins the queue; one that is already there is the same message, sent again."""
    if session.message(event.message.id) is not None:
        return session, ()
    message = replace(event.message, number=session.next_number).noted(
        MessageState.QUEUED.value, now, "stored by sm"
    )
    session = replace(session, next_number=session.next_number + 1).with_message(message)
    if message.expires_at is not None:
        session = session.with_timer(f"expire:{message.id}", message.expires_at)
    if message.mode is Mode.URGENT:
        session = session.with_timer("retry", None)
    return session, ()


def cancelled(session: Session, event: MessageCancelled, now: float) -> Result:
    """Withdraw a message, unless the agent may already have it."""
    message = session.message(event.message)
    if message is None or not is_waiting(session, message):
        return session, ()
    return session.with_message(
        message.moved(MessageState.CANCELLED, now, "withdrawn by a person")
    ), ()


def overdue_expired(session: Session, now: float) -> Session:
    """No message is given from its deadline on, however late its timer rings."""
    for message in session.messages:
        if not is_overdue(message, now):
            continue
        if session.attempt is not None and session.attempt.message == message.id:
            # No turn is cut short for it any more.
            session = put_back(session)
        if is_waiting(session, message):
            session = session.with_message(
                message.moved(MessageState.EXPIRED, now, "not given before its deadline")
            )
    return session


def accept(
    session: Session, message_id: MessageId | None, prompt: PromptId | None, now: float, why: str
) -> Session:
    """The agent itself reported the message."""
    message = session.message(message_id) if message_id is not None else None
    if message is None or message.state not in (MessageState.QUEUED, MessageState.OFFERED):
        return session
    accepted = replace(message.moved(MessageState.ACCEPTED, now, why), prompt=prompt)
    session = session.with_message(accepted)
    if session.attempt is not None and session.attempt.message == message.id:
        session = _let_go(session)
    return session


def finish_accepted(session: Session, now: float, *, how: str) -> Result:
    """The turn is over: accepted messages are done, and each sender is told once."""
    accepted = [m for m in session.messages if m.state is MessageState.ACCEPTED]
    return _finish(session, accepted, now, how=how)


def has_taken(session: Session) -> bool:
    """Whether a turn has taken messages that are not done."""
    return any(message.state is MessageState.ACCEPTED for message in session.messages)


def settled(session: Session, blocked: tuple[Blocked, ...], now: float) -> Result:
    """A turn ended without a word: what it took is done, but for what never reached the model."""
    told: list[Effect] = []
    for one in blocked:
        message = session.message(one.message)
        if message is not None and message.state is MessageState.ACCEPTED:
            why = f"another hook kept it from the model: {one.words}"
            session = session.with_message(message.moved(MessageState.REFUSED, now, why))
            told += _told_of_refusal(session, message, why, now)
    if goes_on(session):
        return session, tuple(told)
    session, done = finish_accepted(session, now, how="its turn ended without a word")
    return session, (*told, *done)


def _told_of_refusal(session: Session, message: Message, why: str, now: float) -> list[Effect]:
    sender = message.sender
    if sender is None or not message.notify or sender == session.id:
        return []
    words = f"{session.name} did not get your message {message.id}: {why}"
    return [notice(session, sender, f"{message.id} refused", words, now)]


def goes_on(session: Session) -> bool:
    """Whether a handoff is under way: the end of a turn is not the end of its work."""
    return session.handoff is not None and session.exit is None and not session.kill_requested


def finish_one(session: Session, message_id: MessageId | None, now: float, *, how: str) -> Result:
    """One accepted message is done; the turn of the others may still run."""
    if goes_on(session):
        return session, ()
    accepted = [m for m in session.messages if m.state is MessageState.ACCEPTED]
    return _finish(session, [m for m in accepted if m.id == message_id], now, how=how)


def _finish(session: Session, done: list[Message], now: float, *, how: str) -> Result:
    for message in done:
        session = session.with_message(message.moved(MessageState.DONE, now, how))
    senders = {m.sender: m for m in done if m.notify and m.sender not in (None, session.id)}
    head = f"{session.name} stopped: "
    words, longest = f"{head}{session.last_words or how}", len(head) + QUOTED
    told = (
        notice(session, to, m.id, words, now, longest=longest) for to, m in senders.items() if to
    )
    return session, tuple(told)


def due(session: Session, now: float) -> Result:
    """Begin with the next message if nothing stands in the way."""
    session = overdue_expired(session, now)
    if session.state is State.ENDED:
        return _refuse_all(session, now), ()
    attempt = session.attempt
    if attempt is not None:
        if attempt.step is Step.INTERRUPTING and session.turn is None:
            return _paste(session, attempt, now)
        return session, ()
    found = waiting(session, now)
    if not found or session.timer("retry") is not None or not session.alive:
        return session, ()
    return _begin(session, found[0], now)


_OPEN_TO_PROMPTS = (State.IDLE, State.ROTATING, State.RECOVERING)


def _begin(session: Session, message: Message, now: float) -> Result:
    can_paste = session.state in _OPEN_TO_PROMPTS or not session.proves
    can_paste = can_paste and (session.ready or not session.proves)
    if can_paste and not session.lost and session.allows(Route.PASTE):
        return _paste(session, _attempt(session, message, Route.PASTE, Step.PASTING, now), now)
    if can_paste and can_ring(session, message):
        return _ring(session, message, now)
    if message.mode is Mode.URGENT and session.state is State.WORKING:
        if rides_along(session, message):
            return session, ()
        if can_ring(session, message):
            return _ring(session, message, now)
        if session.allows(Route.INTERRUPT):
            return _interrupt(session, message, now)
    return session, ()


def rides_along(session: Session, message: Message) -> bool:
    """Whether the next tool result can carry it."""
    return session.allows(Route.TOOL_RESULT) and session.allows(Route.TOOL_RESULT, _length(message))


def can_ring(session: Session, message: Message) -> bool:
    return (
        session.bell
        and message.handoff is None
        and session.allows(Route.DOORBELL)
        and session.allows(Route.DOORBELL, _length(message))
    )


# --- answers to hooks ----------------------------------------------------------------------


def answer_stop(session: Session, hook: Hook, now: float) -> Session:
    """A turn ended and the agent waits for our word: the next message keeps it going."""
    if session.stop_replies >= STOP_REPLIES_ALLOWED or session.leaving:
        return session
    message = next(iter(waiting(session, now)), None)
    if message is None or not _may_answer(session, hook, Route.STOP_REPLY, message, now):
        return session
    session = replace(
        session,
        # It goes on when it has our answer: its own report again is of before that.
        turn=Turn(prompt=hook.prompt, started_at=now),
        # The agent gives what follows the same prompt id.
        ended_prompts=tuple(p for p in session.ended_prompts if p != hook.prompt),
        stop_replies=session.stop_replies + 1,
    )
    return _answer(session, message, hook, Route.STOP_REPLY, now)


def answer_tool(session: Session, hook: Hook, tool_use: str, now: float) -> Session:
    """A tool ended in a running turn: urgent news goes to the model beside its result."""
    message = next(iter(waiting(session, now)), None)
    if message is None or message.mode is not Mode.URGENT or session.turn is None:
        return session
    if not _may_answer(session, hook, Route.TOOL_RESULT, message, now):
        return session
    return _answer(session, message, hook, Route.TOOL_RESULT, now, tool_use=tool_use)


def _may_answer(session: Session, hook: Hook, route: Route, message: Message, now: float) -> bool:
    is_awaited = hook.answerable and now - hook.at < ANSWER_WITHIN
    is_free = session.attempt is None and session.alive and not session.kill_requested
    # A context's first prompt is to be a prompt.
    is_free = is_free and message.handoff is None
    return is_awaited and is_free and session.allows(route, _length(message))


def _answer(
    session: Session, message: Message, hook: Hook, route: Route, now: float, *, tool_use: str = ""
) -> Session:
    attempt = replace(
        _attempt(session, message, route, Step.REPLIED, now),
        hook=hook.id,
        prompt=hook.prompt,
        tool_use=tool_use or None,
    )
    offered = replace(message, attempts=attempt.number, route=route).moved(
        MessageState.OFFERED, now, f"{route.value} to {hook.name}"
    )
    session = replace(session, attempt=attempt).with_message(offered)
    return session.with_timer("confirm", now + RECORDED[0])


# --- the doorbell --------------------------------------------------------------------------


def _ring(session: Session, message: Message, now: float) -> Result:
    attempt = _attempt(session, message, Route.DOORBELL, Step.RINGING, now)
    session = replace(session, attempt=attempt).with_message(
        replace(message, attempts=attempt.number, route=Route.DOORBELL)
    )
    session = session.with_timer("confirm", None)
    return session, (RingBell(mark=attempt.mark, message=message.id),)


def rung(session: Session, event: BellRung, now: float) -> Result:
    attempt, message = _in_hand(session, event.mark)
    if attempt is None or message is None or attempt.step is not Step.RINGING:
        return session, ()
    offered = message.moved(MessageState.OFFERED, now, f"doorbell {event.mark}")
    session = replace(session, attempt=replace(attempt, step=Step.RUNG), refusals=0)
    session = session.with_message(offered)
    return session.with_timer("confirm", now + NOTE_TAKEN_WITHIN), ()


# --- typing --------------------------------------------------------------------------------


def _interrupt(session: Session, message: Message, now: float) -> Result:
    turn = session.turn
    if turn is None:
        return session, ()
    if not turn.acted:
        # Interrupted before its first output, an agent puts the prompt back into its box: the
        # message in it would be undone. The first tool call, or the turn's end, is soon enough.
        return session, ()
    attempt = _attempt(session, message, Route.INTERRUPT, Step.INTERRUPTING, now)
    session = replace(session, attempt=attempt).with_message(
        replace(message, attempts=attempt.number, route=Route.INTERRUPT)
    )
    return session, (InterruptTurn(mark=attempt.mark, prompt=turn.prompt),)


def record_begun(session: Session, transcript: str | None) -> Session:
    """A new record of the agent's: the message in hand may come to stand there, too."""
    attempt = session.attempt
    if attempt is None or transcript is None or transcript in attempt.transcripts:
        return session
    transcripts = (*attempt.transcripts, transcript)
    return replace(session, attempt=replace(attempt, transcripts=transcripts))


def _attempt(session: Session, message: Message, route: Route, step: Step, now: float) -> Attempt:
    transcript = session.context.transcript
    return Attempt(
        message=message.id,
        number=message.attempts + 1,
        route=route,
        step=step,
        since=now,
        transcripts=() if transcript is None else (transcript,),
    )


def _paste(session: Session, attempt: Attempt, now: float) -> Result:
    message = session.message(attempt.message)
    if message is None:
        return _let_go(session), ()
    attempt = replace(attempt, step=Step.PASTING, since=now)
    session = replace(session, attempt=attempt).with_message(
        replace(message, attempts=attempt.number, route=attempt.route)
    )
    session = session.with_timer("confirm", None)
    return session, (_paste_text(session, attempt, message),)


def _paste_text(session: Session, attempt: Attempt, message: Message) -> PasteText:
    return PasteText(mark=attempt.mark, message=message.id, stash=session.draft)


def pasted(session: Session, event: TextPasted, now: float) -> Result:
    attempt, message = _in_hand(session, event.mark)
    if attempt is None or message is None or attempt.step is not Step.PASTING:
        return session, ()
    offered = message.moved(MessageState.OFFERED, now, f"{attempt.route.value} {event.mark}")
    entering = replace(attempt, step=Step.ENTERING)
    session = replace(session, attempt=entering, refusals=0, draft="", lost=False)
    return session.with_message(offered), (press(attempt),)


def press(attempt: Attempt) -> PressEnter:
    return PressEnter(mark=attempt.mark, message=attempt.message, number=attempt.enters + 1)


def entered(session: Session, event: EnterPressed, now: float) -> Result:
    attempt, message = _in_hand(session, event.mark)
    if attempt is None or message is None:
        return session, ()
    session = session.with_message(message.noted("entered", now, event.evidence))
    if not session.proves:
        return _leave_unproved(session, now), ()
    attempt = replace(attempt, step=Step.ENTERED, enters=attempt.enters + 1)
    return replace(session, attempt=attempt).with_timer("confirm", now + CONFIRM_WITHIN), ()


def refused(session: Session, event: TypingRefused, now: float) -> Result:
    """Nothing was typed. The message waits, and says why."""
    attempt, message = _in_hand(session, event.mark)
    if attempt is None or message is None:
        return session, ()
    session = session.with_message(replace(message, held=event.obstacle.words))
    session = replace(session, draft=event.draft)
    effects: tuple[Effect, ...] = ()
    if event.obstacle in (Obstacle.AGENT_GONE, Obstacle.PANE_GONE, Obstacle.UNREACHABLE):
        effects = (CheckPane(),)
    if event.obstacle is Obstacle.DIALOG:
        session = replace(session, dialog=event.obstacle.words)
    if attempt.step is Step.PASTING and event.obstacle is Obstacle.UNREACHABLE:
        # tmux may still carry the paste out: ask again under the same mark, never a new one.
        return session.with_timer("confirm", now + ASK_AGAIN_AFTER), effects
    if attempt.step is Step.PASTING and _had_better_ring(session, event.obstacle):
        held = session.message(message.id) or message
        if can_ring(session, held):
            return _ring(_let_go(session), held, now)
    if attempt.step is Step.RINGING:
        return _pause(_let_go(session), now), effects
    if attempt.step in (Step.PASTING, Step.INTERRUPTING):
        is_drawing = event.obstacle in (Obstacle.BUSY, Obstacle.NO_BOX)
        return _pause(_let_go(session), now, DRAWING if is_drawing else PAUSES), effects
    # The text is in the box or on its way there: look for it again before anything else.
    session = replace(session, attempt=replace(attempt, step=Step.ENTERED))
    return session.with_timer("confirm", now + CONFIRM_WITHIN), effects


_RING_INSTEAD = frozenset({Obstacle.DRAFT, Obstacle.COPY_MODE})
"""Where typing would disturb a person and a note in the inbox does not."""


def _had_better_ring(session: Session, obstacle: Obstacle) -> bool:
    # A box that does not come for long is one we do not know: another version's, perhaps.
    is_unknown = obstacle is Obstacle.NO_BOX and session.refusals >= len(DRAWING) - len(PAUSES)
    return session.alive and (obstacle in _RING_INSTEAD or is_unknown)


def interrupted(session: Session, event: TurnInterrupted, now: float) -> Result:
    attempt, _ = _in_hand(session, event.mark)
    if attempt is None or attempt.step is not Step.INTERRUPTING:
        return session, ()
    return session.with_timer("confirm", now + INTERRUPT_WITHIN), ()


def confirm_due(session: Session, now: float) -> Result:
    """The agent has not reported in time: look where the message is."""
    attempt = session.attempt
    message = session.message(attempt.message) if attempt is not None else None
    if attempt is None or message is None:
        return session, ()
    if attempt.step is Step.INTERRUPTING:
        return _pause(_let_go(session), now), ()
    if attempt.step is Step.PASTING:
        return session, (_paste_text(session, attempt, message),)
    if attempt.step is Step.RINGING:
        return session, (RingBell(mark=attempt.mark, message=attempt.message),)
    if not session.proves and session.alive:
        # There is no record to search and no box to read: the same Enter is asked for again.
        return session, (press(attempt),)
    return session, (SeekMessage(mark=attempt.mark, message=attempt.message),)


def sought(session: Session, event: MessageSought, now: float) -> Result:
    attempt, message = _in_hand(session, event.mark)
    if attempt is None or message is None:
        return session, ()
    match event.place:
        case Place.TRANSCRIPT:
            return _found(session, attempt, now, event.evidence)
        case Place.BOX if attempt.enters < ENTERS_ALLOWED:
            session = replace(session, attempt=replace(attempt, misses=0, step=Step.ENTERING))
            return session, (press(attempt),)
        case Place.WITHDRAWN:
            if session.handoff is None and session.allows(Route.PASTE):
                # Its inbox is not watched after all: the next route is typing. Where nothing may
                # be typed it is rung again: what lay there before the watch began is no news.
                session = replace(session, bell=False)
            return _give_again(session, message, now, event.evidence), ()
        case Place.NOWHERE if attempt.misses + 1 >= MISSES_ALLOWED:
            return _give_again(session, message, now, event.evidence), ()
        case Place.NOWHERE:
            attempt = replace(attempt, misses=attempt.misses + 1)
        case Place.CANNOT_LOOK if not session.alive and attempt.looks >= MISSES_ALLOWED:
            ended = message.moved(MessageState.REFUSED, now, f"never reported: {event.evidence}")
            return _let_go(session.with_message(ended)), ()
        case Place.BOX | Place.CANNOT_LOOK:
            session = session.with_message(replace(message, held=event.evidence))
            attempt = replace(attempt, looks=attempt.looks + 1)
    return replace(session, attempt=attempt).with_timer("confirm", now + _next_look(attempt)), ()


def _next_look(attempt: Attempt) -> float:
    if attempt.step in _GENTLE:
        return RECORDED[min(attempt.misses + attempt.looks, len(RECORDED) - 1)]
    tried = attempt.misses + attempt.enters + attempt.looks
    return max(PAUSES[min(tried, len(PAUSES) - 1)], CONFIRM_WITHIN)


def _found(session: Session, attempt: Attempt, now: float, evidence: str) -> Result:
    """Its own record shows that the agent took the message, though no hook told us."""
    session = accept(session, attempt.message, attempt.prompt, now, evidence)
    if not session.alive:
        return finish_accepted(session, now, how="the agent is gone")
    if attempt.step is Step.REPLIED:
        is_over = session.turn is None or session.turn.prompt != attempt.prompt
        how = "its turn had already ended"
        return finish_one(session, attempt.message, now, how=how) if is_over else (session, ())
    if attempt.step is Step.RUNG and session.turn is not None:
        # It came in the middle of this turn, or as its prompt.
        return session, ()
    if attempt.step is Step.RUNG and session.news_since > attempt.since:
        return finish_one(session, attempt.message, now, how="its turn had already ended")
    # A turn that late hooks told of began before this message was typed: it is not this one.
    if session.turn is None or session.turn.started_at < attempt.since:
        session = replace(session, turn=Turn(prompt=None, started_at=attempt.since))
    return session, ()


def _give_again(session: Session, message: Message, now: float, evidence: str) -> Session:
    again = message.noted("lost", now, evidence)
    again = replace(again, state=MessageState.QUEUED)
    return _pause(_let_go(session.with_message(again)), now)


def hastened(session: Session, now: float) -> Session:
    """A note in the inbox is looked for at once, to be taken back if nobody has taken it yet."""
    attempt, confirm = session.attempt, session.timer("confirm")
    if attempt is None or attempt.step is not Step.RUNG or attempt.looks:
        # What was typed or taken is looked for as ever: its agent may need that time.
        return session
    if confirm is None or confirm.due <= now:
        # It is being looked for.
        return session
    return session.with_timer("confirm", now)


def put_back(session: Session) -> Session:
    """A message whose turn was only to be interrupted: nothing of it was given yet."""
    attempt = session.attempt
    is_ungiven = attempt is not None and attempt.step is Step.INTERRUPTING
    return _let_go(session) if is_ungiven else session


def held_back(session: Session) -> Session:
    """A message that was only asked to be typed, too: what is not in hand is not typed."""
    attempt = session.attempt
    is_asked = attempt is not None and attempt.step is Step.PASTING
    return _let_go(session) if is_asked else put_back(session)


def typing_failed(session: Session, now: float) -> Session:
    """A step of typing ended in an error nobody foresaw: ask again later, under the same mark."""
    if session.attempt is None or session.timer("confirm") is not None:
        return session
    return session.with_timer("confirm", now + CONFIRM_WITHIN)


def agent_gone(session: Session) -> Result:
    """The agent died with a message in hand: its own record decides what became of it."""
    attempt = session.attempt
    if attempt is None or attempt.step in (Step.PASTING, Step.ENTERING, Step.RINGING):
        return session, ()
    if attempt.step is Step.INTERRUPTING:
        return _let_go(session), ()
    hurried = replace(attempt, misses=max(attempt.misses, MISSES_ALLOWED - 2))
    return replace(session, attempt=hurried), (
        SeekMessage(mark=attempt.mark, message=attempt.message),
    )


def _in_hand(session: Session, mark: str) -> tuple[Attempt | None, Message | None]:
    attempt = session.attempt
    if attempt is None or attempt.mark != mark:
        return None, None
    return attempt, session.message(attempt.message)


def _let_go(session: Session) -> Session:
    return replace(session, attempt=None).with_timer("confirm", None)


def _pause(session: Session, now: float, pauses: tuple[float, ...] = PAUSES) -> Session:
    pause = pauses[min(session.refusals, len(pauses) - 1)]
    return replace(session, refusals=session.refusals + 1).with_timer("retry", now + pause)


def _leave_unproved(session: Session, now: float) -> Session:
    """An agent that reports nothing: the message stays offered, and the next may follow."""
    attempt = session.attempt
    message = session.message(attempt.message) if attempt is not None else None
    if message is not None:
        session = session.with_message(replace(message, unproved=True))
    return _let_go(session).with_timer("retry", now + UNPROVED_PAUSE)


def _refuse_all(session: Session, now: float) -> Session:
    for message in session.messages:
        if message.state is MessageState.QUEUED and is_waiting(session, message):
            refusal = "the session has ended"
        elif message.state is MessageState.OFFERED and session.attempt is None:
            refusal = "the session ended before the agent reported it"
        else:
            continue
        session = session.with_message(message.moved(MessageState.REFUSED, now, refusal))
    return session
