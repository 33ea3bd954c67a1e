"""What does not work with one session's agent, and what is done in its place.

Another version of an agent may lack a route or draw another screen. Then sm goes on with less,
and says so.
"""

from pathlib import Path

from sm.core import monitor
from sm.core.message import Route
from sm.core.state import Session, State
from sm.core.usage import TRANSCRIPT
from sm.engine.ports import Dialect

PATIENCE = 20.0
"""An agent may take this long to report for the first time."""


def degraded(session: Session, dialect: Dialect, now: float) -> list[str]:
    """Each in one line: what is missing, and what happens instead. Empty when all is well."""
    if not session.proves or not session.alive:
        return []
    if session.context.transcript is None:
        is_silent = now - session.created_at > PATIENCE
        return ["hooks: it reports nothing, so messages wait"] if is_silent else []
    missing = []
    if session.allows(Route.DOORBELL) and not session.bell:
        missing.append("doorbell: it does not watch its inbox; a draft is put aside instead")
    if not _tells_its_state(session, dialect):
        missing.append("status file: there is none we can read; its screen is read instead")
    usage = session.context.usage
    is_read = usage is not None and usage.tokens is not None and usage.source == TRANSCRIPT
    # One that was just brought back tells of its context at its first reply.
    if is_read and session.turn_ended_at >= session.launched_at:
        missing.append("status line: it does not run ours; usage is read from its transcript")
        if monitor.is_watching(session) and not monitor.is_measured(session):
            missing.append(
                "window: nobody tells its size; tool calls are counted instead. "
                "Thresholds in tokens would help"
            )
    if session.walkaway is not None and session.walkaway.over:
        missing.append(f"walk-away mode: {session.walkaway.over}")
    alarm = monitor.alarm(session, now)
    if alarm is not None:
        missing.append(f"usage: {alarm}")
    if session.state is State.UNKNOWN and now - session.state_since > PATIENCE:
        missing.append("screen: not recognised, so nothing is typed")
    return missing


def _tells_its_state(session: Session, dialect: Dialect) -> bool:
    pane, transcript = session.pane, session.context.transcript
    if pane is None or transcript is None:
        return False
    return dialect.read_status(pane.pid, pane.started, Path(transcript)) is not None
