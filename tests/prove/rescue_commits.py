"""The daemon killed with -9 at every commit of a recovery, on both sides of it.

However often it is asked again: the agent is started once, told once, and nothing that was on its
way to it is lost or given twice.
"""

import os
import secrets
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from sm.adapters.system import ProcessTable
from sm.api.client import Client
from sm.core.envelope import message_in
from sm.core.ids import SessionId
from tests.kit.faulty import start_faulty
from tests.kit.sm import Sm
from tests.kit.tmux import wait_until
from tests.prove.ledger import Ledger, Verdict, begin

WAYS = ("resume", "fresh")
TOLD = "crashed"
BANNER = b"Replies without a model"
"""What the demo agent shows first."""


@dataclass(slots=True)
class Run:
    """One demo agent that dies in a turn, with messages waiting, and is brought back."""

    sm: Sm
    way: str
    name: str = field(default_factory=lambda: f"run-{secrets.token_hex(2)}x")
    ledger: Ledger = field(init=False)
    client: Client = field(init=False)

    def live(self) -> None:
        self.ledger = Ledger(self.sm)
        self.client = begin(self.sm, self.name)
        self.ledger.send(self.name, "remember 4711")
        wait_until(self.ledger.all_done, 60, seen=self.seen)
        self.ledger.send(self.name, "work for long\n%work 600")
        # Its model must have it: what was only taken is told once more, and counted nowhere.
        wait_until(lambda: len(self.sm.received(self.name)) == 2, 60, seen=self.seen)
        wait_until(lambda: self.shown()["state"] == "working", 60, seen=self.seen)
        self.ledger.send(self.name, "sent before")

    def die_and_come_back(self) -> None:
        os.kill(self.shown()["pid"], signal.SIGKILL)
        wait_until(lambda: self.shown()["state"] == "crashed", 60, seen=self.seen)
        body = {"id": secrets.token_hex(4), "way": self.way}
        self.client.call("POST", f"/sessions/{self.name}/recover", body)
        self.ledger.send(self.name, "sent meanwhile")
        wait_until(self._is_over, 90, seen=self.seen)

    def _is_over(self) -> bool:
        recoveries = self.shown()["recoveries"]
        return recoveries[-1]["ended_at"] is not None and self.ledger.all_done()

    def shown(self) -> dict[str, Any]:
        return cast("dict[str, Any]", self.client.call("GET", f"/sessions/{self.name}"))

    def seen(self) -> str:
        told = [self.sm.run(word, self.name) for word in ("show", "explain")]
        return "\n".join([*told, self.sm.run("messages", self.name, "--receipts")])

    # --- what came of it

    def judge(self) -> Verdict:
        verdict = self.ledger.judge()
        shown, prompts = self.shown(), self.sm.received(self.name)
        (recovery,) = shown["recoveries"]
        told = [at for at, prompt in enumerate(prompts) if TOLD in prompt]
        late = [at for at, prompt in enumerate(prompts) if is_late(prompt)]
        verdict.sent += 1
        verdict.once += len(told) == 1
        verdict.lost += not told
        verdict.doubled += len(told) > 1
        verdict.doubled += self.starts() != 2
        verdict.doubled += self.agents() != [shown["pid"]]
        verdict.disordered += not told or any(at < told[0] for at in late)
        verdict.changed += recovery["state"] != "done" or recovery["way"] != self.way
        return verdict

    def starts(self) -> int:
        """How often its agent was started, as its terminal shows."""
        return Path(self.shown()["raw_log"]).read_bytes().count(BANNER)

    def agents(self) -> list[int]:
        found = ProcessTable().marked(SessionId(self.shown()["id"]))
        agents = {one.pid: one for one in found if "--received" in one.command}
        # What it starts has its words until it becomes itself.
        return [pid for pid, one in agents.items() if one.parent not in agents]


def is_late(prompt: str) -> bool:
    """Whether it is one of those that had to wait for the recovery."""
    is_message = message_in(prompt) is not None and TOLD not in prompt
    return is_message and ("sent before" in prompt or "sent meanwhile" in prompt)


def every_commit(
    sm: Sm, *, stride: int = 1, first: int = 1, ways: tuple[str, ...] = WAYS
) -> Iterator[tuple[int, str, Verdict]]:
    """One run for each commit point, side and way, until all is over before the point comes."""
    with start_faulty(sm):
        for way in ways:
            for when in ("before", "after"):
                at = first
                while True:
                    run = Run(sm, way)
                    run.live()
                    restarts = _restarts(sm)
                    sm.plan_kill(at=sm.commits() + at, when=when)
                    run.die_and_come_back()
                    verdict = run.judge()
                    was_killed = _restarts(sm) - restarts
                    run.client.call("DELETE", f"/sessions/{run.name}")
                    if was_killed == 0:
                        break
                    assert was_killed == 1, f"{was_killed} restarts in one run"
                    yield at, f"{when}, {way}", verdict
                    at += stride


def _restarts(sm: Sm) -> int:
    return int(cast("dict[str, Any]", Client(sm.home).call("GET", "/health"))["restarts"])
