"""The life of a session: every event goes through ``advance`` and nothing else changes it.

Pure: events in, a new state and effects out. No clock, no tmux, no database.
"""

from dataclasses import replace
from typing import assert_never

from sm.core import delivery, handoff, monitor, recovery, reminder, turn, usage, walkaway
from sm.core.crash import BY_HAND, Cause, Crash
from sm.core.effects import (
    CaptureArtifacts,
    CheckPane,
    ClearContext,
    Effect,
    EraseCommand,
    FileHandoff,
    KillAgent,
    LaunchAgent,
    LetGoPane,
    ReadActivity,
    ReadUsage,
    RecoverAgent,
    RelaunchAgent,
    RenameTmux,
    TakePane,
    TellPerson,
)
from sm.core.events import (
    ActivitySeen,
    AgentExited,
    AgentKilled,
    AgentRecovered,
    AgentRelaunched,
    AgentStarted,
    ArtifactsCaptured,
    BellRung,
    ClearRefused,
    ClearTyped,
    CommandErased,
    DaemonStarted,
    EffectFailed,
    EnterPressed,
    Event,
    HandoffCancelled,
    HandoffFiled,
    HandoffRequested,
    KillRequested,
    LaunchFailed,
    MessageCancelled,
    MessageQueued,
    MessageSought,
    MonitorSwitched,
    NoticeDropped,
    NoticeQueued,
    PaneLetGo,
    PaneSeen,
    PersonTold,
    RecoveryFailed,
    RecoveryRequested,
    RelaunchRefused,
    ReminderCancelled,
    ReminderSet,
    Renamed,
    ScreenSeen,
    SessionAdopted,
    SessionInherited,
    SessionRequested,
    StatusSeen,
    TerminalLost,
    TextPasted,
    TimerFired,
    TmuxRenamed,
    TurnInterrupted,
    TypingRefused,
    UsageSeen,
)
from sm.core.message import MessageState
from sm.core.reports import (
    CompactionBegun,
    ContextCompacted,
    ContextEnded,
    ContextStarted,
    DialogOpened,
    HookNoticed,
    PromptAccepted,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnFailed,
)
from sm.core.state import AS_IT_COMES, Context, Exit, Session, Sighting, Source, State

Result = tuple[Session, tuple[Effect, ...]]

ASK_AGAIN_AFTER = 2.0
"""A start or an end that tmux did not answer to is asked for again."""


def create(event: SessionRequested | SessionAdopted | SessionInherited, now: float) -> Result:
    """A new session, and the request to start its agent or to take over the one that runs."""
    if isinstance(event, SessionInherited):
        return _inherited(event, now)
    is_adopted = isinstance(event, SessionAdopted)
    says = "asked to adopt it" if is_adopted else "asked for"
    asked = Sighting(source=Source.PERSON, says=says, at=now)
    transcript = event.transcript if isinstance(event, SessionAdopted) else None
    session = Session(
        id=event.id,
        name=event.name,
        agent=event.agent,
        arguments=event.arguments,
        cwd=event.cwd,
        parent=event.parent,
        created_at=now,
        proves=event.proves,
        state=State.STARTING,
        state_since=now,
        verdict=asked,
        sightings=(asked,),
        context=Context(id=event.context, transcript=transcript),
        ways=event.ways,
        compaction=AS_IT_COMES if isinstance(event, SessionAdopted) else event.compaction,
        adoption=event.adoption if isinstance(event, SessionAdopted) else None,
        thresholds=event.thresholds,
        monitored=isinstance(event, SessionAdopted) or event.monitored,
        walkaway=None if isinstance(event, SessionAdopted) else event.walkaway,
        wrapped=isinstance(event, SessionRequested) and event.wrapped,
        rescue=event.rescue if isinstance(event, SessionRequested) else BY_HAND,
    )
    return session, (_beginning(session),)


