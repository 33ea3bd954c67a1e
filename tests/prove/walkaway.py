"""A long task, nobody there: contexts fill, sm hands over, and the work goes on where it was.

The model knows nothing but what it is given: it finds the next step in its own tool results, or
in the document of the context before. A step that is done twice or left out is seen in the file
the steps write.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.kit.anthropic_api import Reply, Request, ToolUse, Usage
from tests.kit.sm import Sm
from tests.kit.tmux import wait_until
from tests.prove.ladder import Desk, desk

TASK = "Do the steps in order, one command for each, and say when all are done. It's «urgent»."
CONFIG = """
[context_monitor]
early_threshold = 60_000
warning_threshold = 80_000
critical_threshold = 100_000
[handoff]
deadline = "0s"
cooldown = "0s"
"""
BASE, STEP = 20_000, 20_000
"""Tokens of an empty context, and of one step."""
_DONE = re.compile(r"echo step (\d+) >> ")


@dataclass(slots=True)
class Task:
    """Numbered steps, each a line in a file; and the model that does them."""

    steps: int
    file: Path
    begun: dict[str, int] = field(default_factory=dict)
    """Which step each context began with."""

    def reply(self, request: Request) -> Reply:
        if not request.is_main:
            return Reply(text="A task")
        given = str(request.body["messages"]) + str(request.body.get("system", ""))
        done = max(map(int, _DONE.findall(given)), default=0)
        self.begun.setdefault(request.session, done)
        here = done - self.begun[request.session]
        usage = Usage(input=10, cache_read=BASE + STEP * here)
        if done >= self.steps:
            return Reply(text="All steps are done.", usage=usage)
        command = f"echo step {done + 1} >> {self.file}"
        tool = ToolUse(name="Bash", input={"command": command})
        return Reply(text=f"Step {done + 1}.", tools=(tool,), usage=usage, delay=0.4)

    @property
    def lines(self) -> list[str]:
        return self.file.read_text().splitlines() if self.file.exists() else []

    @property
    def wanted(self) -> list[str]:
        return [f"step {number}" for number in range(1, self.steps + 1)]


@contextmanager
def unattended(sm: Sm, steps: int) -> Iterator[tuple[Desk, Task]]:
    """The real client in walk-away mode, with its task."""
    sm.home.config.parent.mkdir(parents=True, exist_ok=True)
    sm.home.config.write_text(CONFIG)
    task = Task(steps=steps, file=sm.folder / "steps.txt")
    with desk(sm, task.reply) as ada:
        sm.run(
            "new", "ada", "--agent", "claude", "--auto-handoff", "--prompt", TASK,
            environment=ada.environment, cwd=ada.home.cwd,
        )  # fmt: skip
        yield ada, task


def contexts_with_task(ada: Desk) -> list[bool]:
    """For each context of the session, whether its model was given the person's request whole."""
    asked: dict[str, bool] = {}
    for request in ada.api.main_requests():
        has_it = TASK in str(request.body["messages"]).replace("\\'", "'")
        asked[request.session] = asked.get(request.session, False) or has_it
    return list(asked.values())


def finish(ada: Desk, task: Task, timeout: float) -> None:
    wait_until(lambda: len(task.lines) >= task.steps, timeout, seen=ada.report)
    ada.sm.run("wait", ada.name, "--timeout", "30")
