"""How an agent ended unasked, as a value: the cause, as far as there is evidence, and what it cut.

What is done about it is not known here.
"""

from dataclasses import dataclass
from enum import StrEnum

from sm.core.ids import MessageId


class Cause(StrEnum):
    """Why an agent is gone. Without evidence it is unknown, never guessed."""

    EXIT = "exit"
    """It ended by itself, with an exit code that says so."""
    SIGNAL = "signal"
    """Somebody sent it a signal."""
    MEMORY = "out_of_memory"
    """The kernel took it, for want of memory."""
    PANE = "pane_closed"
    """Its pane was closed while its tmux server lived on."""
    SHELL = "replaced"
    """Another program is where the agent was."""
    SERVER = "server_exit"
    """Its tmux server ended, with everything in it."""
    REBOOT = "reboot"
    """The host was started anew."""
    LIMIT = "api_limit"
    """It ended after its model's service refused it for a limit."""
    START = "start"
    """It could not even be started."""
    UNKNOWN = "unknown"
    """It is gone, and nothing tells why."""

    @property
    def is_mass(self) -> bool:
        """Whether it took every agent there was: one incident, and no agent's own fault."""
        return self in (Cause.SERVER, Cause.REBOOT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash:
    """One end nobody asked for, and what it cut."""

    at: float
    cause: Cause
    words: str
    """What happened, for people: ``the agent was ended by signal 9``."""
    busy: bool = False
    """A turn was running."""
    dialog: str | None = None
    """A question was open."""
    taken: tuple[MessageId, ...] = ()
    """Messages the turn that was cut had taken."""
