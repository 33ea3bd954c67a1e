"""The "model": what it does is written in the text it gets.

Lines that begin with ``%`` are directives, done in order. Text without any is answered with a
friendly sentence. Pure: text in, steps out.
"""

import re
from typing import NamedTuple

from sm.core import envelope

_QUOTED = 60
_TASK = re.compile(r"^[ >]*(%task \d+ .+)$", re.MULTILINE)
_RECOVERED = re.compile(r"(?:You were working on a task when your|Your) session crashed")
_UNDONE = ("has no result", "no result on record", "Still running from before the crash")
"""How one is told, after a crash, of what may not have been done."""


class Say(NamedTuple):
    text: str


class Work(NamedTuple):
    """Think for a while."""

    seconds: float


class Tool(NamedTuple):
    command: str
    ask: bool
    """Whether a person must allow it first."""


class Agent(NamedTuple):
    """A sub-agent runs the command."""

    command: str


class Background(NamedTuple):
    """The command goes on beside the conversation."""

    command: str


class Usage(NamedTuple):
    """Report this many tokens from now on."""

    tokens: int


class Fail(NamedTuple):
    """The API refuses: the turn ends in an error."""

    error: str


class Crash(NamedTuple):
    how: str


class Output(NamedTuple):
    lines: int


class Task(NamedTuple):
    """Run the command once for each number up to ``last``, which takes the place of ``{}``."""

    last: int
    command: str

    def next(self, known: str) -> int:
        """The first number that was not done, as far as one knows."""
        before, _, behind = map(re.escape, self.command.partition("{}"))
        again = behind.replace(re.escape("{}"), "(?:\\1)")
        named = re.compile(f"{before}(\\d+){again}")
        done: set[int] = set()
        for line in known.split("\n"):
            numbers = set(map(int, named.findall(line)))
            is_done = not any(words in line for words in _UNDONE)
            done = done | numbers if is_done else done - numbers
        return max(done, default=0) + 1

    def numbered(self, number: int) -> Tool:
        return Tool(self.command.replace("{}", str(number)), ask=False)


class Command(NamedTuple):
    """Typed by the model's own hand after the turn: ``%clear``, ``%compact``, ``%exit``."""

    name: str


Step = Say | Work | Tool | Task | Agent | Background | Usage | Fail | Crash | Output | Command


def steps(prompt: str, known: str = "") -> list[Step]:
    """What the model does when it is given this text; it always ends with words.

    Without a directive it goes on with the task it knows of, if it knows of one; after a crash
    always: the directives it is told of then are those of its past.
    """
    text = _told(prompt)
    is_recovered = _RECOVERED.match(text) is not None
    done = [] if is_recovered else directives(text)
    done = done or _known_task(f"{known}\n{text}" if is_recovered else known)
    if not done:
        return [Say(f'Got it: "{_first_line(text)}"')]
    return done if isinstance(done[-1], Say) else [*done, Say("Done.")]


def directives(text: str) -> list[Step]:
    """The directives in a text, in order."""
    found = (_directive(line) for line in _told(text).split("\n") if line.startswith("%"))
    return [step for step in found if step is not None]


def _known_task(known: str) -> list[Step]:
    """The last one in everything this context was given: a document may tell of it."""
    found = _TASK.findall(known)
    step = _directive(found[-1]) if found else None
    return [step] if step is not None else []


def _told(prompt: str) -> str:
    inside = envelope.unwrap(prompt)
    return prompt if inside is None else inside


def _first_line(text: str) -> str:
    line = next((line.strip() for line in text.split("\n") if line.strip()), "")
    return line if len(line) <= _QUOTED else line[: _QUOTED - 1] + "…"


def _directive(line: str) -> Step | None:
    word, _, rest = line[1:].partition(" ")
    match word:
        case "say":
            return Say(rest)
        case "work":
            return Work(_number(rest))
        case "tool" | "ask":
            return Tool(rest, ask=word == "ask")
        case "task":
            last, _, command = rest.partition(" ")
            return Task(int(_number(last)), command)
        case "agent":
            return Agent(rest)
        case "background":
            return Background(rest)
        case "usage":
            return Usage(int(_number(rest)))
        case "fail":
            return Fail(rest or "unknown")
        case "crash":
            return Crash(rest)
        case "output":
            return Output(int(_number(rest)))
        case "clear" | "compact" | "exit":
            return Command(f"/{word}")
        case _:
            return None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


class Script:
    """What to do at each prompt that brings no directives of its own, in order."""

    def __init__(self, text: str) -> None:
        self._blocks = [block.strip("\n") for block in f"\n{text}\n".split("\n---\n")]
        if not text.strip():
            self._blocks = []

    def steps(self, prompt: str, known: str = "") -> list[Step]:
        if self._blocks and not directives(prompt):
            return steps(self._blocks.pop(0))
        return steps(prompt, known)
