"""What was sent, set against what the agents' models really got."""

import secrets
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, cast

from sm.api.client import Client
from sm.core.envelope import message_in, unwrap
from tests.kit.sm import Sm

CLOSED = ("done", "expired", "refused", "cancelled")


def begin(sm: Sm, name: str) -> Client:
    """Start a demo agent through the API, as often as it takes until it is confirmed."""
    client = Client(sm.home)
    body = {
        "id": secrets.token_hex(4),
        "name": name,
        "agent": "demo",
        "arguments": ["--received", str(sm.received_file(name)), "--delay", "0"],
        "cwd": str(sm.work),
        "environment": sm.environment,
    }
    client.call("POST", "/sessions", body)
    return client


@dataclass(slots=True)
class Verdict:
    """Counts to print; anything but zero in the last four is a failure."""

    sent: int = 0
    once: int = 0
    lost: int = 0
    doubled: int = 0
    changed: int = 0
    disordered: int = 0
    unreceipted: int = 0

    @property
    def holds(self) -> bool:
        return self.once == self.sent and not (
            self.lost or self.doubled or self.changed or self.disordered or self.unreceipted
        )

    def __add__(self, other: "Verdict") -> "Verdict":
        return Verdict(*(getattr(self, name) + getattr(other, name) for name in Verdict.__slots__))


@dataclass(slots=True)
class Ledger:
    """Everything sent to the sessions of one home."""

    sm: Sm
    sent: list[dict[str, Any]] = field(default_factory=list)

    def send(
        self, to: str, text: str, *, mode: str = "sequential", sender: str | None = None
    ) -> str:
        """Queue a message through the API, as often as it takes until it is confirmed."""
        message_id = secrets.token_hex(6)
        body = {"id": message_id, "text": text, "mode": mode, "sender": sender, "notify": True}
        Client(self.sm.home).call("POST", f"/sessions/{to}/messages", body)
        self.sent.append({"id": message_id, "to": to, "text": text, "mode": mode, "sender": sender})
        return message_id

    def all_done(self) -> bool:
        found = cast(
            "list[dict[str, Any]]",
            Client(self.sm.home).call("GET", "/messages", query={"limit": 10_000}),
        )
        states = {m["id"]: m["state"] for m in found}
        return all(states.get(m["id"]) in CLOSED for m in self.sent) and all(
            m["state"] in CLOSED for m in found
        )

    def judge(self) -> Verdict:
        """Hold the ledger against what each model got and what the receipts say."""
        verdict = Verdict(sent=len(self.sent))
        receipts = {m["id"]: [r["step"] for r in m["receipts"]] for m in self.sm.messages()}
        for name in {m["to"] for m in self.sent}:
            mine = [m for m in self.sent if m["to"] == name]
            prompts = self.sm.received(name)
            arrived = [message_in(p) for p in prompts]
            counts = Counter(arrived)
            texts = {message_in(p): unwrap(p) for p in prompts}
            for message in mine:
                count = counts[message["id"]]
                verdict.once += count == 1
                verdict.lost += count == 0
                verdict.doubled += count > 1
                verdict.changed += count > 0 and texts[message["id"]] != message["text"]
                steps = receipts.get(message["id"], [])
                verdict.unreceipted += not is_whole(steps)
            verdict.disordered += _disorder(mine, [a for a in arrived if a])
        return verdict


def is_whole(steps: list[str]) -> bool:
    return (
        steps[:1] == ["queued"]
        and steps[-1:] == ["done"]
        and steps.count("accepted") == 1
        and "offered" in steps
    )


def _disorder(sent: list[dict[str, Any]], arrived: list[str]) -> int:
    """How many modes kept their order wrongly."""
    wrong = 0
    for mode in ("sequential", "important", "urgent"):
        wanted = [m["id"] for m in sent if m["mode"] == mode]
        got = [a for a in arrived if a in set(wanted)]
        wrong += got != [w for w in wanted if w in set(got)]
    return wrong
