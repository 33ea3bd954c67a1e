"""What a session's agent is doing, from its own reports and from what its screen shows.

Hooks come late, twice and out of order. They are recognised by ids and by the producer's clock,
never counted. A turn can end with no hook at all; then the screen is the evidence.
"""

from dataclasses import replace

from sm.core import delivery, handoff, monitor, usage, walkaway
from sm.core.crash import Manner
from sm.core.effects import Effect, ReadActivity
from sm.core.events import (
    ActivitySeen,
    AgentRecovered,
    AgentRelaunched,
    ScreenSeen,
    StatusSeen,
)
from sm.core.ids import ContextId, MessageId, PromptId
from sm.core.reports import (
    CompactionBegun,
    ContextCompacted,
    ContextEnded,
    ContextStarted,
    DialogOpened,
    Hook,
    HookEvent,
    HookNoticed,
    PromptAccepted,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnFailed,
)
from sm.core.state import Context, PastContext, Session, Sighting, Source, Turn
from sm.core.terminal import AgentStatus, Sign

Result = tuple[Session, tuple[Effect, ...]]

REMEMBERED_PROMPTS = 16
REMEMBERED_CONTEXTS = 50
SETTLED = 1.0
"""A prompt box seen this long after the last hook is no flash between two tool calls."""

STATUS_FOLLOWS_WITHIN = 2.0
"""An agent's state file is written 0.1 to 0.3 s after the change."""


def hooked(session: Session, event: HookEvent, now: float) -> Result:
    """The session after one report of its agent."""
    if is_foreign(session, event):
        return session, ()
    if session.lost:
        session = replace(session, lost=False)
    session, recorded = _record_named(session, event.hook)
    session, effects = _hooked(session, event, now)
    return session, (*recorded, *effects)


def _record_named(session: Session, hook: Hook) -> Result:
    """Its transcript, where the report of the context's beginning was lost."""
    context = session.context
    is_known = context.transcript is not None or context.id is None
    if is_known or hook.transcript is None or hook.context != context.id:
        return session, ()
    session = delivery.record_begun(session, hook.transcript)
    session = replace(session, context=replace(context, transcript=hook.transcript))
    return session, handoff.recorded(session)


def _hooked(session: Session, event: HookEvent, now: float) -> Result:
    match event:
        case ContextStarted():
            return context_started(session, event, now)
        case PromptAccepted():
            return prompt_accepted(session, event, now)
        case ToolStarted() | ToolEnded() | DialogOpened():
            return tool_reported(session, event, now)
        case TurnEnded():
            session, told = turn_ended(
                session, event.hook, now, last_words=event.last_words, tasks=event.tasks
            )
            if session.turn is None:
                session = delivery.answer_stop(session, event.hook, now)
            return session, told
        case TurnFailed():
            return turn_ended(session, event.hook, now, failure=event.error)
        case CompactionBegun():
            return walkaway.compaction_begun(session, event, now)
        case ContextCompacted():
            return monitor.compacted(session, event, now)
        case ContextEnded():
            return replace(session, leaving=event.leaving), ()
        case HookNoticed():
            return session, ()


def is_foreign(session: Session, event: HookEvent) -> bool:
    """Whether the report comes from another client, such as one the agent itself started."""
    known, theirs = session.context.id, event.hook.context
    if known is None or theirs is None or known == theirs:
        return False
    return not (isinstance(event, ContextStarted) and event.source != "startup")


def is_late(session: Session, hook: Hook) -> bool:
    """Whether the hook tells of a turn that is already over."""
    if hook.prompt is not None and hook.prompt in session.ended_prompts:
        return True
    turn = session.turn
    if turn is not None and hook.prompt not in (None, turn.prompt) and hook.at < turn.started_at:
        return True
    return hook.at < session.news_since


def sighted(session: Session, event: HookEvent) -> Sighting | None:
    """The evidence a report is, or None if it says nothing about this session."""
    if is_foreign(session, event) or is_late(session, event.hook):
        return None
    detail = f" {event.tool}" if isinstance(event, ToolStarted | ToolEnded) else ""
    return Sighting(source=Source.HOOK, says=f"{event.hook.name}{detail}", at=event.hook.at)


