"""How an agent is started, as values, and the errors of the places where it can fail."""

from collections.abc import Mapping
from dataclasses import dataclass

from sm.core.ids import ContextId, SessionId
from sm.core.state import AS_IT_COMES, Compaction


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchRequest:
    """What a dialect is told when it plans an agent's command line."""

    session: SessionId
    agent: str
    """What the person wrote after --agent."""
    arguments: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str]
    """The caller's, not the daemon's."""
    folder: str
    """The session's own folder."""
    hook_command: str
    """The script agents call for every hook."""
    prompt: str | None = None
    """The first prompt of an agent that is started again, in a new context."""
    resume: ContextId | None = None
    """Its agent is to go on with its own record of this context."""
    afresh: bool = False
    """It is started again in a new context, without the prompt of its first start."""
    hook_url: str | None = None
    """Where an agent that can post its hooks itself may do so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLine:
    """What to run: the agent's real command line and what it adds to the environment."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    files: Mapping[str, bytes]
    """Written 0600 before the launch, by absolute path."""
    context: ContextId | None = None
    compaction: Compaction = AS_IT_COMES


@dataclass(frozen=True, slots=True, kw_only=True)
class PaneLaunch:
    """How to start one agent in one pane."""

    session: SessionId
    tmux_session: str
    cwd: str
    argv: tuple[str, ...]
    """The launcher's own line: it reads the agent's real line and environment from a file."""
    raw_log: str
    sizes_log: str


class LaunchFailedError(Exception):
    """The agent could not be started; the message says why and what to do."""


class TerminalUnreachableError(Exception):
    """tmux does not answer; nothing is known about its panes."""


class ServerGoneError(TerminalUnreachableError):
    """Nobody listens on the socket: the server that did, and every pane of it, is gone."""


class MalformedHookError(ValueError):
    """The payload is not a hook of this agent; the message says what is wrong with it."""
