"""When a session whose agent died is brought back, by itself or when asked, and what proves it.

``asked``: what was going on is found out and the agent started again, with its own record or in a
fresh context. ``started``: it is told what it must know, before any other message. ``done``: it has
reported that itself; or, where there was nothing to tell, shown that it is ready. A crash on the
way fails this recovery, and may lead to the next. An agent that dies again and again is left alone.
"""

from dataclasses import replace

from sm.core import delivery, turn
from sm.core.crash import Cause, Crash, FirstWord, Manner, Recovery, RecoveryRules, RecoveryState
from sm.core.effects import Effect, FileHandoff, RecoverAgent, TellPerson
from sm.core.events import AgentRecovered, MessageQueued, RecoveryFailed, RecoveryRequested
from sm.core.ids import HandoffId, RecoveryId
from sm.core.message import Message, MessageState, Mode
from sm.core.notices import derived_id, notice
from sm.core.passage import Filed
from sm.core.reports import ContextStarted
from sm.core.spans import exactly
from sm.core.state import Session, Usage
from sm.core.waiting import is_waiting

Result = tuple[Session, tuple[Effect, ...]]

TIMER = "recover"
"""The pause before an agent is brought back by itself."""
DEADLINE = "recovery"
"""How long a recovered agent may take to report what it was told."""
GIVE_UP_AFTER = 600.0
OURSELVES = "sm"
INCIDENT = 60.0
"""What takes every agent within this time is one incident."""
ASK_AGAIN = "recovery-again"
ASK_AGAIN_AFTER = 1.0
PAUSES = (0.0, 1.0, 5.0, 15.0, 60.0)
"""Before the first, second… try in a row."""
FULL = 0.8
"""A context fuller than this part of what it can hold is not worth going on with."""
SETTLED_AFTER = 30.0
"""An agent that lived so long was well."""
AFTER_LIMIT = 300.0
"""A model's service that refused for a limit will refuse again at once."""


def crashed(session: Session, crash: Crash, now: float) -> Result:
    """Its agent is gone, unasked: what is done about it."""
    crash = _with_untold(crash, session)
    session = _failed(session, f"it died again: {crash.words}", now)
    session = _counted(replace(session, crash=crash), crash.cause, now)
    session, planned = _planned(session, crash.cause, now)
    # An adopted agent comes back in a way of its own.
    if crash.cause.is_mass and not session.hopeless and not session.adopted:
        return session, (*planned, _told_of_all(session, crash))
    return session, (*planned, *_told(session, crash, now))


def _with_untold(crash: Crash, session: Session) -> Crash:
    """With what an earlier crash had cut, if the agent died before it was told of it."""
    recovery = session.recovery or _unheeded(session)
    if recovery is None:
        return crash
    before = recovery.crash
    return replace(
        crash,
        busy=crash.busy or before.busy,
        dialog=crash.dialog or before.dialog,
        handoff=crash.handoff or before.handoff,
        taken=tuple(dict.fromkeys((*before.taken, *crash.taken))),
    )


def _unheeded(session: Session) -> Recovery | None:
    """The last one, if it was given up while its agent still had to be told."""
    last = session.recoveries[-1] if session.recoveries else None
    if last is None or last.message is None:
        return None
    message = session.message(last.message)
    is_owed = message is not None and message.state in (MessageState.QUEUED, MessageState.OFFERED)
    return last if is_owed else None


def _told_of_all(session: Session, crash: Crash) -> Effect:
    """One word for all of them is enough: forty crashes would be forty messages."""
    what = "The host was started anew" if crash.cause is Cause.REBOOT else "The tmux server ended"
    comes = session.timer(TIMER) is not None
    then = "they are brought back: sm ls" if comes else "bring them back with: sm recover --all"
    words = f"{what}, and the agents with it; {then}"
    return TellPerson(words=words, about=f"{crash.cause} {crash.at // INCIDENT:.0f}", for_all=True)


def _told(session: Session, crash: Crash, now: float) -> tuple[Effect, ...]:
    words = f"{session.name} crashed: {crash.words}"
    told: tuple[Effect, ...] = ()
    if session.parent is not None:
        told = (notice(session, session.parent, f"crash {crash.at}", words, now),)
    if session.timer(TIMER) is not None or session.hopeless:
        # Told when it is back, or given up.
        return told
    remedy = f"Bring it back with: sm recover {session.name}"
    if session.adopted:
        remedy = "Start it again, and adopt it: sm adopt"
    words = f"{words}. {remedy}"
    return (*told, TellPerson(words=words, about=f"crash {crash.at}", while_crashed=True))


def not_started(session: Session, reason: str, now: float) -> Session:
    """It could not even be started for the first time: whoever asked is told."""
    return replace(session, crash=Crash(at=now, cause=Cause.START, words=reason))


