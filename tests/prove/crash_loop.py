"""An agent that dies at once every time: tried as often as allowed, then left alone, said once."""

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.kit.sm import Sm
from tests.kit.tmux import wait_until
from tests.prove.ledger import Verdict
from tests.prove.walkaway import configure

CONFIG = """
[recovery]
auto_recover = true
crash_budget = "{budget} in 15m"
"""
HOPELESS = "is not brought back any more"


@dataclass(slots=True)
class Loop:
    """What was seen of one."""

    session: str
    exits: int
    """How often its agent was started and died."""
    told: list[str]
    """What its parent was told of the end of it."""
    state: str
    listed: str
    shown: str
    doctor: Any
    next_recovery: float | None


def loop(sm: Sm, *, budget: int) -> Loop:
    """Let one agent die until nobody tries any more."""
    configure(sm, CONFIG.format(budget=budget))
    sm.new_demo("mum")
    session = sm.run("new", "ada", "--agent", "false", "--parent", "mum").strip()
    # The pauses before the tries: 0, 1, 5, 15 and 60 s.
    wait_until(lambda: sm.json("show", "ada")["hopeless"], 120, seen=lambda: sm.run("show", "ada"))
    wait_until(lambda: _told(sm), 20, seen=lambda: sm.received("mum"))
    sm.run("wait", "mum")
    detail = sm.json("show", "ada")
    # Something is bad: it says so with its exit code, too.
    findings = {f["what"]: f for f in json.loads(sm.start("doctor", "--json").stdout)}
    return Loop(
        session=session,
        exits=len([e for e in events(sm, session) if e["kind"] == "AgentExited"]),
        told=_told(sm),
        state=detail["state"],
        listed=sm.run("ls"),
        shown=sm.run("show", "ada"),
        doctor=findings.get("session ada"),
        next_recovery=detail["next_recovery"],
    )


def _told(sm: Sm) -> list[str]:
    return [text for text in sm.received("mum") if HOPELESS in text]


def events(sm: Sm, session: str) -> list[dict[str, Any]]:
    found: Any = sm.client().call("GET", f"/sessions/{session}/timeline", query={"limit": 1000})
    return list(found)


def given_up(sm: Sm, *, budget: int = 5, quiet: float = 60.0) -> tuple[Verdict, str]:
    """The whole size: the daemon is watched for a while afterwards."""
    seen = loop(sm, budget=budget)
    wrong = []
    if seen.exits != budget:
        wrong.append(f"it died {seen.exits} times")
    if len(seen.told) != 1:
        wrong.append(f"its parent was told {len(seen.told)} times")
    if "crashed!" not in seen.listed or HOPELESS not in seen.shown or seen.doctor is None:
        wrong.append("it is not to be seen")
    worker = int(sm.health()["worker"])
    before, cost = len(events(sm, seen.session)), _cpu_seconds(worker)
    time.sleep(quiet)
    happened = len(events(sm, seen.session)) - before
    spent = _cpu_seconds(worker) - cost
    if happened:
        wrong.append(f"{happened} events afterwards")
    verdict = Verdict(sent=budget, once=budget - len(wrong), changed=len(wrong))
    words = (
        f"died {seen.exits} times, said {len(seen.told)} time, then {happened} events and"
        f" {spent:.2f} s of CPU in {quiet:g} s"
    )
    return verdict, "; ".join([words, *wrong])


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
