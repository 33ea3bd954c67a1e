"""What an agent did with its tools: files, commands, failures, its list, what is still running.

Told call by call and result by result, in any order; a deed counts when its result is there. A
command that only says no (``grep`` without a hit) has not failed.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import msgspec

from sm.adapters.agents.claude import calls
from sm.adapters.agents.claude.calls import (
    AGENTS,
    CHANGES,
    READS,
    Call,
    Input,
    Item,
    plain,
    seconds,
)
from sm.adapters.agents.claude.entries import Block
from sm.core.redirections import written_by
from sm.core.shortening import ends
from sm.core.story import Command, Decision, Failure, Todo, TouchedFile, Trouble, Unfinished

STOPS = frozenset({"TaskStop", "KillShell", "KillBash"})
OUTPUTS = frozenset({"TaskOutput", "BashOutput", "AgentOutput"})
_STATUS = re.compile(r"(?:Error: )?Exit code (\d+)\n?")
_REFUSED = re.compile(
    r"The user doesn't want to (?:proceed with this tool use|take this action)"
    r"|Permission for this tool use was denied"
)
_ADVICE = re.compile(r".*?the user said:\s*(.+)", re.DOTALL | re.IGNORECASE)
_BACKGROUND = re.compile(r"Command (?:running|was|is)[^.\n]*? with ID: (\w+)")
_LAUNCHED = re.compile(r"agentId: (\w+)")
_NUMBER = re.compile(r"#(\w+)")
_CLIENTS_OWN = ("(Bash completed", "Command running in background", "<persisted-output>")
"""What the client says in place of what a command printed."""
_TAGS = re.compile(r"</?tool_use_error>")


@dataclass(slots=True)
class _File:
    reads: int = 0
    changes: int = 0
    at: str = ""


@dataclass(slots=True)
class Deeds:
    """Collects; ``told`` values are read off at the end."""

    open: dict[str, Call] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)
    troubles: dict[str, Trouble] = field(default_factory=dict)
    advice: list[tuple[str, str]] = field(default_factory=list)
    """What the person said instead of letting a tool run, and when."""
    _early: dict[str, Callable[[], None]] = field(default_factory=dict)
    """Results that stand before their calls."""
    _files: dict[str, _File] = field(default_factory=dict)
    _commands: dict[str, Command] = field(default_factory=dict)
    _failures: dict[str, Failure] = field(default_factory=dict)
    _todos: list[Item] = field(default_factory=list)
    _tasks: dict[str, Item] = field(default_factory=dict)
    _running: dict[str, Unfinished] = field(default_factory=dict)
    _task_of: dict[str, str] = field(default_factory=dict)

    def called(self, block: Block, at: str, cwd: str) -> None:
        self.open[block.id] = Call(block.name, calls.asked(block.input), at, cwd)
        if (early := self._early.pop(block.id, None)) is not None:
            early()

    def answered(self, call_id: str, at: str, last_line: str = "") -> None:
        """A result that is no error and of which nothing else matters."""
        call = self.open.pop(call_id, None)
        if call is not None:
            self._done(call, at, last_line)
        else:
            self._early[call_id] = lambda: self.answered(call_id, at, last_line)

    def result(self, block: Block, at: str, told: msgspec.Raw) -> None:
        call = self.open.pop(block.tool_use_id, None)
        if call is None:
            self._early[block.tool_use_id] = lambda: self.result(block, at, told)
            return
        text = plain(block.content)
        if block.is_error:
            self._failed(call, at, _TAGS.sub("", text))
            return
        self._done(call, at, _last_line(text) if call.name == "Bash" else "")
        if text.startswith("Command ") and (moved := _BACKGROUND.match(text)):
            self._begun("background command", call, moved[1], block.tool_use_id, at)
        elif call.name in AGENTS and text.startswith("Async agent launched"):
            task = _LAUNCHED.search(text)
            self._begun("sub-agent", call, task[1] if task else "", block.tool_use_id, at)
        elif call.name == "TaskCreate":
            self._created(call, text, told)
        elif call.name == "AskUserQuestion" and text:
            self.decisions.append(Decision(text=ends(text), at=seconds(at)))
        elif call.name in OUTPUTS and "<status>running" not in text and "<status>" in text:
            self.ended(call.input.task_id or call.input.bash_id)

    def ended(self, task: str, call_id: str = "") -> None:
        """A task in the background is over."""
        self._running.pop(task or self._task_of.get(call_id, ""), None)

    def reminded(self, content: msgspec.Raw) -> None:
        """The client itself tells the whole list; an empty one says nothing."""
        if listed := calls.items(content):
            self._tasks = {str(item.id): item for item in listed}

    def trouble(self, text: str, at: str) -> None:
        known = self.troubles.pop(text, None)
        times = known.times + 1 if known else 1
        self.troubles[text] = Trouble(text=text, at=seconds(at), times=times)

    # --- read off at the end

    @property
    def todos(self) -> tuple[Todo, ...]:
        items = [(i.content, i.status) for i in self._todos]
        items += [(i.subject, i.status) for i in self._tasks.values()]
        opened = (item for item in items if item[1] in ("pending", "in_progress"))
        return tuple(Todo(text=text, is_begun=status == "in_progress") for text, status in opened)

    @property
    def files(self) -> tuple[TouchedFile, ...]:
        found = sorted(self._files.items(), key=lambda item: item[1].at)
        return tuple(
            TouchedFile(path=path, reads=f.reads, changes=f.changes, at=seconds(f.at))
            for path, f in found
        )

    @property
    def commands(self) -> tuple[Command, ...]:
        return tuple(sorted(self._commands.values(), key=lambda command: command.at))

    @property
    def failures(self) -> tuple[Failure, ...]:
        return tuple(sorted(self._failures.values(), key=lambda failure: failure.at))

    @property
    def unfinished(self) -> tuple[Unfinished, ...]:
        halves = [
            Unfinished(kind=call.kind, what=call.described, at=seconds(call.at), call=call_id)
            for call_id, call in self.open.items()
        ]
        return tuple(sorted([*self._running.values(), *halves], key=lambda one: one.at))

    # --- one result

    def _done(self, call: Call, at: str, last_line: str) -> None:
        name, told = call.name, call.input
        if name == "Bash":
            self._ran(call, at, last_line, failed=False, status=0)
            for path in written_by(told.command):
                self._touch(_whole(path, call.cwd), at, changed=True)
        elif name in READS or name in CHANGES:
            path = told.file_path or told.notebook_path
            self._touch(_whole(path, call.cwd), at, changed=name in CHANGES)
        elif name == "TodoWrite":
            self._todos = told.todos
        elif name == "TaskUpdate":
            self._updated(told)
        elif name == "ExitPlanMode" and told.plan:
            self.decisions.append(Decision(text=told.plan, at=seconds(at), is_plan=True))
        elif name in STOPS:
            self.ended(told.task_id or told.shell_id)
        if (known := self._failures.get(call.what)) is not None:
            self._failures[call.what] = replace(known, is_mended=True)

    def _failed(self, call: Call, at: str, error: str) -> None:
        if _REFUSED.match(error):
            self.trouble(f"The person refused or stopped: {call.what}", at)
            if advice := _ADVICE.match(error):
                self.advice.append((advice[1], at))
            return
        found = _STATUS.match(error)
        status = int(found[1]) if found else None
        said = error[found.end() :] if found else error
        only_no = status == 1 and not said.strip()
        if call.name == "Bash":
            self._ran(call, at, ends(said.strip()), failed=not only_no, status=status)
        if only_no:
            return
        known = self._failures.pop(call.what, None)
        self._failures[call.what] = Failure(
            what=call.what,
            error=ends(error.strip()),
            at=seconds(at),
            tries=known.tries + 1 if known else 1,
        )

    def _ran(self, call: Call, at: str, said: str, *, failed: bool, status: int | None) -> None:
        known = self._commands.get(call.input.command)
        began, ended = seconds(call.at), seconds(at)
        self._commands[call.input.command] = Command(
            line=call.input.command,
            at=ended,
            runs=known.runs + 1 if known else 1,
            failures=(known.failures if known else 0) + failed,
            is_failed=failed,
            status=status,
            seconds=max(0.0, ended - began) if began and ended else None,
            said=said,
        )

    def _touch(self, path: str, at: str, *, changed: bool) -> None:
        if not path:
            return
        file = self._files.setdefault(path, _File())
        file.changes += changed
        file.reads += not changed
        file.at = max(file.at, at)

    def _begun(self, kind: str, call: Call, task: str, call_id: str, at: str) -> None:
        self._task_of[call_id] = task or call_id
        if (known := self._commands.get(call.input.command)) is not None:
            self._commands[known.line] = replace(known, is_background=True)
        self._running[task or call_id] = Unfinished(
            kind=kind, what=call.described, at=seconds(at), id=task
        )

    def _created(self, call: Call, text: str, told: msgspec.Raw) -> None:
        number = _NUMBER.search(text)
        task_id = calls.task_id(told) or (number[1] if number else "")
        self._tasks[task_id] = Item(subject=call.input.subject, status="pending", id=task_id)

    def _updated(self, told: Input) -> None:
        known = self._tasks.get(str(told.taskId))
        if known is not None:
            known.status = told.status or known.status
            known.subject = told.subject or known.subject


def _last_line(text: str) -> str:
    if text.startswith(_CLIENTS_OWN):
        return ""
    return ends(text.rstrip().rpartition("\n")[2])


def _whole(path: str, cwd: str) -> str:
    return path if not path or path.startswith(("/", "~")) else f"{cwd}/{path.removeprefix('./')}"