def _counted(session: Session, cause: Cause, now: float) -> Session:
    """With one more crash, if it counts against it; what is long ago does not."""
    since = now - session.rescue.within
    recent = tuple(at for at in session.crashes if at > since)
    if _is_own(session, cause, now):
        recent = (*recent, now)[-session.rescue.crashes :]
    return replace(session, crashes=recent)


def _is_own(session: Session, cause: Cause, now: float) -> bool:
    """A tmux server or a host that ends is no agent's fault; one that ends each time, just after
    its agents came back, may be."""
    came_back = bool(session.recoveries) and now - session.launched_at < SETTLED_AFTER
    return not cause.is_mass or came_back


def _planned(session: Session, cause: Cause, now: float) -> Result:
    """The next try, if it is to be brought back by itself."""
    rules = session.rescue
    if not is_wanted(session) or session.timer(TIMER) is not None:
        return session, ()
    count = len(session.crashes)
    if count >= rules.crashes:
        return _given_up(session, now)
    is_own = _is_own(session, cause, now)
    pause = PAUSES[min(max(count - 1, 0), len(PAUSES) - 1)] if is_own else 0.0
    if cause is Cause.LIMIT:
        pause = max(pause, AFTER_LIMIT)
    return session.with_timer(TIMER, now + pause), ()


def is_wanted(session: Session) -> bool:
    """Whether it is brought back without being asked."""
    rules = session.rescue
    is_ours = not session.adopted and not session.kill_requested
    return rules.enabled and rules.auto and is_ours and not session.hopeless


def _given_up(session: Session, now: float) -> Result:
    """It would die again: said once, and no more tried."""
    rules = session.rescue
    times = "once" if rules.crashes == 1 else f"{rules.crashes} times"
    words = f"it crashed {times} in {exactly(rules.within)} and is not brought back any more"
    session = replace(session, hopeless=words)
    told = f"{session.name}: {words}. To try again: sm recover {session.name}"
    person = TellPerson(words=told, about=f"hopeless {now}", while_crashed=True)
    if session.parent is None:
        return session, (person,)
    return session, (person, notice(session, session.parent, f"hopeless {now}", told, now))


def ruled(session: Session, rules: RecoveryRules | None) -> Session:
    """The session under the rules of a new configuration."""
    if rules is None or rules == session.rescue:
        return session
    return replace(session, rescue=rules)


def is_over(session: Session) -> bool:
    """Whether its agent is gone, and nobody is about to bring it back."""
    will_return = session.recovery is not None or session.timer(TIMER) is not None
    return session.exit is not None and not will_return


def requested(session: Session, event: RecoveryRequested, now: float) -> Result:
    """Somebody wants it back: whatever was counted against it is forgotten."""
    known = any(recovery.id == event.id for recovery in session.recoveries)
    if known or session.recovery is not None or not is_recoverable(session):
        return session, ()
    session = replace(session, hopeless="", crashes=())
    return _begun(session, event, now)


def is_recoverable(session: Session) -> bool:
    """Whether its agent died, or never came to life, and nobody wanted that."""
    exit_ = session.exit
    return exit_ is not None and not exit_.intended and not session.kill_requested


def timer_fired(session: Session, now: float) -> Result:
    """The pause is over."""
    crash = session.crash
    if crash is None or session.recovery is not None or not is_recoverable(session):
        return session, ()
    if not is_wanted(session):
        return session, ()
    # The same crash always gives the same id: it cannot be brought back twice for one.
    asked = RecoveryRequested(id=_own_id(session, crash), by=OURSELVES)
    return _begun(session, asked, now)


def _own_id(session: Session, crash: Crash) -> RecoveryId:
    tries = sum(recovery.crash.at == crash.at for recovery in session.recoveries)
    return RecoveryId(derived_id(f"{session.id}:{crash.at}:{tries}")[:8])


def _begun(session: Session, event: RecoveryRequested, now: float) -> Result:
    crash = session.crash or Crash(at=now, cause=Cause.UNKNOWN, words="nothing is known of its end")
    recovery = Recovery(
        id=event.id, crash=crash, by=event.by, asked_at=now, wanted=event.manner
    ).noted("asked", now, f"by {event.by}: {crash.words}")
    session = session.with_recovery(recovery).with_timer(TIMER, None)
    return session, (RecoverAgent(recovery=recovery.id),)


def unreachable(session: Session, reason: str, now: float) -> Result:
    """tmux does not answer: it is asked again until it does, and somebody must know."""
    recovery = session.recovery
    if recovery is None or recovery.state is not RecoveryState.ASKED:
        return session, ()
    session = session.with_timer(ASK_AGAIN, now + ASK_AGAIN_AFTER)
    if any(step.step == "held" for step in recovery.steps):
        return session, ()
    session = session.with_recovery(recovery.noted("held", now, f"tmux: {reason}"))
    words = "tmux cannot be reached, so sessions cannot be brought back yet. See: sm doctor"
    about = f"unreachable {now // INCIDENT:.0f}"
    return session, (TellPerson(words=words, about=about, for_all=True),)


