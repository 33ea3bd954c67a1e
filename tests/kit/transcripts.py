"""Asking a transcript, as sm does, whether the model was given a message."""

from pathlib import Path

from sm.adapters.agents.claude.transcript import search
from sm.core.ids import MessageId
from sm.core.message import Route
from sm.core.state import Attempt, Step
from sm.core.terminal import Record


def attempt(message: MessageId, *, since: float = 0.0, tool_use: str | None = None) -> Attempt:
    return Attempt(
        message=message,
        number=1,
        route=Route.PASTE,
        step=Step.ENTERED,
        since=since,
        tool_use=tool_use,
    )


def holds(path: Path, message: MessageId) -> bool:
    return search(path, attempt(message)) is Record.HELD
