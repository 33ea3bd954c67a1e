"""Taking over an agent that somebody else started: what is found, and what it is not promised."""

from collections.abc import Mapping
from dataclasses import dataclass

from sm.core.ids import ContextId, PaneId, SessionId
from sm.core.terminal import AgentStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One living process, as far as its own user may know it."""

    pid: int
    parent: int
    started: int
    name: str
    command: tuple[str, ...]
    """Its command line as it is now: a program may have rewritten it."""
    environment: Mapping[str, str]
    """What it was started with; empty where the system does not tell."""
    foreground: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An agent that runs, as its dialect recognised it."""

    pid: int
    started: int
    context: ContextId | None
    transcript: str | None
    cwd: str
    arguments: tuple[str, ...]
    status: AgentStatus | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """One pane of some tmux server, looked at before anything of it is touched."""

    pane: PaneId
    socket: str
    tmux_session: str
    pid: int
    dead: bool
    command: str
    """The program that has its terminal, for people."""
    owner: SessionId | None
    """The session it is tagged with, of this home or another."""
    is_ours: bool
    """The tag is of this home."""
    piped: bool
    """Somebody already writes its output elsewhere; tmux can do that once."""


def limits(*, heard: bool, logged: bool) -> list[str]:
    """What an adopted session cannot be promised, in words for a person."""
    routes = (
        "Messages are typed when it is idle; an urgent one may interrupt it. Its hooks do not "
        "reach sm: for gentler routes, run sm install"
    )
    doorbell = (
        "Its hooks reach sm. It does not watch an inbox: a draft in its prompt box is put aside "
        "for a message, and comes back"
    )
    log = "Its log and scrollback begin at the adoption"
    no_log = (
        "Its log is not kept: another pipe-pane already has its output. Close that one and adopt "
        "it again"
    )
    return [
        doorbell if heard else routes,
        log if logged else no_log,
        "Its environment is not known: it could be started again by its present command line only",
    ]