def asked_again(session: Session) -> Result:
    """tmux did not answer; it may have started the agent all the same."""
    recovery = session.recovery
    if recovery is None or recovery.state is not RecoveryState.ASKED:
        return session, ()
    return session, (RecoverAgent(recovery=recovery.id),)


def chosen(
    session: Session,
    wanted: Manner | None,
    *,
    hindrance: str | None,
    usage: Usage | None,
    handoff: HandoffId | None = None,
) -> tuple[Manner, str]:
    """In which way it is brought back, and why so. ``hindrance``: why it cannot be resumed.
    ``handoff``: the one its crash has cut."""
    if session.context.id is None or session.context.transcript is None:
        hindrance = hindrance or "nothing was said in its context yet"
    if hindrance is not None:
        return Manner.FRESH, hindrance
    if wanted is not None:
        return wanted, f"as asked: {wanted.value}"
    if handoff is not None:
        return Manner.FRESH, f"its context was being handed over ({handoff})"
    room = _room(usage)
    if room is not None and usage is not None and (usage.tokens or 0) > room:
        return Manner.FRESH, f"its context is {usage.percent:g} % full"
    full = f", {usage.percent:g} % full" if usage is not None and usage.percent is not None else ""
    return Manner.RESUME, f"its record is whole{full}"


def _room(usage: Usage | None) -> float | None:
    """The tokens up to which a context has room to go on with."""
    if usage is None or usage.tokens is None or not usage.window:
        return None
    return FULL * min(usage.window, usage.compacts_at or usage.window)


def restarted(session: Session, event: AgentRecovered, now: float) -> Result:
    """The agent runs: what it must know comes before anything else."""
    recovery = session.recovery
    if recovery is None or recovery.id != event.recovery or session.alive:
        return session, ()
    session, begun = turn.recovered(session, event, now)
    session = _with_first_word(session, recovery)
    recovery = replace(recovery, manner=event.manner, heard=None)
    recovery = recovery.moved(RecoveryState.STARTED, now, event.evidence)
    session = session.with_timer(DEADLINE, now + GIVE_UP_AFTER).with_timer("retry", None)
    session = replace(session, refusals=0, last_words="")
    if not event.told:
        return session.with_recovery(recovery), begun
    if event.manner is Manner.FRESH:
        session = _without_first_prompt(session, now)
    message = _first(session, recovery, event.told, now)
    session = session.with_recovery(replace(recovery, message=message.id))
    session, queued = delivery.queued(session, MessageQueued(message=message), now)
    return session, (*begun, *queued)


def heard(session: Session, event: ContextStarted) -> Session:
    """The agent that is being started was quicker than the news of its start: a daemon may have
    died in between. Of which context it speaks is known only then."""
    recovery = session.recovery
    if recovery is None:
        return session
    word = FirstWord(
        context=event.hook.context,
        transcript=event.transcript,
        bell=event.bell,
        at=event.hook.at,
    )
    return session.with_recovery(replace(recovery, heard=word))


def _with_first_word(session: Session, recovery: Recovery) -> Session:
    word = recovery.heard
    if word is None or word.context != session.context.id:
        return session
    context = replace(session.context, transcript=word.transcript or session.context.transcript)
    return replace(session, context=context, ready=True, bell=word.bell)


def is_early(session: Session, event: ContextStarted) -> bool:
    """Whether it is the first word of an agent that is not known yet to have been started."""
    recovery = session.recovery
    if recovery is None or recovery.state is not RecoveryState.ASKED or session.alive:
        return False
    # What the dead one still has to say is of before.
    return event.source in ("startup", "resume") and event.hook.at > recovery.asked_at


def _without_first_prompt(session: Session, now: float) -> Session:
    """Of a handoff that was cut: its document stands in what the agent is told now."""
    for message in session.messages:
        if message.handoff is not None and is_waiting(session, message):
            over = message.moved(MessageState.CANCELLED, now, "told in the recovery's own words")
            session = session.with_message(over)
    return session


def _first(session: Session, recovery: Recovery, text: str, now: float) -> Message:
    return Message(
        # The same recovery always gives the same id: it cannot be told twice.
        id=derived_id(f"{session.id}:recovery:{recovery.id}"),
        to=session.id,
        sender_name="sm",
        mode=Mode.IMPORTANT,
        text=text,
        queued_at=now,
        notify=False,
        recovery=recovery.id,
    )