def _inherited(event: SessionInherited, now: float) -> Result:
    """A session that lived in somebody's terminal. From here on it is one in tmux like others."""
    session = replace(
        event.session,
        name=event.name,
        wrapped=False,
        ways=event.ways,
        rescue=event.rescue,
        bell=False,
        lost=False,
    )
    # What its wrapper was doing is asked for again: its effects lay in a store of its own.
    session = delivery.typing_failed(session, now)
    if session.exit is not None:
        # A recovery that nobody waits for any more was given up, and nothing said so to the state.
        return recovery.asked_again(_settle(session, None, now))
    end = AgentExited(status=None, signal=None, evidence=event.evidence, cause=Cause.WRAPPER)
    return advance(session, end, now)


def _beginning(session: Session) -> Effect:
    return TakePane() if session.adopted else LaunchAgent()


def advance(session: Session, event: Event, now: float) -> Result:
    """The session after one event, and what the world is asked to do about it."""
    session = session.pruned()
    sighting = _sighting(session, event, now)
    session, effects = _apply(session, event, now)
    session = _settle(session, sighting, now)
    session, taken = walkaway.due(session, now)
    passed, moved = handoff.due(session, now)
    if passed is not session:
        session = _settle(passed, None, now)
    back, told = recovery.due(session, now)
    if back is not session:
        session = _settle(back, sighting, now)
    session = monitor.outdated_withdrawn(session, now)
    session, begun = delivery.due(session, now)
    return session, (*effects, *taken, *moved, *told, *begun)


def _apply(session: Session, event: Event, now: float) -> Result:
    match event:
        case ContextStarted() if recovery.is_early(session, event):
            return recovery.heard(session, event), ()
        case (
            ContextStarted() | ContextEnded() | PromptAccepted() | ToolStarted() | ToolEnded()
            | DialogOpened() | TurnEnded() | TurnFailed() | CompactionBegun()
            | ContextCompacted() | HookNoticed()
        ):  # fmt: skip
            return turn.hooked(session, event, now)
        case ScreenSeen():
            return turn.screen_seen(session, event, now)
        case StatusSeen():
            return turn.status_seen(session, event, now)
        case UsageSeen():
            return monitor.checked(usage.seen(session, event), now)
        case ActivitySeen():
            return turn.activity_seen(session, event, now)
        case MonitorSwitched(on=on):
            return monitor.switched(walkaway.resumed(session) if on else session, now, on=on)
        case MessageQueued():
            return delivery.queued(session, event, now)
        case MessageCancelled():
            return delivery.cancelled(session, event, now)
        case TextPasted():
            return delivery.pasted(session, event, now)
        case EnterPressed():
            return delivery.entered(session, event, now)
        case BellRung():
            return delivery.rung(session, event, now)
        case TypingRefused():
            return delivery.refused(session, event, now)
        case MessageSought():
            return delivery.sought(session, event, now)
        case TurnInterrupted():
            return delivery.interrupted(session, event, now)
        case (
            HandoffRequested() | HandoffCancelled() | ArtifactsCaptured() | ClearTyped()
            | ClearRefused()
        ):  # fmt: skip
            return _hand_over(session, event, now)
        case RecoveryRequested():
            return recovery.requested(session, event, now)
        case AgentRecovered():
            return recovery.restarted(session, event, now)
        case RecoveryFailed():
            return recovery.failed(session, event, now)
        case ReminderSet():
            return reminder.set_(session, event), ()
        case ReminderCancelled():
            return reminder.cancelled(session, event), ()
        case TimerFired():
            return _timer_fired(session, event.key, now)
        case EffectFailed():
            return _effect_failed(session, event, now)
        case (
            SessionRequested() | SessionAdopted() | SessionInherited() | NoticeQueued()
            | NoticeDropped() | CommandErased() | HandoffFiled() | PersonTold()
        ):  # fmt: skip
            return session, ()
        case _:
            return _live_on(session, event, now)


