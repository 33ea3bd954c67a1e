"""Sessions that hand their work over to a fresh context, again and again, through any crash.

What counts is what the models were given: each first prompt once, in a context that begins with
it, and everything that was sent meanwhile once and behind it.
"""

import random
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any, cast

from sm.api.client import Client
from sm.core.envelope import message_in
from tests.kit.anthropic_api import DONE, Reply, Request, ToolUse, by_prompt
from tests.kit.faulty import start_faulty
from tests.kit.sm import Sm
from tests.kit.tmux import wait_until
from tests.prove.ladder import MODES, Desk, desk
from tests.prove.ledger import Ledger, Verdict, begin

ASKED = "HAND-OVER"
DOCUMENT = """# Goal
Keep going.
# State
Half of it is done.
# Next actions
The other half.
"""
_FIRST = "and continue from where you left off."


def _restarts(sm: Sm) -> int:
    """How often the worker was started again; it may be killed in the very moment."""
    return int(cast("dict[str, Any]", Client(sm.home).get("/health"))["restarts"])


# --- the real client -----------------------------------------------------------------------


@dataclass(slots=True)
class Times:
    """How long each handoff took, from the turn's end to the accepted prompt."""

    whole: list[float] = field(default_factory=list)
    client: list[float] = field(default_factory=list)
    """The part spent waiting for the client: to clear, and to take the prompt in."""

    def note(self, handoff: dict[str, Any]) -> None:
        at = {step["step"]: step["at"] for step in handoff["steps"]}
        self.whole.append(at["accepted"] - at["ended"])
        self.client.append(at["cleared"] - at["entered"] + at["accepted"] - at["prompted"])

    def words(self) -> str:
        return (
            f"{len(self.whole)} handoffs, median {median(self.whole):.2f} s, "
            f"slowest {max(self.whole):.2f} s, "
            f"the client's own share {median(self.client):.2f} s"
        )


@dataclass(slots=True)
class Rotating:
    """One real client that hands over whenever it is told to."""

    desk: Desk
    document: Path
    times: Times = field(default_factory=Times)

    @property
    def sm(self) -> Sm:
        return self.desk.sm

    def handoffs(self) -> list[dict[str, Any]]:
        return cast("list[dict[str, Any]]", self.sm.json("handoffs", self.desk.name))

    def begin(self) -> int:
        """Have the agent ask for a handoff; how many there were before."""
        self.desk.settle()
        before = len(self.handoffs())
        self.desk.prompt(f"{ASKED} {secrets.token_hex(4)}")
        return before

    def wait_for_request(self, before: int) -> None:
        wait_until(lambda: len(self.handoffs()) > before, 30, seen=self.desk.report)

    def finish(self, before: int) -> dict[str, Any]:
        wait_until(lambda: self._done(before), 60, seen=self.desk.report)
        handoff = self.handoffs()[-1]
        self.times.note(handoff)
        return handoff

    def _done(self, before: int) -> bool:
        found = self.handoffs()
        return len(found) == before + 1 and found[-1]["state"] == "done"


def first_prompts(desk: Desk) -> dict[str, list[Request]]:
    """The requests that held a first prompt, by its message id; the first of each context only."""
    found: dict[str, list[Request]] = {}
    seen: set[str] = set()
    for request in desk.api.main_requests():
        if request.session in seen:
            continue
        seen.add(request.session)
        message = message_in(request.prompt)
        if message is not None and _FIRST in request.prompt:
            found.setdefault(message, []).append(request)
    return found


@contextmanager
def rotating(sm: Sm, *, linger: float = 0.0) -> Iterator[Rotating]:
    """A client whose model hands over when asked to, and then says a last word ``linger`` later."""
    document = sm.work / "handoff.md"
    document.write_text(DOCUMENT)
    tool = ToolUse(name="Bash", input={"command": f"sm handoff {document}"})
    said = Reply(text="I hand over.", tools=(tool,))
    script = by_prompt([(ASKED, said)], otherwise=replace(DONE, delay=linger))
    with desk(sm, script) as d:
        # In its default permission mode: a dialog would be seen as a handoff that never comes.
        (d.home.config / "settings.json").write_text("{}")
        d.start()
        yield Rotating(d, document)


def real_client(sm: Sm, *, times: int) -> tuple[Verdict, str]:
    """One handoff after another; every first request of a new context holds that context alone."""
    with rotating(sm) as one:
        before = sm.json("show", "ada")
        for number in range(times):
            one.finish(one.begin())
            shown = sm.json("show", "ada")
            assert shown["context"]["number"] == number + 2
            assert [shown[key] for key in ("id", "name", "tmux", "parent")] == [
                before[key] for key in ("id", "name", "tmux", "parent")
            ]
        one.desk.settle()
        return judge(one), one.times.words()


def judge(one: Rotating, *, last: int = 0) -> Verdict:
    """Each handoff's prompt was the first thing its context was asked, once, and nothing older;
    of all of them, or of the last few."""
    prompts = first_prompts(one.desk)
    handoffs = one.handoffs()[-last:]
    verdict = Verdict(sent=len(handoffs))
    for handoff in handoffs:
        asked = [
            r for rs in prompts.values() for r in rs
            if f"Read {handoff['document']} {_FIRST}" in r.prompt
        ]  # fmt: skip
        verdict.once += len(asked) == 1
        verdict.lost += len(asked) == 0
        verdict.doubled += len(asked) > 1
        verdict.changed += any(ASKED in str(r.body["messages"]) for r in asked)
        verdict.unreceipted += not is_proved(handoff)
    return verdict


