"""Contexts over HTTP: how full they are, where their levels lie, who is warned."""

from dataclasses import replace

import msgspec
import pytest

from sm.api.types import ContextUsage
from sm.core.events import UsageSeen
from sm.core.reports import ContextCompacted
from sm.core.state import Usage
from sm.core.usage import STATUSLINE
from sm.web.contexts import context_usage
from tests.core.samples import CONTEXT, NOON, WORKING, after, hook
from tests.web.conftest import NOBODY, Web

USAGE = Usage(
    tokens=70_000, window=200_000, model="m", source=STATUSLINE, at=NOON, compacts_at=120_000
)
FILLING = after(
    WORKING,
    UsageSeen(context=CONTEXT, usage=USAGE),
    UsageSeen(context=CONTEXT, usage=replace(USAGE, tokens=90_000, at=NOON + 600)),
)


def test_everything_a_person_asks_about_a_context_is_there() -> None:
    """Level, levels in tokens and why they were moved, history, and when the next one comes."""
    shown = context_usage(FILLING, 120_000, NOON + 600)

    assert (shown["tokens"], shown["percent"], shown["level"]) == (90_000, 45.0, "EARLY_WARN")
    assert shown["thresholds"] == [
        {"level": "EARLY_WARN", "tokens": 80_000, "wanted": 80_000, "moved": None, "reached": True},
        {"level": "WARN", "tokens": 100_000, "wanted": 100_000, "moved": None, "reached": False},
        {
            "level": "CRITICAL",
            "tokens": 114_000,
            "wanted": 130_000,
            "moved": "below the agent's own compaction at 120,000",
            "reached": False,
        },
    ]
    assert [s["tokens"] for s in shown["history"]] == [70_000, 90_000]
    assert shown["forecast"] == {"level": "WARN", "seconds": 300.0}
    assert (shown["monitored"], shown["opted_out"], shown["alarm"]) == (True, False, None)


def test_a_compaction_is_told_with_its_size() -> None:
    compacted = ContextCompacted(hook=hook("PostCompact", 0, NOON + 700), trigger="auto")
    shown = context_usage(after(FILLING, compacted), 120_000, NOON + 700)

    assert (shown["compactions"], shown["tokens"], shown["history"]) == (1, None, [])
    assert shown["last_compaction"] == {"at": NOON + 700, "trigger": "auto", "tokens": 90_000}


@pytest.mark.parametrize("path", ["/sessions/ada/context", "/contexts"])
def test_an_answer_has_exactly_the_keys_of_its_contract(web: Web, path: str) -> None:
    contract = ContextUsage if path.startswith("/sessions") else list[ContextUsage]
    answer = web.call("GET", path)

    assert answer.status == 200
    assert msgspec.json.decode(answer.content, type=contract) == answer.json


def switched(web: Web) -> int:
    """How often, by whatever test."""
    kinds = [e["kind"] for e in web.get("/sessions/ada/timeline?limit=1000")]
    return kinds.count("MonitorSwitched")


def test_the_monitor_is_switched_and_stays_so(web: Web) -> None:
    """In an event of its own, stored with the session."""
    before = switched(web)
    off = web.call("PATCH", "/sessions/ada/context", {"monitored": False})
    assert (off.status, off.json["monitored"], off.json["opted_out"]) == (200, False, True)
    assert web.get("/sessions/ada/context")["monitored"] is False

    on = web.call("PATCH", "/sessions/ada/context", {"monitored": True})
    assert (on.json["monitored"], on.json["opted_out"]) == (True, False)
    assert switched(web) == before + 2


def test_a_switch_without_meaning_is_refused(web: Web) -> None:
    assert web.call("PATCH", "/sessions/ada/context", {"monitored": "maybe"}).status == 400
    assert web.call("PATCH", f"/sessions/{NOBODY}/context", {"monitored": True}).status == 404
    gone = web.call("PATCH", f"/sessions/{web.gone}/context", {"monitored": True})
    assert (gone.status, gone.error) == (409, "gone has ended: nobody is left to be warned.")
