"""A conversation as it went: requests, replies and tool calls, each a value, in the order of time.

Whoever reads a transcript or a screen makes these; what becomes of them is not known here. An
agent's thinking is no part of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from sm.core.shortening import brief, code

SM = "sm"
"""Who asked, where it was sm itself."""
SHOWN = 120
"""Characters of what an agent was doing, where it is told in a line."""


class Role(StrEnum):
    """What kind of exchange it is."""

    ASKED = "asked"
    """The agent was told to do something."""
    SAID = "said"
    """The agent's own words."""
    CALLED = "called"
    """The agent used a tool."""
    SUMMED = "summed"
    """What the agent kept of everything before, when it compacted its context."""
    NOTED = "noted"
    """The client told of an error, or of an interrupt."""


class Deed(StrEnum):
    """What a tool does, as far as it matters when it is cut."""

    COMMAND = "command"
    CHANGE = "change"
    """Of a file."""
    LOOK = "look"
    """Without any effect: it may be repeated."""
    AGENT = "agent"
    """Another agent's work."""
    QUESTION = "question"
    """Asked of the person."""
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of a call."""

    is_failed: bool = False
    output: str = ""
    is_recorded: bool = True
    """In the agent's own record; otherwise only its hook told of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    role: Role
    text: str
    """Word for word; of a call, what the tool was to work on."""
    at: float = 0.0
    sender: str | None = None
    """Who asked: another session, or sm itself; None: the person."""
    is_waiting: bool = False
    """Typed while the agent worked, and not given to it yet."""
    tool: str = ""
    deed: Deed = Deed.OTHER
    call: str = ""
    """The agent's own id of it."""
    result: Result | None = None
    """Of a call; None: nothing tells of its end."""

    @property
    def is_request(self) -> bool:
        """Asked by a person or another session: sm's own words are none."""
        return self.role is Role.ASKED and self.sender != SM

    @property
    def is_cut(self) -> bool:
        """Whether it is a call that has no result."""
        return self.role is Role.CALLED and self.result is None

    @property
    def is_unwritten(self) -> bool:
        """Whether it is a call that ended, and the agent's record does not say so."""
        return self.result is not None and not self.result.is_recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class Integrity:
    """Whether a transcript is as its agent wrote it."""

    torn: int = 0
    """Lines that hold no record."""
    flaw: str | None = None
    """Why its agent would not find all of its conversation in it; None: it would."""


def with_ended(recorded: Sequence[Exchange], ended: Sequence[Exchange]) -> tuple[Exchange, ...]:
    """With the ends of calls that the agent's hooks told of, and its record does not.

    A record is written a little later than a hook is called: an agent that dies in between has done
    more than it wrote down.
    """
    told = {call.call: call for call in ended if call.call}
    known = {call.call for call in recorded}
    newest = max((one.at for one in recorded if not one.is_waiting), default=0.0)
    filled = (
        replace(one, result=told[one.call].result) if one.is_cut and one.call in told else one
        for one in recorded
    )
    return (*filled, *(call for call in ended if call.call not in known and call.at > newest))


def doing(exchanges: Sequence[Exchange]) -> str:
    """What the agent was at when the last of these was recorded; empty without any."""
    last = next((e for e in reversed(exchanges) if e.role is not Role.NOTED), None)
    if last is None:
        return ""
    shown = brief(last.text, SHOWN)
    match last.role:
        case Role.CALLED:
            return _deed(last, shown)
        case Role.ASKED:
            return f"was asked: {shown}"
        case Role.SAID:
            return f"said: {shown}"
        case _:
            return "had compacted its context"


def _deed(call: Exchange, shown: str) -> str:
    is_over = call.result is not None
    match call.deed:
        case Deed.COMMAND:
            return f"{'ran' if is_over else 'running'} {code(shown)}"
        case Deed.CHANGE:
            return f"{'changed' if is_over else 'changing'} file {shown}"
        case Deed.LOOK if call.tool.startswith("Read"):
            return f"{'read' if is_over else 'reading'} file {shown}"
        case Deed.QUESTION:
            return f"{'asked' if is_over else 'asking'}: {shown}"
        case _:
            name = f"{call.tool} {shown}".strip()
            return f"{'called' if is_over else 'calling'} {name}"