_HandoffEvent = HandoffRequested | HandoffCancelled | ArtifactsCaptured | ClearTyped | ClearRefused


def _hand_over(session: Session, event: _HandoffEvent, now: float) -> Result:
    match event:
        case HandoffRequested():
            return handoff.requested(session, event, now)
        case HandoffCancelled():
            return handoff.cancelled(session, event, now)
        case ArtifactsCaptured():
            return handoff.captured(session, event, now)
        case ClearTyped():
            return _cleared(session, event, now)
        case ClearRefused():
            return handoff.refused(session, event, now)
        case _:
            assert_never(event)


def _cleared(session: Session, event: ClearTyped, now: float) -> Result:
    """The command was sent off; or the agent's own file already tells of another context."""
    if event.status is None:
        return handoff.typed(session, event, now)
    known = (session.context.id, *(past.id for past in session.lineage))
    if handoff.in_hand(session, event.mark) is None or event.status.context in known:
        return session, ()
    return turn.followed(session, event.status, now)


_LifeEvent = (
    AgentStarted
    | AgentRelaunched
    | RelaunchRefused
    | LaunchFailed
    | AgentExited
    | PaneSeen
    | TerminalLost
    | KillRequested
    | AgentKilled
    | PaneLetGo
    | Renamed
    | TmuxRenamed
    | DaemonStarted
)


def _live_on(session: Session, event: _LifeEvent, now: float) -> Result:
    match event:
        case AgentStarted(pane=pane):
            session = replace(session, pane=pane, launched_at=now, lost=False)
            session = usage.wanted(session, now) if session.adopted else session
            return session, (KillAgent(),) if session.kill_requested else ()
        case AgentRelaunched():
            return turn.relaunched(session, event, now)
        case RelaunchRefused():
            return handoff.relaunch_refused(session, event, now)
        case LaunchFailed(reason=reason):
            intended = session.kill_requested
            end = Exit(
                status=None, signal=None, intended=intended, cause=Cause.START, evidence=reason
            )
            session = replace(session, exit=end, last_words=session.last_words or reason)
            if session.pane is None or intended:
                return recovery.not_started(session, reason, now), ()
            # It was to be started again: there was an agent, and there is none any more.
            crash = _crash(session, Cause.START, reason, now)
            return recovery.crashed(replace(session, last_words=reason), crash, now)
        case AgentExited():
            return _exited(session, event, now)
        case PaneSeen():
            return replace(session, lost=False), ()
        case TerminalLost(reason=reason):
            session = replace(session, lost=True)
            if session.recovery is not None and session.exit is not None:
                return recovery.unreachable(session, reason, now)
            if session.pane is None:
                session = session.with_timer("launch", now + ASK_AGAIN_AFTER)
            return session, ()
        case KillRequested(spare=spare):
            session = replace(session, kill_requested=True, spared=spare)
            return session, () if session.exit is None and session.pane is None else (KillAgent(),)
        case AgentKilled():
            return _killed(session, now)
        case PaneLetGo():
            return session, ()
        case Renamed(name=name):
            # An adopted agent's tmux session is somebody else's, and keeps its name.
            is_ours = session.alive and not session.adopted
            effects = (RenameTmux(name=name),) if is_ours else ()
            return replace(session, name=name), effects
        case TmuxRenamed(pane=pane):
            return replace(session, pane=pane), ()
        case DaemonStarted(ways=ways):
            session = replace(session, ways=ways, thresholds=event.thresholds or session.thresholds)
            session = walkaway.ruled(session, event.walkaway)
            session = recovery.ruled(session, event.rescue)
            if not session.alive:
                return session, ()
            session, told = monitor.checked(session, now)
            # Tool events of a running turn may have found nobody.
            read = (ReadActivity(),) if session.turn is not None else ()
            return usage.wanted(session, now), (*told, CheckPane(), *read)
        case _:
            assert_never(event)


