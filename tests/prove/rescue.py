"""Sessions at work, nobody there, one fault after the other: the work gets done all the same."""

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.kit.runs import alive
from tests.kit.sm import Sm, sm_home
from tests.kit.tmux import private_tmux, wait_until
from tests.prove.faults import Havoc, plan, small_disk
from tests.prove.ledger import CLOSED, Verdict
from tests.prove.reckoning import (
    Excuses,
    Outcome,
    fault_table,
    judge_messages,
    judge_steps,
    orphans,
)
from tests.prove.unattended import Deed, Sender, Worker, asked
from tests.prove.walkaway import configure
from tests.prove.wrapped import Wrapped

CONFIG = """
[recovery]
auto_recover = true
crash_budget = "1000 in 2s"
at_once = {at_once}
[context_monitor]
fallback_tool_count = 1_000_000
[handoff]
deadline = "1h"
"""
DISK = "400m"


@contextmanager
def bystanders(names: list[str]) -> Iterator[dict[str, int]]:
    """Others on this host: another home's session of the same name, and a plain agent of nobody."""
    with sm_home() as other:
        other.new_demo(names[0])
        pid = int(other.json("show", names[0])["pid"])
        plain = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(36000)"])
        try:
            yield {
                "another home's agent": pid,
                "its daemon": int(other.health()["worker"]),
                "a plain process": plain.pid,
            }
        finally:
            plain.kill()
            plain.wait()


def chaos(
    sm: Sm,
    *,
    sessions: int,
    wrapped: int,
    steps: int,
    faults: int,
    pause: float,
    delay: float,
    seed: int = 1,
) -> tuple[Outcome, Havoc]:
    """All at work, and faults at random moments; what is left when the work is done.

    Some of the sessions begin as ``sm run``.
    """
    chance = random.Random(seed)
    with (
        small_disk(sm.base, DISK) as ballast,
        private_tmux() as terminal,
        bystanders([f"w{n}" for n in range(1, sessions + 1)]) as others,
    ):
        workers = [
            Wrapped(sm, f"w{n}", steps, terminal=terminal)
            if n <= wrapped
            else Worker(sm, f"w{n}", steps)
            for n in range(1, sessions + 1)
        ]
        configure(sm, CONFIG.format(at_once=4))
        havoc = Havoc(sm, chance, ballast)
        sender = Sender(sm, workers, every=pause)
        for worker in workers:
            worker.start(delay)
        try:
            with sender.sending():
                _wreak(
                    havoc, plan(chance, faults, wrapped=wrapped, disk=ballast is not None), pause
                )
            outcome = _settled(sm, workers, sender, havoc)
            outcome.hurt = [what for what, pid in others.items() if not alive(pid)]
        finally:
            havoc.end()
            # While its files can still be reached.
            sm.close()
    return outcome, havoc


def _wreak(havoc: Havoc, planned: list[str], pause: float) -> None:
    for what in planned:
        time.sleep(havoc.chance.uniform(0.02, 2 * pause))
        _make(havoc, what)
    havoc.end()


def _make(havoc: Havoc, what: str) -> None:
    """As soon as there is somebody it can be done to."""
    wait_until(lambda: havoc.make(what), 60, seen=lambda: f"{what}?\n{report(havoc)}")


def report(havoc: Havoc) -> str:
    """What may tell why it came to a halt."""
    sm = havoc.sm
    made = "\n".join(f"{at % 10_000:.2f} {what} {whose}" for at, what, whose in havoc.made[-12:])
    log = sm.home.log.read_text()[-3000:] if sm.home.log.exists() else ""
    told = [sm.start(*words).stdout for words in (("ls",), ("explain", "w1"), ("daemon",))]
    return "\n".join([made, *told, log, havoc.tmux("list-panes", "-a")])


def _settled(sm: Sm, workers: list[Worker], sender: Sender, havoc: Havoc) -> Outcome:
    """Wait until all is done, and hold it against what was asked."""

    def unfinished() -> str:
        rows = [w.name for w in workers if not w.is_through()]
        return "\n".join(f"{name}: {sm.start('explain', name).stdout}" for name in rows[:3])

    wait_until(
        lambda: all(w.is_through() for w in workers),
        900,
        seen=lambda: f"{unfinished()}\n{report(havoc)}",
    )

    def is_quiet() -> bool:
        found = asked(sm, "GET", "/sessions", all="false")
        messages = asked(sm, "GET", "/messages", limit=10_000)
        is_idle = all(s["state"] == "idle" for s in found) and len(found) == len(workers)
        return is_idle and all(m["state"] in CLOSED for m in messages)

    wait_until(is_quiet, 120, seen=lambda: sm.run("ls") + sm.run("messages", "--state", "queued"))
    outcome = Outcome()
    for worker in workers:
        crashes = worker.crashes()
        excuses = Excuses(havoc.blind)
        outcome.steps += judge_steps(worker.done, worker.steps, excuses)
        if excuses.missing:
            outcome.notes += _trail(sm, worker, havoc, excuses.missing)
        outcome.forgotten += excuses.forgotten
        outcome.again += len(worker.done) - worker.steps - excuses.forgotten
        judge_messages(worker, sender.sent, outcome)
        outcome.recoveries["crashes"] += len(crashes)
    outcome.notes += [f"refused, and said so: {why}" for why in set(sender.failed)]
    outcome.orphans = orphans(havoc, {w.id for w in workers})
    return outcome


def _trail(sm: Sm, worker: Worker, havoc: Havoc, missing: list[tuple[Deed, Deed]]) -> list[str]:
    """What happened to a session while it did a step again for no reason we know."""
    begin, end = missing[0][0].at - 5, missing[-1][1].at + 1
    steps = [(at, f"step {number} by {agent}") for at, agent, number in worker.done]
    faults = [(at, f"{what} {whose}") for at, what, whose in havoc.made if whose in ("", worker.id)]
    full = [edge for b, e in havoc.blind for edge in ((b, "disk full"), (e, "disk has room"))]
    events: list[tuple[float, str]] = []
    path, after = f"/sessions/{worker.id}/timeline", 0
    while found := asked(sm, "GET", path, after=after, limit=1000):
        events += [(event["at"], f"{event['kind']} {event['body']!s:.300}") for event in found]
        after = found[-1]["seq"]
    trail = sorted([*steps, *faults, *full, *events])
    again = ", ".join(str(deed.number) for _, deed in missing)
    told = [f"  {at % 10_000:8.2f} {words}" for at, words in trail if begin < at < end]
    return [f"{worker.name} ({worker.id}) did again: {again}", *told]


def thousand_faults(sm: Sm) -> tuple[Verdict, str]:
    outcome, havoc = chaos(sm, sessions=20, wrapped=6, steps=250, faults=1000, pause=0.3, delay=0.5)
    print(fault_table(havoc, outcome))
    words = (
        f"{len(havoc.made)} faults, {outcome.recoveries['crashes']} crashes, done again:"
        f" {outcome.again} steps in flight, {outcome.forgotten} that a full disk did not record;"
        f" {len(outcome.orphans)} orphans, {len(outcome.hurt)} others hurt"
    )
    return outcome.verdict, words