def failed(session: Session, event: RecoveryFailed, now: float) -> Result:
    """The agent could not be started again. By itself it is tried again, as after a crash."""
    recovery = session.recovery
    is_asked = recovery is not None and recovery.state is RecoveryState.ASKED
    if recovery is None or not is_asked or recovery.id != event.recovery:
        return session, ()
    session = replace(_failed(session, event.reason, now), last_words=event.reason)
    if recovery.wanted is not None:
        # Whoever insists on a way wants no other one.
        return session, ()
    return _planned(_counted(session, Cause.START, now), Cause.START, now)


def due(session: Session, now: float) -> Result:
    """Whether what is under way has come to its end. Looked at after every event."""
    session = _without_older(session, now)
    recovery = session.recovery
    if recovery is None:
        return session, ()
    if session.kill_requested:
        return _failed(session, "the session is ended", now), ()
    if recovery.state is RecoveryState.ASKED:
        return session, ()
    if not session.alive:
        # On purpose: a crash would have failed it.
        return _failed(session, "its agent ended", now), ()
    if recovery.message is None:
        is_there = session.ready or not session.proves
        words = "the agent is ready" if session.proves else "the agent was started"
        return _done(session, recovery, now, words) if is_there else (session, ())
    return _arrived(session, recovery, now)


def _arrived(session: Session, recovery: Recovery, now: float) -> Result:
    """Whether the agent has reported what it was told."""
    message = session.message(recovery.message) if recovery.message is not None else None
    if message is None:
        return _failed(session, "what it was to be told is gone", now), ()
    if message.unproved:
        return _done(session, recovery, now, "given; its agent reports nothing")
    if message.state is MessageState.QUEUED:
        return session, ()
    if message.state is MessageState.OFFERED:
        if any(step.step == "told" for step in recovery.steps):
            return session, ()
        return session.with_recovery(recovery.noted("told", now, message.receipts[-1].evidence)), ()
    if message.state in (MessageState.ACCEPTED, MessageState.DONE):
        accepted = next(r for r in reversed(message.receipts) if r.step == MessageState.ACCEPTED)
        return _done(session, recovery, now, accepted.evidence)
    return _failed(session, f"what it was to be told was {message.state.value}", now), ()


def _without_older(session: Session, now: float) -> Session:
    """What an agent that died again was to be told is told by the next recovery."""
    under_way = session.recovery
    for message in session.messages:
        if message.recovery is None:
            continue
        # An agent that lives is told it all the same, however late.
        is_gone = session.exit is not None
        is_over = is_gone if under_way is None else message.recovery != under_way.id
        if is_over and is_waiting(session, message):
            over = message.moved(MessageState.CANCELLED, now, "its recovery is over")
            session = session.with_message(over)
    return session


def _done(session: Session, recovery: Recovery, now: float, evidence: str) -> Result:
    over = recovery.moved(RecoveryState.DONE, now, evidence)
    session = session.with_recovery(over).with_timer(DEADLINE, None)
    told = _put_away(over)
    if recovery.crash.cause.is_mass:
        return session, told
    about, words = f"recovery {recovery.id}", f"{session.name} is back ({_how(over)})"
    if session.parent is not None:
        told = (*told, notice(session, session.parent, about, words, now))
    if recovery.by == OURSELVES:
        why = f"It had crashed: {recovery.crash.words}"
        told = (*told, TellPerson(words=f"{words}. {why}", about=about))
    return session, told


def _put_away(recovery: Recovery) -> tuple[Effect, ...]:
    """A handoff that was cut: its document was told, and is to be given to nobody else."""
    handoff = recovery.crash.handoff
    if handoff is None or recovery.manner is not Manner.FRESH:
        return ()
    return (FileHandoff(handoff=handoff, status=Filed.CLEARED),)


def _how(recovery: Recovery) -> str:
    is_same = recovery.manner is Manner.RESUME
    return "its conversation goes on" if is_same else "in a fresh context"


def _failed(session: Session, reason: str, now: float) -> Session:
    recovery = session.recovery
    if recovery is None:
        return session
    over = recovery.moved(RecoveryState.FAILED, now, reason)
    session = session.with_recovery(over).with_timer(DEADLINE, None)
    return session.with_timer(ASK_AGAIN, None)


def deadline(session: Session, now: float) -> Result:
    """The agent runs, and does not take what it is told: messages flow again all the same."""
    recovery = session.recovery
    session = _failed(session, "the agent did not report what it was told in time", now)
    return session, _unheard(session, recovery)


def _unheard(session: Session, recovery: Recovery | None) -> tuple[Effect, ...]:
    """It runs, and nobody knows whether it is at work: somebody must look."""
    if recovery is None:
        return ()
    words = f"{session.name} was started again, but has not reported what it was told"
    words = f"{words}. Look at it with: sm attach {session.name}"
    return (TellPerson(words=words, about=f"unheard {recovery.id}"),)
