"""From the core's values to the contract's."""

import socket

import msgspec

from sm.api.types import (
    CompactionView,
    ContextView,
    CrashView,
    ExitView,
    Explanation,
    HandoffView,
    MessageView,
    RecoverableView,
    RecoveryPlanView,
    RecoveryView,
    ReminderView,
    SessionDetail,
    SessionView,
    SightingView,
    StoredEvent,
)
from sm.core import monitor, recovery
from sm.core.adoption import limits
from sm.core.channel import ChannelHandoff, Status
from sm.core.crash import Crash, Recovery
from sm.core.handoff import why_open
from sm.core.journal import Recorded
from sm.core.message import Message, MessageState
from sm.core.passage import Handoff
from sm.core.reasons import why_waiting
from sm.core.recollection import tokens
from sm.core.state import Compacted, Context, Exit, Reminder, Session, Sighting, Timer
from sm.engine.engine import Engine
from sm.engine.loop import UnknownSessionError
from sm.engine.recoverer import Plan

_HOST = socket.gethostname().split(".")[0]


def session_view(engine: Engine, session: Session) -> SessionView:
    pane, context = session.pane, session.context
    return {
        "id": session.id,
        "name": session.name,
        "agent": session.agent,
        "state": session.state.value,
        "state_since": session.state_since,
        "cwd": session.cwd,
        "channel": engine.filing.known(session.cwd),
        "parent": session.parent,
        "host": _HOST,
        "auto_handoff": session.walkaway is not None,
        "created_at": session.created_at,
        "context": context_view(context),
        "tmux": None
        if pane is None or not pane.id.startswith("%")
        else {"socket": pane.socket, "session": pane.session, "pane": pane.number},
        "queued": sum(m.state is MessageState.QUEUED for m in session.messages),
        "last_handoff": session.last_handoff,
        "hopeless": session.hopeless or None,
    }


def context_view(context: Context) -> ContextView:
    usage = context.usage
    return {
        "number": context.number,
        "id": context.id,
        "transcript": context.transcript,
        "tokens": usage.tokens if usage else None,
        "window": usage.window if usage else None,
        "percent": usage.percent if usage else None,
    }


def compaction_view(compacted: Compacted | None) -> CompactionView | None:
    if compacted is None:
        return None
    return {"at": compacted.at, "trigger": compacted.trigger, "tokens": compacted.tokens}


def session_detail(engine: Engine, session: Session, raw_log: str) -> SessionDetail:
    exit_ = session.exit
    return {
        **session_view(engine, session),
        "arguments": list(session.arguments),
        "children": [s.id for s in engine.loop.sessions if s.parent == session.id],
        "pid": session.pane.pid if session.pane and session.alive else None,
        "level": monitor.level(session),
        "compactions": session.context.compactions,
        "last_compaction": compaction_view(session.context.compacted),
        "last_words": session.last_words,
        "crash": crash_view(session.crash),
        "recoveries": [recovery_view(one) for one in session.recoveries],
        "next_recovery": _next_recovery(session),
        "exit": exit_view(exit_) if exit_ is not None else None,
        "reminders": [reminder_view(session, r) for r in session.reminders],
        "lineage": [
            {
                "number": past.number,
                "id": past.id,
                "transcript": past.transcript,
                "tokens": past.tokens,
                "ended_at": past.ended_at,
                "how": past.how,
            }
            for past in session.lineage
        ],
        "handoff": session.handoff.id if session.handoff is not None else None,
        "raw_log": raw_log,
        "proves": session.proves,
        "degraded": engine.degraded(session),
        "adopted": session.adopted,
        "limits": _limits(session),
    }


def _next_recovery(session: Session) -> float | None:
    timer = session.timer(recovery.TIMER)
    return timer.due if timer is not None else None


def crash_view(crash: Crash | None) -> CrashView | None:
    if crash is None:
        return None
    return {"at": crash.at, "cause": crash.cause.value, "reason": crash.words, "busy": crash.busy}