def context_started(session: Session, event: ContextStarted, now: float) -> Result:
    effects: tuple[Effect, ...] = ()
    old = session.context
    if _is_fork(session, event):
        event = _as_own(event, old.id)
    is_new = event.hook.context != old.id
    is_older = session.turn is not None and event.hook.at < session.turn.started_at
    if event.source != "compact" and not is_older:
        session, effects = finish_turn(session, now, how="the context was replaced")
    context = replace(
        Context() if is_new else old,
        number=old.number + 1 if is_new and old.id is not None else old.number,
        id=event.hook.context or old.id,
        transcript=event.transcript or old.transcript,
    )
    bell = event.bell or session.bell
    session = delivery.record_begun(session, context.transcript)
    session = replace(session, context=context, ready=True, dialog=None, bell=bell)
    if not is_new:
        return session, (*effects, *handoff.recorded(session))
    evidence = f"{event.hook.name}({event.source}) of context {(context.id or '')[:8]}"
    session, prompted = _begun_anew(session, old, now, evidence, event.hook.at)
    return session, (*effects, *prompted)


def _begun_anew(
    session: Session, old: Context, now: float, evidence: str, began_at: float, *, how: str = ""
) -> Result:
    """The session in another context: levels are armed, and a handoff may have come through."""
    session = replace(handoff.revived(session, now), tasks=())
    passing = session.handoff
    if not how:
        how = f"handoff {passing.id}" if passing is not None and passing.clears else "cleared"
    if old.id is not None:
        past = PastContext(
            number=old.number,
            id=old.id,
            transcript=old.transcript,
            tokens=old.usage.tokens if old.usage is not None else None,
            ended_at=now,
            how=how,
        )
        first, *then = *session.lineage, past
        # The first one stays: it holds what all the others are about.
        lineage = (first, *then[-(REMEMBERED_CONTEXTS - 1) :])
        session = replace(session, lineage=lineage)
    session = walkaway.rotated(monitor.begun_anew(session, now), passing)
    return handoff.context_replaced(session, now, evidence, began_at)


def _is_fork(session: Session, event: ContextStarted) -> bool:
    """A client that forks a conversation begins under its parent's id, not the one we gave it."""
    known = session.context
    is_first = known.id is not None and known.transcript is None
    return is_first and event.source == "resume" and event.hook.context not in (None, known.id)


def _as_own(event: ContextStarted, own: ContextId | None) -> ContextStarted:
    parent, transcript = event.hook.context, event.transcript
    if transcript is not None and parent is not None and own is not None:
        transcript = transcript.replace(parent, own)
    return replace(event, hook=replace(event.hook, context=own), transcript=transcript)


def prompt_accepted(session: Session, event: PromptAccepted, now: float) -> Result:
    arrived = event.message or _typed_beside(session, event)
    evidence = f"{event.hook.name} of prompt {(event.hook.prompt or '')[:8] or 'without id'}"
    if is_late(session, event.hook) or session.exit is not None:
        session = delivery.accept(session, arrived, event.hook.prompt, now, evidence)
        return delivery.finish_one(session, arrived, now, how="its turn had already ended")
    effects: tuple[Effect, ...] = ()
    # A turn without a name was seen before its hook came: this may be its name.
    if session.turn is not None and session.turn.prompt not in (None, event.hook.prompt):
        session, effects = finish_turn(session, now, how="a newer prompt was accepted")
    session = delivery.accept(session, arrived, event.hook.prompt, now, evidence)
    turn = Turn(prompt=event.hook.prompt, started_at=event.hook.at)
    session = replace(
        session, turn=turn, dialog=None, ready=True, refusals=0, stop_replies=0, failure=""
    )
    return session, effects


def _typed_beside(session: Session, event: PromptAccepted) -> MessageId | None:
    """The message in hand, sent off by a person together with words of their own."""
    in_hand = session.attempt.message if session.attempt is not None else None
    return in_hand if in_hand in event.quoted else None


def tool_reported(
    session: Session, event: ToolStarted | ToolEnded | DialogOpened, now: float
) -> Result:
    if isinstance(event, ToolStarted | ToolEnded) and _goes_on(session, event):
        session = replace(
            session,
            ended_prompts=tuple(p for p in session.ended_prompts if p != event.hook.prompt),
        )
    if is_late(session, event.hook):
        return session, ()
    session, effects = at_work(session, event)
    if isinstance(event, ToolEnded) and not event.subagent:
        session = delivery.answer_tool(session, event.hook, event.tool_use, now)
        session = walkaway.cut(session, event)
        session, told = monitor.tool_used(session, now)
        return session, (*effects, *told)
    return session, effects


def _goes_on(session: Session, event: ToolStarted | ToolEnded) -> bool:
    """Whether somebody else's hook kept the agent from stopping: its last turn runs on."""
    hook = event.hook
    is_same = hook.prompt is not None and hook.prompt == session.stopped
    return is_same and not event.subagent and hook.at > session.news_since