_IDLE_EFFECTS = frozenset(
    kind.__name__ for kind in (ReadUsage, LetGoPane, EraseCommand, FileHandoff, TellPerson)
)
"""Nothing waits for their outcome."""


_BEGINNINGS = frozenset(kind.__name__ for kind in (LaunchAgent, RelaunchAgent, TakePane))


def _effect_failed(session: Session, event: EffectFailed, now: float) -> Result:
    """Nobody knows what was done, so nothing may wait for it for ever."""
    if event.effect in _BEGINNINGS and session.exit is None:
        return _live_on(session, LaunchFailed(reason=event.error), now)
    if event.effect in _IDLE_EFFECTS:
        return session, ()
    if event.effect == ReadActivity.__name__:
        is_over = session.turn is None
        return delivery.settled(session, (), now) if is_over else (session, ())
    if event.effect == RecoverAgent.__name__ and session.recovery is not None:
        nothing = RecoveryFailed(recovery=session.recovery.id, reason=event.error)
        return recovery.failed(session, nothing, now)
    if event.effect == KillAgent.__name__:
        return session.with_timer("kill", now + ASK_AGAIN_AFTER), ()
    if event.effect == CaptureArtifacts.__name__:
        return handoff.capture_failed(session, event.error, now)
    if event.effect == ClearContext.__name__:
        return handoff.effect_failed(session, now), ()
    return delivery.typing_failed(session, now), ()


def _exited(session: Session, event: AgentExited, now: float) -> Result:
    if session.exit is not None or handoff.is_relaunching(session):
        return session, ()
    intended = session.kill_requested or session.leaving or event.left or event.status == 0
    crash = _crash(session, event.cause, _last_words(event), now)
    session = replace(
        session,
        exit=Exit(
            status=event.status,
            signal=event.signal,
            intended=intended,
            cause=event.cause,
            evidence=event.evidence,
        ),
        ready=False,
        lost=False,
    )
    if not intended:
        session = replace(session, last_words=crash.words)
    else:
        session = reminder.dropped(session)
    session, told = turn.finish_turn(session, now, how=crash.words)
    session, sought = delivery.agent_gone(session)
    effects = (*told, *sought, *((LetGoPane(),) if session.adopted else ()))
    if intended:
        return session, effects
    session, planned = recovery.crashed(session, crash, now)
    return session, (*effects, *planned)


def _crash(session: Session, cause: Cause, words: str, now: float) -> Crash:
    """What its end, if nobody wanted it, has cut."""
    accepted = (m for m in session.messages if m.state is MessageState.ACCEPTED)
    # What it was told of an earlier crash, it is told anew.
    taken = tuple(m.id for m in accepted if m.recovery is None)
    return Crash(
        at=now,
        cause=cause,
        words=words,
        busy=session.turn is not None,
        dialog=session.dialog,
        handoff=session.handoff.id if session.handoff is not None else None,
        taken=taken,
    )


def _killed(session: Session, now: float) -> Result:
    session, told = turn.finish_turn(session, now, how="the session was ended")
    exit_ = session.exit or Exit(status=None, signal=None, intended=True)
    session = replace(session, exit=exit_, ready=False, attempt=None)
    return replace(session, timers=(), reminders=()), told


def _last_words(event: AgentExited) -> str:
    if event.signal is not None:
        return f"the agent was ended by signal {event.signal}"
    if event.status is not None:
        return f"the agent ended with exit code {event.status}"
    return f"the agent is gone ({event.evidence})"


