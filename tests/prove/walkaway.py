"""Long tasks, nobody there: contexts fill, sm hands over, and the work goes on where it was.

The models know nothing but what they are given: they find the next step in their own tool results,
or in the document of the context before. A step that is done twice or left out is seen in the file
the steps write.
"""

import json
import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.kit.anthropic_api import Reply, Request, ToolUse, Usage
from tests.kit.sm import Sm
from tests.kit.tmux import wait_until
from tests.prove.ladder import Desk, desk
from tests.prove.ledger import Verdict

TASK = "Do the steps in order, one command for each, and say when all are done. It's «urgent»."
LEVELS = """
[context_monitor]
early_threshold = {early}
warning_threshold = {warning}
critical_threshold = {critical}
[handoff]
deadline = "{deadline}"
cooldown = "0s"
"""
CONFIG = LEVELS.format(early=60_000, warning=80_000, critical=100_000, deadline="0s")
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
        given = str(request.body["messages"]) + str(request.body.get("system", ""))
        done = max(map(int, _DONE.findall(given)), default=0)
        if request.is_compaction:
            self.begun[request.session] = done
            return Reply(text=f"<summary>{TASK} Done: {self.command(done)}</summary>")
        if not request.is_main:
            return Reply(text="A task")
        self.begun.setdefault(request.session, done)
        usage = self.usage(request, done)
        if done >= self.steps:
            return Reply(text="All steps are done.", usage=usage)
        tool = ToolUse(name="Bash", input={"command": self.command(done + 1)})
        return Reply(text=f"Step {done + 1}.", tools=(tool,), usage=usage, delay=0.4)

    def usage(self, request: Request, done: int) -> Usage:
        return Usage(input=10, cache_read=BASE + STEP * (done - self.begun[request.session]))

    def command(self, step: int) -> str:
        return f"echo step {step} >> {self.file}"

    @property
    def lines(self) -> list[str]:
        return self.file.read_text().splitlines() if self.file.exists() else []

    @property
    def wanted(self) -> list[str]:
        return [f"step {number}" for number in range(1, self.steps + 1)]


def configure(sm: Sm, text: str) -> None:
    sm.home.config.parent.mkdir(parents=True, exist_ok=True)
    sm.home.config.write_text(text)