def at_work(session: Session, event: ToolStarted | ToolEnded | DialogOpened) -> Result:
    turn = session.turn or Turn(prompt=event.hook.prompt, started_at=event.hook.at)
    if turn.prompt is None and event.hook.prompt is not None:
        # It was seen before it was told of: this is its name.
        turn = replace(turn, prompt=event.hook.prompt)
    # A second report of the same dialog comes later and says less.
    dialog = session.dialog or event.question if isinstance(event, DialogOpened) else None
    if not isinstance(event, DialogOpened) and not event.subagent:
        is_news = turn.prompt == event.hook.prompt and not turn.acted
        turn = replace(turn, acted=True) if is_news else turn
    if turn is session.turn and dialog == session.dialog and session.ready:
        return session, ()
    return replace(session, turn=turn, dialog=dialog, ready=True), ()


def turn_ended(
    session: Session,
    hook: Hook,
    now: float,
    *,
    last_words: str = "",
    failure: str = "",
    tasks: tuple[str, ...] = (),
) -> Result:
    turn = session.turn
    is_same = turn is not None and hook.prompt is not None and turn.prompt == hook.prompt
    if turn is not None and hook.at < turn.started_at:
        # Of an earlier turn; or the very report whose answer keeps this one going, once more.
        return session if is_same else _remember_end(session, hook.prompt), ()
    session = _remember_end(session, hook.prompt)
    session = replace(
        session,
        turn_ended_at=max(session.turn_ended_at, hook.at),
        stopped=hook.prompt,
        tasks=tasks,
        ready=True,
        failure=failure,
    )
    if last_words or failure:
        session = replace(session, last_words=last_words or f"error: {failure}")
    # Not before: what its record says of this turn comes a moment later.
    session = usage.wanted(session.with_timer("usage", None), now)
    return finish_turn(session, now, how=f"failed: {failure}" if failure else hook.name)


def finish_turn(session: Session, now: float, *, how: str) -> Result:
    """No turn runs any more; the messages it took are done and their senders told."""
    session = _without_turn(session)
    if delivery.goes_on(session):
        # The work goes on in the next context: senders are told when it stops there.
        return session, ()
    return delivery.finish_accepted(session, now, how=how)


def _without_turn(session: Session) -> Session:
    if session.turn is not None:
        session = walkaway.turn_ended(_remember_end(session, session.turn.prompt))
    return replace(session, turn=None, dialog=None, refusals=0).with_timer("retry", None)


def _ended_silently(session: Session, now: float, *, how: str) -> Result:
    """No hook told of the end. Another hook may have refused the prompt that ours had seen: what
    was taken with it is settled once the agent's record has been looked at."""
    turn = session.turn
    has_worked = turn is None or turn.acted
    if has_worked or delivery.goes_on(session) or not delivery.has_taken(session):
        return finish_turn(session, now, how=how)
    return _without_turn(session), (ReadActivity(),)


def screen_seen(session: Session, event: ScreenSeen, now: float) -> Result:
    """The session after a look at its screen, which may know better than silence."""
    screen = event.screen
    session = replace(session, lost=False)
    if screen.sign is Sign.DIALOG:
        return replace(session, dialog=screen.detail or "a dialog is open"), ()
    if screen.sign is Sign.BUSY and session.recovery is not None and not session.ready:
        # The title of the one that died stands there until the next one sets its own.
        return session, ()
    if screen.sign is Sign.BUSY:
        turn = session.turn or Turn(prompt=None, started_at=session.state_since)
        return replace(session, dialog=None, turn=turn, ready=True), ()
    if screen.sign is Sign.PROMPT:
        session = replace(session, ready=True, dialog=None)
        if session.turn is not None and not recently_hooked(session, now):
            return _ended_silently(session, now, how="the prompt is back on the screen")
    return session, ()