def _timer_fired(session: Session, key: str, now: float) -> Result:
    """A stored wait is over. One that was moved or taken away meanwhile does nothing."""
    timer = session.timer(key)
    if timer is None or timer.due > now:
        return session, ()
    session = session.with_timer(key, None)
    kind, _, what = key.partition(":")
    if kind == "confirm":
        return delivery.confirm_due(session, now)
    if kind == "expire":
        # Every event sees to deadlines that have passed.
        return session, ()
    if kind == recovery.TIMER:
        return recovery.timer_fired(session, now)
    if kind == recovery.ASK_AGAIN:
        return recovery.asked_again(session)
    if kind == recovery.DEADLINE:
        return recovery.deadline(session, now)
    if kind == "launch" and session.pane is None and session.exit is None:
        return session, (_beginning(session),)
    if kind == "kill":
        return session, (KillAgent(),)
    if kind == "usage":
        return usage.asked(session, now)
    if kind == "reminder":
        return reminder.fired(session, what, now)
    if kind == walkaway.TIMER:
        return walkaway.timer_fired(session, now)
    if kind == handoff.TIMER:
        return handoff.timer_fired(session, key, now)
    return session, ()


def _sighting(session: Session, event: Event, now: float) -> Sighting | None:
    """What the event tells about the agent, as evidence with a source and an age."""
    match event:
        case (
            ContextStarted() | ContextEnded() | PromptAccepted() | ToolStarted() | ToolEnded()
            | DialogOpened() | TurnEnded() | TurnFailed() | CompactionBegun()
            | ContextCompacted() | HookNoticed()
        ):  # fmt: skip
            return turn.sighted(session, event)
        case StatusSeen(status=status):
            says = f"it says it is {status.detail or status.sign.value}"
            return Sighting(source=Source.STATUS, says=says, at=status.at)
        case ScreenSeen(screen=screen):
            says = f"{screen.sign.value} on the screen"
            return Sighting(source=Source.SCREEN, says=says, at=now)
        case AgentRecovered() if session.alive:
            return None
        case AgentStarted(pane=pane) | AgentRelaunched(pane=pane) | AgentRecovered(pane=pane):
            how = "taken over" if session.adopted else "started"
            return Sighting(source=Source.TMUX, says=f"pane {pane.id} {how}", at=now)
        case PaneSeen(evidence=evidence) | AgentKilled(evidence=evidence):
            return Sighting(source=Source.TMUX, says=evidence, at=now)
        case AgentExited():
            says = f"{_last_words(event)}: {event.evidence}"
            return Sighting(source=Source.PROCESS, says=says, at=now)
        case TerminalLost(reason=reason):
            return Sighting(source=Source.TMUX, says=f"unreachable: {reason}", at=now)
        case LaunchFailed(reason=reason):
            return Sighting(source=Source.TMUX, says=f"could not start: {reason}", at=now)
        case KillRequested(by=by):
            return Sighting(source=Source.PERSON, says=f"{by} asked to end it", at=now)
        case _:
            return None


def _settle(session: Session, sighting: Sighting | None, now: float) -> Session:
    """The session with the state its facts allow, and the evidence that state rests on."""
    state = _judge(session)
    is_new = state is not session.state
    if sighting is None:
        return replace(session, state=state, state_since=now) if is_new else session
    is_same = sighting.source is session.verdict.source
    # At once: a session is large to copy, and most hooks bring nothing but evidence.
    return replace(
        session,
        state=state,
        state_since=now if is_new else session.state_since,
        verdict=sighting if is_new or is_same else session.verdict,
        sightings=session.sightings_with(sighting),
    )


def _judge(session: Session) -> State:
    recovering = session.recovery is not None
    if session.exit is not None:
        is_over = session.exit.intended or session.kill_requested
        gone = State.RECOVERING if recovering else State.CRASHED
        return State.ENDED if is_over else gone
    if session.pane is None:
        return State.STARTING
    if session.lost:
        return State.UNKNOWN
    if session.dialog is not None:
        return State.WAITING
    if session.turn is not None:
        return State.WORKING
    if session.ready:
        if recovering:
            return State.RECOVERING
        passing = session.handoff
        return State.ROTATING if passing is not None and passing.is_moving else State.IDLE
    if not session.proves:
        return State.UNKNOWN
    return State.RECOVERING if recovering else State.STARTING