@contextmanager
def unattended(
    sm: Sm,
    steps: int,
    *,
    config: str = CONFIG,
    task: Task | None = None,
    prompt: str = TASK,
    **environment: str,
) -> Iterator[tuple[Desk, Task]]:
    """The real client in walk-away mode, with its task."""
    configure(sm, config)
    task = task or Task(steps=steps, file=sm.folder / "steps.txt")
    with desk(sm, task.reply) as ada:
        sm.run(
            "new", "ada", "--agent", "claude", "--auto-handoff", "--prompt", prompt,
            environment={**ada.environment, **environment}, cwd=ada.home.cwd,
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


def _all_begun(ada: Desk) -> list[bool] | None:
    """As `contexts_with_task`, once every handoff has led to a context."""
    handoffs, asked = ada.sm.json("handoffs", "ada"), contexts_with_task(ada)
    return asked if len(asked) == len(handoffs) + 1 else None


def judged(lines: list[str], wanted: list[str]) -> Verdict:
    """What became of the steps."""
    firsts = list(dict.fromkeys(line for line in lines if line in wanted))
    return Verdict(
        sent=len(wanted),
        once=sum(lines.count(step) == 1 for step in wanted),
        lost=sum(step not in lines for step in wanted),
        doubled=sum(lines.count(step) > 1 for step in wanted),
        changed=sum(line not in wanted for line in lines),
        disordered=sum(a != b for a, b in zip(firsts, wanted, strict=False)),
    )


def prove_task(sm: Sm, *, steps: int = 30) -> tuple[Verdict, str]:
    """One task of the real client's through as many contexts as it takes."""
    with unattended(sm, steps=steps) as (ada, task):
        finish(ada, task, steps * 6)
        # The last context may have been full, too.
        asked = wait_until(lambda: _all_begun(ada), 60, seen=ada.report)
        verdict = judged(task.lines, task.wanted)
        verdict.changed += asked.count(False)
        compactions = sum(request.is_compaction for request in ada.api.requests)
        words = (
            f"{steps} steps, {len(asked)} contexts, {compactions} compactions;"
            f" {asked.count(True)} were given the request word for word"
        )
        return verdict, words


# --- many at once, with the demo agent -----------------------------------------------------------

REQUEST = "Do all of it, {name}. It's «urgent»."
SMALL = LEVELS.format(early=6_000, warning=9_000, critical=12_000, deadline="0s")
WINDOW = "40000"


@dataclass(slots=True)
class Worker:
    """One demo agent with a task of its own."""

    sm: Sm
    name: str
    steps: int
    fill: int
    """Lines that each step prints."""

    @property
    def file(self) -> Path:
        return self.sm.folder / f"{self.name}.txt"

    @property
    def request(self) -> str:
        command = f"echo {self.name} {{}} >> {self.file}; seq {self.fill}"
        return f"{REQUEST.format(name=self.name)}\n%task {self.steps} {command}"

    def start(self, delay: float) -> None:
        self.sm.run(
            "new", self.name, "--agent", "demo", "--auto-handoff", "--prompt", self.request, "--",
            "--received", str(self.sm.received_file(self.name)), "--delay", str(delay),
            "--window", WINDOW,
        )  # fmt: skip

    @property
    def lines(self) -> list[str]:
        return self.file.read_text().splitlines() if self.file.exists() else []

    @property
    def wanted(self) -> list[str]:
        return [f"{self.name} {number}" for number in range(1, self.steps + 1)]

    def handoffs(self) -> list[dict[str, Any]]:
        return list(self.sm.json("handoffs", self.name, "--limit", "1000"))

    def account(self) -> tuple[list[dict[str, Any]], list[str]] | None:
        """Its handoffs and what its contexts were given; None while anything is under way.

        Its last context may have been full, too: a handoff that begins in between is seen.
        """
        handoffs, contexts = self.handoffs(), self.contexts()
        shown = self.sm.json("show", self.name)
        is_done = all(h["state"] == "done" for h in handoffs)
        is_whole = is_done and len(handoffs) + 1 == shown["context"]["number"]
        is_settled = shown["state"] == "idle" and shown["handoff"] is None
        is_same = handoffs == self.handoffs()
        return (handoffs, contexts) if is_whole and is_settled and is_same else None

    def given(self) -> list[tuple[str, str]]:
        """What its model got: by which way, and the text."""
        lines = self.sm.received_file(self.name).read_text().splitlines()
        return [(note["via"], note["prompt"]) for note in map(json.loads, lines)]

    def contexts(self) -> list[str]:
        """Everything each of its contexts was given, in one text."""
        found: list[str] = []
        for via, text in self.given():
            if via in ("hook SessionStart:startup", "hook SessionStart:clear"):
                found.append("")
            found[-1] += text
        return found


def side_by_side(
    sm: Sm, *, sessions: int, steps: int, seed: int = 1, timeout: float = 120
) -> tuple[Verdict, str]:
    """Sessions of one project, each with its own task, filling up at random times."""
    configure(sm, SMALL)
    chance = random.Random(seed)
    names = [f"w{n}x" for n in range(1, sessions + 1)]
    workers = [Worker(sm, name, steps, chance.randrange(1800, 3000)) for name in names]
    for worker in workers:
        worker.start(chance.uniform(0.02, 0.1))
    wait_until(lambda: all(len(w.lines) >= w.steps for w in workers), timeout, seen=_seen(workers))
    verdict, rotations, compactions = Verdict(), 0, 0
    found: list[str] = []
    for worker in workers:
        handoffs, contexts = wait_until(worker.account, 60, seen=_seen(workers))
        verdict += judged(worker.lines, worker.wanted)
        rotations += len(handoffs)
        compactions += sum("SessionStart:compact" in via for via, _ in worker.given())
        found += mixed_up(worker, handoffs, contexts, names)
    verdict.changed += len(found)
    words = f"{sessions} sessions, {rotations} rotations, {compactions} compactions"
    return verdict, "; ".join((words, *(found or ["0 mix-ups"])))


def mixed_up(
    worker: Worker, handoffs: list[dict[str, Any]], contexts: list[str], names: list[str]
) -> list[str]:
    """Where a context was not given its own request whole, or anything of somebody else's."""
    others = [name for name in names if name != worker.name]
    ids = [h["id"] for h in handoffs]
    wrong: list[str] = []
    for number, text in enumerate(contexts):
        where = f"context {number + 1} of {worker.name}"
        if worker.request not in text:
            wrong.append(f"{where} lacks its request")
        wrong += [f"{where} has something of {name}" for name in others if name in text]
        loaded = re.findall(r"HANDOFF LOADED \(ID: (\S+)\)", text)
        if loaded != ids[number - 1 : number]:
            wrong.append(f"{where} was given handoffs {loaded}")
    if len(contexts) != len(ids) + 1:
        wrong.append(f"{worker.name} has {len(contexts)} contexts, and handoffs {handoffs}")
    return wrong


def _seen(workers: list[Worker]) -> Any:
    return lambda: "\n".join(
        f"{w.name} {len(w.lines)}/{w.steps} {w.sm.run('explain', w.name)}" for w in workers
    )