def status_seen(session: Session, event: StatusSeen, now: float) -> Result:
    """The session after a look at its agent's own state file; a newer hook knows better."""
    status = event.status
    session = replace(session, lost=False)
    effects: tuple[Effect, ...] = ()
    if session.adopted:
        session, effects = followed(session, status, now)
    if any(s.source is Source.HOOK and _outdates(s, status, now) for s in session.sightings):
        return session, effects
    match status.sign:
        case Sign.DIALOG:
            return replace(session, dialog=session.dialog or status.detail), effects
        case Sign.BUSY:
            asked: tuple[Effect, ...] = (ReadActivity(),) if session.turn is None else ()
            if session.adopted:
                session = usage.wanted(session, now, usage.ASK_IN_TURN)
            turn = session.turn or Turn(prompt=None, started_at=status.at)
            return replace(session, dialog=None, turn=turn, ready=True), (*effects, *asked)
        case Sign.PROMPT:
            session = replace(session, ready=True, dialog=None)
            if session.turn is not None:
                session = usage.wanted(session, now) if session.adopted else session
                how = f"the agent says it is {status.detail}"
                session, told = _ended_silently(session, now, how=how)
                return session, (*effects, *told)
        case Sign.UNKNOWN:
            pass
    return session, effects


def followed(session: Session, status: AgentStatus, now: float) -> Result:
    """Its agent says it has another context by now, and no hook has told us."""
    old = session.context
    if status.context is None or status.context == old.id:
        return session, ()
    session, effects = finish_turn(session, now, how="the context was replaced")
    context = Context(
        number=old.number + 1 if old.id is not None else old.number,
        id=status.context,
        transcript=status.transcript or old.transcript,
    )
    session = delivery.record_begun(session, context.transcript)
    session = replace(session, context=context, ready=True, dialog=None)
    evidence = f"its own state file tells of context {status.context[:8]}"
    session, prompted = _begun_anew(session, old, now, evidence, status.at)
    return session, (*effects, *prompted)


def relaunched(session: Session, event: AgentRelaunched, now: float) -> Result:
    """Its agent was ended and started again: a new process, a new context."""
    old, passing = session.context, session.handoff
    if passing is not None:
        session = session.with_handoff(handoff.outlived(passing, event.survivors))
    session = replace(
        session,
        pane=event.pane,
        launched_at=now,
        context=Context(number=old.number + 1, id=event.context),
        ready=False,
        bell=False,
        dialog=None,
        leaving=False,
        lost=False,
    )
    evidence = f"started again as process {event.pane.pid}, context {(event.context or '')[:8]}"
    return _begun_anew(session, old, now, evidence, now)


def recovered(session: Session, event: AgentRecovered, now: float) -> Result:
    """Its agent died and was started again: a new process, perhaps in its old context."""
    # What was only to be typed into the dead one waits like everything else.
    session, old = delivery.held_back(session), session.context
    is_fresh = event.manner is Manner.FRESH
    session = replace(
        session,
        pane=event.pane,
        launched_at=now,
        exit=None,
        turn=None,
        context=Context(number=old.number + 1, id=event.context) if is_fresh else old,
        tasks=event.survivors,
        # What the dead one still has to say is of before.
        hears_since=now,
        given_up=None,
        ready=False,
        bell=False,
        dialog=None,
        leaving=False,
        lost=False,
        draft="",
        stop_replies=0,
    )
    if not is_fresh:
        return session, ()
    evidence = f"started again as process {event.pane.pid}"
    return _begun_anew(session, old, now, evidence, now, how=f"recovery {event.recovery}")


def activity_seen(session: Session, event: ActivitySeen, now: float) -> Result:
    """The running turn by name, and what it does, where no hook told it; of one that ended
    silently, what became of the messages it took."""
    if session.turn is None:
        return delivery.settled(session, event.activity.blocked, now)
    return _named(session, event), ()


def _named(session: Session, event: ActivitySeen) -> Session:
    turn, seen = session.turn, event.activity
    is_over = seen.prompt is None or seen.prompt in session.ended_prompts
    if turn is None or is_over or event.context != session.context.id:
        return session
    if turn.prompt not in (None, seen.prompt):
        return session
    acted = turn.acted or seen.tool is not None
    return replace(session, turn=replace(turn, prompt=seen.prompt, acted=acted))


def _outdates(hook: Sighting, status: AgentStatus, now: float) -> bool:
    """Whether the file may not have followed yet. One that stays as it is means what it says."""
    return hook.at > status.at and now - hook.at < STATUS_FOLLOWS_WITHIN


def recently_hooked(session: Session, now: float) -> bool:
    """Whether the agent's own word is fresh: it knows better than its screen."""
    return any(s.source is Source.HOOK and now - s.at < SETTLED for s in session.sightings)


def _remember_end(session: Session, prompt: PromptId | None) -> Session:
    if prompt is None or prompt in session.ended_prompts:
        return session
    return replace(session, ended_prompts=(*session.ended_prompts, prompt)[-REMEMBERED_PROMPTS:])
