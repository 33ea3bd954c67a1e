"""The daemon killed with -9 at every commit point of a scripted run, on both sides of it."""

import secrets
from collections.abc import Iterator
from typing import Any, cast

from tests.kit.faulty import start_faulty
from tests.kit.sm import Sm
from tests.kit.tmux import wait_until
from tests.prove.ledger import Ledger, Verdict, begin


def scripted_run(sm: Sm, sender: str) -> Verdict:
    """A session is started, told four things by two senders, and ended."""
    name = f"run-{secrets.token_hex(2)}x"
    client = begin(sm, name)
    ledger = Ledger(sm)
    ledger.send(name, "first, with a tool\n%tool true")
    ledger.send(name, "second", sender=sender)
    ledger.send(name, "ahead of the second if it waits", mode="important")
    ledger.send(name, "third")
    wait_until(ledger.all_done, 60, seen=lambda: sm.run("messages", name, "--receipts"))
    verdict = ledger.judge()
    notices = [p for p in sm.received(sender) if f"{name} stopped" in p]
    verdict.lost += len(notices) == 0
    verdict.doubled += max(0, len(notices) - 1)
    client.call("DELETE", f"/sessions/{name}")
    state = cast("dict[str, Any]", client.get(f"/sessions/{name}"))["state"]
    assert state == "ended"
    return verdict


def every_commit(sm: Sm, *, stride: int = 1, first: int = 1) -> Iterator[tuple[int, str, Verdict]]:
    """One run for each commit point and side, until the run is over before the point comes."""
    with start_faulty(sm):
        sm.new_demo("sender")
        for when in ("before", "after"):
            at = first
            while True:
                restarts = sm.health()["restarts"]
                sm.plan_kill(at=sm.commits() + at, when=when)
                verdict = scripted_run(sm, "sender")
                was_killed = sm.health()["restarts"] - restarts
                if was_killed == 0:
                    break
                assert was_killed == 1, f"{was_killed} restarts in one run"
                yield at, when, verdict
                at += stride
