"""The real Claude Code, killed with -9 while it passes from one context to the next.

Its model knows nothing but what it is given: a document that is lost on the way is a step that is
done again from the first one on, or never.
"""

import os
import signal
import time
from dataclasses import dataclass, field
from typing import Any, cast

from tests.kit.anthropic_api import Reply, Request, ToolUse
from tests.kit.sm import Sm, sm_home
from tests.kit.tmux import wait_until
from tests.prove.claude_rescue import AUTO, texts
from tests.prove.ladder import Desk
from tests.prove.ledger import CLOSED, Verdict
from tests.prove.walkaway import (
    CONFIG,
    TASK,
    Task,
    contexts_with_task,
    finish,
    judged,
    unattended,
)

REQUESTED, CAPTURING, CLEARING, PROMPTING = "requested", "capturing", "clearing", "prompting"
PATIENT = CONFIG.replace('deadline = "0s"', 'deadline = "10m"')
MARK = "MARKED-DOCUMENT"


@dataclass(slots=True)
class Obedient(Task):
    """Hands over itself as soon as it is asked to, and takes its time to end that turn."""

    def reply(self, request: Request) -> Reply:
        news = request.last_user_text
        usual = Task.reply(self, request)
        if not request.is_main or "crashed" in news:
            return usual
        if "Handoff scheduled" in news:
            return Reply(text="I wait for the next context.", delay=5.0)
        if "Context critically high" not in news:
            return usual
        done = self.command(len(self.lines))
        document = f"# Goal\n{TASK}\n{MARK}\n# Done\n{done}\n# Next actions\nGo on."
        tool = ToolUse(name="Bash", input={"command": f"sm handoff - <<'EOF'\n{document}\nEOF"})
        return Reply(text="I hand over.", tools=(tool,), usage=usual.usage)


@dataclass(slots=True)
class Passage:
    """What came of it."""

    ada: Desk
    task: Task
    killed_in: str = ""
    killed_at: float = 0.0
    wrong: list[str] = field(default_factory=list)
    ways: list[str] = field(default_factory=list)

    def die(self, state: str) -> None:
        """The moment a handoff is there."""
        client = self.ada.sm.client()
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            found = cast("list[dict[str, Any]]", client.get("/handoffs", session="ada"))
            if found and found[-1]["state"] == state:
                shown = cast("dict[str, Any]", client.get("/sessions/ada"))
                os.kill(shown["pid"], signal.SIGKILL)
                self.killed_at = time.time()
                return
        raise AssertionError(f"no handoff was {state}: {self.ada.report()}")

    def claim(self, words: str, *, holds: bool) -> None:
        if not holds:
            self.wrong.append(words)


def killed(sm: Sm, state: str, *, steps: int, own: bool) -> Passage:
    """One client that dies in the first handoff of its task, and ends the task all the same.

    ``own``: the agent hands over itself; otherwise sm does it for it.
    """
    task = (Obedient if own else Task)(steps=steps, file=sm.folder / "steps.txt")
    config = (PATIENT if own else CONFIG) + AUTO
    with unattended(sm, steps=steps, config=config, task=task) as (ada, _):
        one = Passage(ada, task)
        one.die(state)
        finish(ada, task, steps * 8)
        wait_until(lambda: is_settled(ada), 30, seen=ada.report)
        judge(one)
        return one


def is_settled(ada: Desk) -> bool:
    return all(message["state"] in CLOSED for message in ada.messages())


def judge(one: Passage) -> None:
    ada, task = one.ada, one.task
    shown = ada.sm.json("show", "ada")
    handoffs = ada.sm.json("handoffs", "ada")
    one.ways = [f"{r['way']} {r['state']}" for r in shown["recoveries"]]
    one.killed_in = " ".join(step["step"] for step in handoffs[0]["steps"])
    verdict = judged(task.lines, task.wanted)
    one.claim(f"steps: {task.lines}", holds=not verdict.lost and verdict.doubled <= 1)
    one.claim(f"brought back once: {one.ways}", holds=len(one.ways) == 1)
    asked = contexts_with_task(ada)
    one.claim(f"the request in every context: {asked}", holds=all(asked))
    first = next(r for r in ada.api.main_requests() if r.at > one.killed_at)
    if isinstance(task, Obedient):
        one.claim(f"the document: {texts(first)}", holds=MARK in str(first.body["messages"]))


STEPS = {True: 8, False: 10}
"""Fewer where the agent itself hands over: its model reads no files, and knows of none behind."""
DEATHS = tuple(
    (state, own)
    for state in (REQUESTED, CAPTURING, CLEARING, PROMPTING)
    for own in (True, False)
    # What sm requests itself is there for a moment only.
    if own or state != REQUESTED
)


def every_passage(_: Sm) -> tuple[Verdict, str]:
    """Each with a home of its own."""
    verdict = Verdict()
    for state, own in DEATHS:
        with sm_home() as sm:
            one = killed(sm, state, steps=STEPS[own], own=own)
        verdict.sent += 1
        verdict.once += not one.wrong
        verdict.changed += len(one.wrong)
        for words in one.wrong:
            print(f"  {state} ({one.killed_in}): {words}", flush=True)
    return verdict, f"{len(DEATHS)} handoffs cut; every task was ended"
