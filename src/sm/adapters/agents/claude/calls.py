"""Calls of Claude Code's tools, their inputs and results, decoded as far as a story needs them.

An input of a form that is not known is an empty one: a tool may mean something else by a name.
"""

from dataclasses import dataclass
from datetime import datetime

import msgspec

from sm.adapters.agents.claude.entries import Block
from sm.core.exchange import Deed

AGENTS = frozenset({"Agent", "Task"})
READS = frozenset({"Read", "NotebookRead"})
CHANGES = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
_DEEDS = {
    Deed.COMMAND: frozenset({"Bash"}),
    Deed.CHANGE: CHANGES,
    Deed.LOOK: READS | {"Grep", "Glob", "LS", "WebFetch", "WebSearch", "TaskOutput", "BashOutput"},
    Deed.AGENT: AGENTS,
    Deed.QUESTION: frozenset({"AskUserQuestion", "ExitPlanMode"}),
}


class Item(msgspec.Struct, rename="camel"):
    content: str = ""
    subject: str = ""
    status: str = ""
    id: str | int = ""
    active_form: str | None = None


class Question(msgspec.Struct):
    question: str = ""


class Input(msgspec.Struct):
    """What any of the known tools is told, as far as it matters here."""

    command: str = ""
    description: str = ""
    file_path: str = ""
    notebook_path: str = ""
    path: str = ""
    pattern: str = ""
    url: str = ""
    query: str = ""
    skill: str = ""
    plan: str = ""
    subject: str = ""
    status: str = ""
    taskId: str | int = ""  # noqa: N815 - the tool's own spelling
    task_id: str = ""
    shell_id: str = ""
    bash_id: str = ""
    todos: list[Item] = []
    questions: list[Question] = []


class _Task(msgspec.Struct):
    id: str | int = ""
    subject: str = ""


class _Told(msgspec.Struct):
    """What the client keeps of a result beside its text."""

    task: _Task | None = None


class _Text(msgspec.Struct):
    type: str = ""
    text: str = ""


_inputs = msgspec.json.Decoder(Input)
_told = msgspec.json.Decoder(_Told)
_texts = msgspec.json.Decoder(str | list[_Text])
_items = msgspec.json.Decoder(list[Item])


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    input: Input
    at: str
    cwd: str

    @property
    def what(self) -> str:
        """In a few words, the same for the same call."""
        if self.input.command:
            return self.input.command
        return f"{self.name} {self.target}".strip()

    @property
    def target(self) -> str:
        """What it works on."""
        i = self.input
        if i.command or i.questions:
            return i.command or " ".join(asked.question for asked in i.questions)
        place = i.file_path or i.notebook_path or i.url or i.path
        rest = i.pattern or i.query or i.skill or i.subject or i.description or i.plan
        return " ".join(word for word in (place, rest) if word)

    @property
    def deed(self) -> Deed:
        return next((deed for deed, names in _DEEDS.items() if self.name in names), Deed.OTHER)

    @property
    def kind(self) -> str:
        return "sub-agent" if self.name in AGENTS else "tool call without a result"

    @property
    def described(self) -> str:
        told = self.input
        if told.command and told.description:
            return f"{told.command}  ({told.description})"
        return told.description if self.name in AGENTS and told.description else self.what


def describe(block: Block) -> str:
    """A call in a few words."""
    call = Call(block.name, asked(block.input), "", "")
    return f"{block.name}: {call.what}" if call.input.command else call.what


def asked(given: msgspec.Raw) -> Input:
    try:
        return _inputs.decode(given)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # A tool we do not know, whose words mean something else.
        return Input()


def plain(content: msgspec.Raw) -> str:
    """The text of a result; pictures are named as such."""
    try:
        given = _texts.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    if isinstance(given, str):
        return given
    return "\n".join("(a picture)" if t.type == "image" else t.text for t in given)


def task_id(told: msgspec.Raw) -> str:
    """The number a new task was given."""
    try:
        task = _told.decode(told).task
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    return str(task.id) if task is not None else ""


def items(content: msgspec.Raw) -> list[Item]:
    """A list of tasks as the client tells it; empty if it is something else."""
    try:
        found = _items.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return []
    return found if all(item.subject for item in found) else []


def seconds(timestamp: str) -> float:
    try:
        return datetime.fromisoformat(timestamp).timestamp()
    except (ValueError, OverflowError):
        return 0.0
