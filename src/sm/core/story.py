"""What one transcript tells of the work in it, as values: said, decided, done, failed, unfinished.

Facts only, in the order of time; nothing here is a judgement of ours. An agent's thinking is no
part of it. How the facts become a document is not known here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sm.core.exchange import Deed, Exchange

SAME_WITHIN = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the agent was asked, word for word."""

    text: str
    at: float
    sender: str | None = None
    """Another session that sent it; None: the person, at the agent or through sm."""
    images: int = 0
    """Pictures that came with it; they are not kept."""
    is_waiting: bool = False
    """Typed into a running turn, and not given to the agent yet."""
    answered_in: int | None = None
    """The number of the context in which its turn came to its end; None: not yet, or not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Todo:
    """An item of the agent's own list that is not done."""

    text: str
    is_begun: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    text: str
    at: float
    is_plan: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchedFile:
    path: str
    reads: int
    changes: int
    at: float
    """The last time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command line, however often it was run; the outcome is the last one's."""

    line: str
    at: float
    runs: int = 1
    failures: int = 0
    is_failed: bool = False
    status: int | None = None
    seconds: float | None = None
    said: str = ""
    """What it printed at its end, if it failed."""
    is_background: bool = False
    """It was only begun; what became of it is told elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Something that did not work: a command, or a tool on a file."""

    what: str
    error: str
    at: float
    tries: int = 1
    is_mended: bool = False
    """The same thing worked later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """An error that is nobody's command: of the model's service, or an interrupt."""

    text: str
    at: float
    times: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """Begun, and no end of it is on record."""

    kind: str
    what: str
    at: float
    id: str = ""
    """The agent's own name for it, where it gave one."""
    call: str = ""
    """The agent's own id of the call, where that is what has no end."""


AGENT = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """One piece of the last exchanges."""

    who: str
    """The agent, a tool, the person, or a session by its name."""
    text: str
    is_output: bool = False
    """A program's, not anybody's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What the agent itself kept of its context when it compacted it."""

    text: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """Its texts are whole, or the wide ends of very long ones: secrets are taken out before
    anything is shortened."""

    context: str = ""
    """The agent's own name for the context."""
    cwd: str = ""
    branch: str = ""
    model: str = ""
    began_at: float = 0.0
    ended_at: float = 0.0
    replies: int = 0
    """How often the agent said something."""
    compactions: int = 0
    requests: tuple[Request, ...] = ()
    todos: tuple[Todo, ...] = ()
    decisions: tuple[Decision, ...] = ()
    files: tuple[TouchedFile, ...] = ()
    commands: tuple[Command, ...] = ()
    failures: tuple[Failure, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    unfinished: tuple[Unfinished, ...] = ()
    last: tuple[Utterance, ...] = ()
    """The last exchanges, oldest first."""
    earlier: tuple[str, ...] = ()
    """What the agent said before those, in what it still had in mind, oldest first."""
    last_words: str = ""
    is_answered: bool = True
    """Whether the agent said something after the last request."""
    answered_at: float = 0.0
    """When a turn came to its end with the agent's words, the last time; 0: none did."""
    is_at_rest: bool = False
    """Whether its last turn came to such an end."""
    summaries: tuple[Summary, ...] = ()

    def mapped(self, change: Callable[[str], str]) -> "Story":
        """With every text in it changed that may be shortened; always in the same order."""
        return replace(
            self,
            requests=reworded(self.requests, change),
            todos=tuple(replace(one, text=change(one.text)) for one in self.todos),
            decisions=tuple(replace(one, text=change(one.text)) for one in self.decisions),
            commands=tuple(
                replace(one, line=change(one.line), said=change(one.said)) for one in self.commands
            ),
            failures=tuple(
                replace(one, what=change(one.what), error=change(one.error))
                for one in self.failures
            ),
            troubles=tuple(replace(one, text=change(one.text)) for one in self.troubles),
            unfinished=tuple(replace(one, what=change(one.what)) for one in self.unfinished),
            last=tuple(replace(one, text=change(one.text)) for one in self.last),
            earlier=tuple(change(text) for text in self.earlier),
            last_words=change(self.last_words),
            summaries=tuple(replace(one, text=change(one.text)) for one in self.summaries),
        )


def with_ended(story: Story, ended: Sequence[Exchange]) -> Story:
    """With the commands whose end the agent's hooks told of, and its transcript does not yet.

    A transcript lags a moment behind: what is read at once lacks the last that was done.
    """
    halves = {one.call for one in story.unfinished if one.call}
    late = [call for call in ended if call.call in halves or call.at > story.ended_at]
    commands = {command.line: command for command in story.commands}
    for call in late:
        if call.deed is Deed.COMMAND and call.text and not _is_told(commands.get(call.text), call):
            commands[call.text] = _again(commands.pop(call.text, None), call)
    over = {call.call for call in late}
    return replace(
        story,
        commands=tuple(commands.values()),
        unfinished=tuple(one for one in story.unfinished if not one.call or one.call not in over),
    )


def _is_told(known: Command | None, call: Exchange) -> bool:
    """A record may be a little older than the hook that tells of the same."""
    return known is not None and abs(call.at - known.at) < SAME_WITHIN


def _again(known: Command | None, call: Exchange) -> Command:
    failed = call.result is not None and call.result.is_failed
    before = known or Command(line=call.text, at=call.at, runs=0)
    return replace(
        before,
        at=call.at,
        runs=before.runs + 1,
        failures=before.failures + failed,
        is_failed=failed,
        status=None,
        seconds=None,
        said="",
    )


def reworded(asked: tuple[Request, ...], change: Callable[[str], str]) -> tuple[Request, ...]:
    return tuple(replace(one, text=change(one.text)) for one in asked)