def recovery_view(one: Recovery) -> RecoveryView:
    return {
        "id": one.id,
        "state": one.state.value,
        "way": one.manner and one.manner.value,
        "by": one.by,
        "cause": one.crash.cause.value,
        "reason": one.crash.words,
        "asked_at": one.asked_at,
        "ended_at": one.ended_at,
        "seconds": None if one.ended_at is None else one.ended_at - one.asked_at,
        "steps": [{"step": s.step, "at": s.at, "evidence": s.evidence} for s in one.steps],
    }


def recoverable_view(session: Session, lines: int) -> RecoverableView:
    crash, usage = session.crash, session.context.usage
    return {
        "id": session.id,
        "name": session.name,
        "agent": session.agent,
        "state": session.state.value,
        "cwd": session.cwd,
        "crashed_at": crash.at if crash is not None else session.state_since,
        "cause": crash.cause.value if crash is not None else "unknown",
        "reason": crash.words if crash is not None else session.verdict.says,
        "busy": crash is not None and crash.busy,
        "lines": lines,
        "percent": usage.percent if usage is not None else None,
        "hopeless": session.hopeless or None,
        "next_recovery": _next_recovery(session),
    }


def recovery_plan_view(session: Session, plan: Plan, command: tuple[str, ...]) -> RecoveryPlanView:
    found = plan.recollected
    return {
        "session": session.id,
        "name": session.name,
        "way": plan.manner.value,
        "why": plan.why,
        "command": list(command),
        "prompt": plan.told,
        "tokens": tokens(plan.told),
        "lines": found.lines,
        "requests": found.requests,
        "replies": found.replies,
        "last_activity": found.last_activity,
        "sources": list(found.sources),
        "skipped": list(found.skipped),
    }


def exit_view(exit_: Exit) -> ExitView:
    return {
        "status": exit_.status,
        "signal": exit_.signal,
        "intended": exit_.intended,
        "cause": None if exit_.intended else exit_.cause.value,
        "evidence": exit_.evidence,
    }


def _limits(session: Session) -> list[str]:
    """What cannot be promised for an agent that sm did not start."""
    if session.adoption is None or not session.alive:
        return []
    return limits(heard=session.heard, logged=session.adoption.logged)


def reminder_view(session: Session, reminder: Reminder) -> ReminderView:
    return {
        "id": reminder.id,
        "session": session.name,
        "text": reminder.text,
        "due": reminder.due,
        "every": reminder.every,
    }


def handoff_view(
    engine: Engine, handoff: Handoff, filed: ChannelHandoff | None = None
) -> HandoffView:
    """``filed``: the same as its channel has it."""
    try:
        session: Session | None = engine.session(handoff.session)
    except UnknownSessionError:
        session = None
    accepted = next((s for s in handoff.steps if s.step == "accepted"), None)
    return {
        "id": handoff.id,
        "kind": handoff.kind,
        "state": handoff.state.value,
        "status": filed.status.value if filed is not None else None,
        "session": handoff.session,
        "session_name": session.name if session is not None else handoff.session,
        "channel": filed.channel if filed is not None else None,
        "requested_at": handoff.requested_at,
        "document": handoff.document,
        "source": handoff.source,
        "redacted": handoff.redacted,
        "artifacts": handoff.artifacts,
        "dump": handoff.dump,
        "raw_log": handoff.log,
        "transcript": handoff.transcript,
        "context": handoff.context,
        "waiting": why_open(session, handoff) if session is not None else None,
        "steps": [{"step": s.step, "at": s.at, "evidence": s.evidence} for s in handoff.steps],
        "consumed_by": handoff.session if accepted is not None else None,
        "consumed_at": accepted.at if accepted is not None else None,
    }


def filed_view(filed: ChannelHandoff) -> HandoffView:
    """A handoff as its channel has it, left by a session nobody knows here any more."""
    is_waiting = filed.status is Status.ACTIVE
    return {
        "id": filed.id,
        "kind": filed.kind.value,
        "state": "left" if is_waiting else filed.status.value,
        "status": filed.status.value,
        "session": filed.session,
        "session_name": filed.session,
        "channel": filed.channel,
        "requested_at": filed.created_at,
        "document": filed.document,
        "source": filed.document,
        "redacted": 0,
        "artifacts": None,
        "dump": None,
        "raw_log": "",
        "transcript": None,
        "context": 0,
        "waiting": "nobody has taken it: sm handoffs load" if is_waiting else None,
        "steps": [
            {"step": "left", "at": filed.created_at, "evidence": f"in the channel {filed.channel}"}
        ],
        "consumed_by": filed.consumed_by,
        "consumed_at": filed.consumed_at,
    }


