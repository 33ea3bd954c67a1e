"""What an agent that is gone left behind, and the cause these traces speak for.

Pure: others look, and put down what they saw. Without evidence the cause is unknown, never
guessed. Whether somebody wanted the end is not asked here.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from sm.core.crash import Cause
from sm.core.spans import roughly

LIMIT_WITHIN = 60.0
"""An agent that ends so soon after its service refused it ends because of that."""
_LIMIT = re.compile(
    r"rate.?limit|(usage|session|weekly|spending).?limit|billing|quota|credit|overload"
    r"|\b(429|529)\b",
    re.IGNORECASE,
)
_SIGNALS = {
    1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
    9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE", 15: "SIGTERM", 24: "SIGXCPU",
}  # fmt: skip
CAUGHT = 128
"""Programs that end at a signal they caught say so: by this and the signal's number."""


class Left(StrEnum):
    """What is left of the place where the agent ran."""

    DEAD = "dead"
    """Its pane, with the agent's end in it."""
    THERE = "there"
    """Its pane, which was never the agent's alone."""
    TAKEN = "taken"
    """Its pane, with another program in it."""
    GONE = "gone"
    """Nothing: the tmux server that answers has no such pane."""
    HIDDEN = "hidden"
    """tmux does not answer."""


class Serving(StrEnum):
    """Which tmux server answers where the agent's pane was."""

    UNTOLD = "untold"
    SAME = "same"
    OTHER = "other"
    """One that was started after the agent."""
    NONE = "none"
    """Certainly none: nobody listens on its socket."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """Everything that was seen, once an agent was found gone."""

    pane: str
    pid: int
    left: Left
    adopted: bool = False
    lives: bool = False
    """The agent's own process is still there."""
    status: int | None = None
    signal: int | None = None
    serving: Serving = Serving.UNTOLD
    taken_by: str = ""
    """The program that has its pane."""
    rebooted: float | None = None
    """How long after the agent's start the host was started anew, if it was."""
    memory: str | None = None
    """What the kernel says about killing it for memory."""
    limit: str = ""
    """What its model's service refused it with, just before."""
    unstartable: str = ""
    """Why the launcher in its pane could not become the agent."""
    namesake: str = ""
    """What a new tmux session of the same name holds: not the agent."""


def names_limit(error: str) -> bool:
    """Whether a model's service refused for a limit: of rate, of use, of money, of its own load."""
    return _LIMIT.search(error) is not None


def signal_name(number: int) -> str:
    name = _SIGNALS.get(number)
    return f"signal {number} ({name})" if name else f"signal {number}"


def cause_of(traces: Traces) -> tuple[Cause, str]:
    """The cause, and the evidence for it in words."""
    cause, words = _cause(traces)
    if traces.lives:
        words += ", its process lives on"
    return cause, f"{words}; {traces.namesake}" if traces.namesake else words


def _cause(traces: Traces) -> tuple[Cause, str]:
    if traces.rebooted is not None:
        return Cause.REBOOT, f"the host was started anew {roughly(traces.rebooted)} after the agent"
    if traces.memory is not None:
        return Cause.MEMORY, traces.memory
    match traces.left:
        case Left.DEAD:
            return _told_by_pane(traces)
        case Left.TAKEN:
            return Cause.SHELL, f"{traces.taken_by} is where the agent was, in pane {traces.pane}"
        case Left.GONE | Left.HIDDEN if traces.serving is Serving.OTHER:
            return Cause.SERVER, "its tmux server ended: the one that answers is a later one"
        case Left.GONE | Left.HIDDEN if traces.serving is Serving.NONE:
            return Cause.SERVER, "its tmux server ended: none listens on its socket"
        case Left.GONE:
            return _without_pane(traces)
        case Left.THERE | Left.HIDDEN:
            return _limited(traces, f"process {traces.pid} is gone")


def _told_by_pane(traces: Traces) -> tuple[Cause, str]:
    dead, status = f"pane {traces.pane} is dead", traces.status
    if traces.signal is not None:
        return Cause.SIGNAL, dead
    if status is None:
        return Cause.UNKNOWN, dead
    if traces.unstartable:
        return Cause.START, f"{dead}: {traces.unstartable}"
    if status - CAUGHT in _SIGNALS:
        return Cause.SIGNAL, f"{dead}; the code stands for {signal_name(status - CAUGHT)}"
    cause, words = _limited(traces, dead)
    return (Cause.EXIT, dead) if cause is Cause.UNKNOWN else (cause, words)


def _without_pane(traces: Traces) -> tuple[Cause, str]:
    words = f"pane {traces.pane} is gone"
    if traces.serving is not Serving.SAME:
        return Cause.UNKNOWN, words
    # A pane of somebody else's goes with its program: no telling which of the two ended first.
    if traces.adopted and not traces.lives:
        return _limited(traces, f"process {traces.pid} is gone, and pane {traces.pane} with it")
    return Cause.PANE, words


def _limited(traces: Traces, words: str) -> tuple[Cause, str]:
    """A limit explains the end of an agent that nothing else explains."""
    if not traces.limit:
        return Cause.UNKNOWN, words
    return Cause.LIMIT, f"{words}, just after its model's service refused it: {traces.limit}"