def is_proved(handoff: dict[str, Any]) -> bool:
    steps = [step["step"] for step in handoff["steps"]]
    wanted = ["requested", "ended", "captured", "cleared", "prompted", "accepted", "done"]
    return list(dict.fromkeys(step for step in steps if step in wanted)) == wanted


def sent_meanwhile(sm: Sm, *, messages: int, seed: int = 5) -> tuple[Verdict, str]:
    """Messages of all modes sent while the client passes from one context to the next."""
    chance = random.Random(seed)
    with rotating(sm) as one:
        d, late = one.desk, 0
        while len(d.sent) < messages:
            before = one.begin()
            one.wait_for_request(before)
            burst = [
                d.send(f"meanwhile {secrets.token_hex(3)}", chance.choice(MODES))
                for _ in range(min(chance.choice([2, 5, 8]), messages - len(d.sent)))
            ]
            handoff = one.finish(before)
            d.settle()
            late += _came_too_early(d, handoff, burst)
        verdict = d.judge()
        verdict.disordered += late
        return verdict + judge(one), one.times.words()


def every_commit_of_the_real_client(
    sm: Sm, *, stride: int = 1, first: int = 1
) -> Iterator[tuple[int, str, Verdict]]:
    """The daemon killed with -9 at every commit while the real client hands over."""
    with start_faulty(sm), rotating(sm) as one:
        for when in ("before", "after"):
            at = first
            while True:
                one.desk.settle()
                restarts = _restarts(sm)
                sm.plan_kill(at=sm.commits() + at, when=when)
                one.finish(one.begin())
                one.desk.settle()
                was_killed = _restarts(sm) - restarts
                if was_killed == 0:
                    break
                yield at, when, judge(one, last=1)
                at += stride


def _came_too_early(d: Desk, handoff: dict[str, Any], burst: list[str]) -> int:
    """How many were accepted before the new context's first prompt was."""
    accepted = next(s["at"] for s in handoff["steps"] if s["step"] == "accepted")
    trails = {m["id"]: m["receipts"] for m in d.messages()}
    at = [next(r["at"] for r in trails[m] if r["step"] == "accepted") for m in burst]
    return sum(one < accepted for one in at)


# --- the demo agent, and a daemon that dies -----------------------------------------------------


def scripted_run(sm: Sm) -> Verdict:
    """A session hands over in its first turn, is told two things meanwhile, and is ended."""
    name = f"run-{secrets.token_hex(2)}x"
    document = sm.work / f"{name}.md"
    document.write_text(DOCUMENT)
    client = begin(sm, name)
    ledger = Ledger(sm)
    ledger.send(name, f"hand over\n%tool sm handoff {document}\n%work 0.3")
    wait_until(lambda: _handoffs(client, name) != [], 30, seen=lambda: sm.screen(name))
    ledger.send(name, "one")
    ledger.send(name, "two")

    def report() -> str:
        return "\n".join(
            [sm.run("handoffs", name), sm.run("messages", name, "--receipts"), sm.screen(name)]
        )

    wait_until(lambda: _is_over(client, name) and ledger.all_done(), 60, seen=report)
    verdict = ledger.judge() + _passed_once(sm, client, name)
    client.call("DELETE", f"/sessions/{name}")
    return verdict


def _handoffs(client: Client, name: str) -> list[dict[str, Any]]:
    found = client.call("GET", "/handoffs", query={"session": name})
    return cast("list[dict[str, Any]]", found)


def _is_over(client: Client, name: str) -> bool:
    return all(h["state"] in ("done", "failed") for h in _handoffs(client, name))


def _passed_once(sm: Sm, client: Client, name: str) -> Verdict:
    """The handoff came through once, with its prompt before what was sent meanwhile; or it was
    undone, and no such prompt was ever given."""
    (handoff,) = _handoffs(client, name)
    prompts = sm.received(name)
    firsts = [n for n, p in enumerate(prompts) if _FIRST in p]
    if handoff["state"] == "failed":
        return Verdict(sent=1, once=int(not firsts), doubled=len(firsts))
    context = cast("dict[str, Any]", client.get(f"/sessions/{name}"))["context"]["number"]
    is_early = any(
        n < firsts[0] for n, p in enumerate(prompts) if _text(p) in ("one", "two")
    ) if firsts else False  # fmt: skip
    return Verdict(
        sent=1,
        once=int(len(firsts) == 1),
        lost=int(not firsts),
        doubled=max(0, len(firsts) - 1) + int(context != handoff["context"] + 1),
        disordered=int(is_early),
        unreceipted=int(not is_proved(handoff)),
    )


def _text(prompt: str) -> str:
    lines = prompt.split("\n")
    return lines[1] if message_in(prompt) is not None and len(lines) > 1 else ""


def every_commit(sm: Sm, *, stride: int = 1, first: int = 1) -> Iterator[tuple[int, str, Verdict]]:
    """The daemon killed with -9 at every commit of such a run, on both sides of it."""
    with start_faulty(sm):
        sm.new_demo("bystander")
        for when in ("before", "after"):
            at = first
            while True:
                restarts = _restarts(sm)
                sm.plan_kill(at=sm.commits() + at, when=when)
                verdict = scripted_run(sm)
                was_killed = _restarts(sm) - restarts
                if was_killed == 0:
                    break
                assert was_killed == 1, f"{was_killed} restarts in one run"
                yield at, when, verdict
                at += stride