def message_view(engine: Engine, message: Message) -> MessageView:
    try:
        session = engine.session(message.to)
        to_name, waiting = session.name, why_waiting(session, message)
    except UnknownSessionError:
        to_name, waiting = message.to, None
    return {
        "id": message.id,
        "to": message.to,
        "to_name": to_name,
        "from": message.sender_name,
        "mode": message.mode.value,
        "text": message.text,
        "state": message.state.value,
        "route": message.route and message.route.value,
        "unproved": message.unproved,
        "waiting": None if message.unproved else waiting,
        "receipts": [
            {"step": r.step, "at": r.at, "evidence": r.evidence} for r in message.receipts
        ],
    }


def sighting_view(sighting: Sighting, now: float) -> SightingView:
    return {
        "source": sighting.source.value,
        "says": sighting.says,
        "at": sighting.at,
        "age": max(0.0, now - sighting.at),
    }


def explanation(session: Session, recent: list[StoredEvent], now: float) -> Explanation:
    newest = sorted(session.sightings, key=lambda s: -s.at)
    return {
        "id": session.id,
        "name": session.name,
        "state": session.state.value,
        "state_since": session.state_since,
        "because": sighting_view(session.verdict, now),
        "evidence": [sighting_view(s, now) for s in newest],
        "facts": _facts(session, now),
        "waits": [_wait(t, now) for t in session.timers],
        "recent": recent,
    }


def _wait(timer: Timer, now: float) -> str:
    """A stored wait, in words."""
    kind, _, what = timer.key.partition(":")
    words = {
        "confirm": "looks again whether the agent took the message",
        "retry": "tries the next message again",
        "launch": "asks tmux again to start the agent",
        "kill": "asks tmux again to end the agent",
        "expire": f"message {what} expires",
        "reminder": f"reminder {what} is due",
        "usage": "reads from the transcript how full the context is",
        "handoff": "looks again how far the handoff has come",
        "recover": "brings the agent back",
        "recovery": "gives up waiting for the recovered agent's report",
        "recovery-again": "asks tmux again to start the agent",
    }
    return f"{words.get(kind, timer.key)} in {max(0.0, timer.due - now):.1f} s"


def _facts(session: Session, now: float) -> list[str]:
    """What we hold to be true, in words; the state follows from these."""
    turn, pane, attempt = session.turn, session.pane, session.attempt
    facts = [
        pane and f"pane {pane.id} in tmux session {pane.session}, process {pane.pid}",
        session.lost and "tmux did not answer when last asked",
        turn and f"a turn runs for {now - turn.started_at:.1f} s (prompt {turn.prompt or '?'})",
        turn and turn.acted and "it has called a tool",
        session.dialog and f"a dialog is open: {session.dialog}",
        session.ready and "the agent has shown that it can take a prompt",
        attempt and f"message {attempt.message} is being given: {attempt.step.value}",
        session.exit and f"the process ended: {session.last_words or 'as asked'}",
        session.exit and not session.exit.intended and _cause(session.exit),
        session.adopted and "its agent was adopted: sm did not start it",
        not session.proves and "this kind of agent reports nothing about itself",
    ]
    return [fact for fact in facts if fact]


def _cause(exit_: Exit) -> str:
    evidence = f" ({exit_.evidence})" if exit_.evidence else ""
    return f"cause: {exit_.cause.value}{evidence}"


def event_view(recorded: Recorded) -> StoredEvent:
    body = msgspec.to_builtins(recorded.event)
    return {
        "seq": recorded.seq,
        "session": recorded.session,
        "at": recorded.at,
        "kind": type(recorded.event).__name__,
        "body": body,
    }
