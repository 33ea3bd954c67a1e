"""Health, metrics and the event stream of a real daemon."""

import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest
from prometheus_client.parser import text_string_to_metric_families

from sm.adapters.store.memory import MemoryStore
from sm.core.events import Renamed, SessionRequested
from sm.core.ids import SessionId
from sm.core.journal import Recorded
from sm.engine.engine import Engine
from sm.engine.loop import Loop
from sm.version import VERSION
from sm.web.system import _events
from tests.web.conftest import Web

NOTE = {"hook_event_name": "Notification", "notification_type": "other"}


@contextmanager
def _stream(web: Web, path: str, headers: Mapping[str, str] | None = None) -> Iterator[Any]:
    connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=15)
    connection.request("GET", path, headers={**web.authorisation, **(headers or {})})
    try:
        yield connection.getresponse()
    finally:
        connection.close()


def _read(answer: Any, count: int) -> list[dict[str, Any]]:
    """The next events of a stream; each one's id is its seq and its name its kind."""
    found: list[dict[str, Any]] = []
    fields: dict[bytes, bytes] = {}
    while len(found) < count:
        line = answer.readline().rstrip(b"\n")
        name, _, value = line.partition(b": ")
        fields[name] = value
        if line == b"" and b"data" in fields:
            event = json.loads(fields[b"data"])
            assert fields[b"id"] == str(event["seq"]).encode()
            assert fields[b"event"] == event["kind"].encode()
            found.append(event)
            fields = {}
    return found


def test_health_tells_what_runs(web: Web) -> None:
    """Version, processes, port, tmux."""
    health = web.get("/health")

    assert (health["version"], health["port"]) == (VERSION, web.port)
    assert health["tmux_connected"] is True
    assert health["pid"] != health["worker"]
    assert health["sessions"] >= 1


def test_the_metrics_can_be_read_by_prometheus(web: Web) -> None:
    """Every figure has its help and type; sessions are counted by state."""
    answer = web.call("GET", "/metrics")
    families = {f.name: f for f in text_string_to_metric_families(answer.content.decode())}

    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert {"sm_sessions", "sm_messages_open", "sm_events", "sm_commits"} <= set(families)
    by_state = {s.labels["state"]: s.value for s in families["sm_sessions"].samples}
    listed = web.get("/sessions?all=true")
    assert by_state["ended"] == sum(s["state"] == "ended" for s in listed)
    commits = {s.name: s.value for s in families["sm_commits"].samples}["sm_commits_total"]
    assert commits > 5


def test_the_stream_resumes_after_a_seq(web: Web) -> None:
    """A page that lost its connection misses nothing and sees nothing twice."""
    timeline = web.get(f"/sessions/{web.ada}/timeline?limit=3")
    after = timeline[0]["seq"]

    with _stream(web, f"/events?after={after}") as answer:
        assert answer.getheader("content-type").startswith("text/event-stream")
        first = _read(answer, 6)
    with _stream(web, "/events", {"Last-Event-ID": str(first[2]["seq"])}) as answer:
        again = _read(answer, 3)

    seqs = [event["seq"] for event in first]
    assert seqs == sorted(set(seqs))
    assert seqs[0] > after
    assert again == first[3:]


def test_the_stream_begins_with_now_and_shows_each_event_once(web: Web) -> None:
    """Twenty hooks while we look: twenty events, in order."""
    with _stream(web, "/events") as answer:
        assert answer.readline() == b": sm\n"

        def report() -> None:
            for _ in range(20):
                web.call("POST", f"/hooks/{web.ada}", NOTE)

        reporter = threading.Thread(target=report)
        reporter.start()
        seen = _read(answer, 20)
        reporter.join()

    assert [event["kind"] for event in seen] == ["HookNoticed"] * 20
    assert len({event["seq"] for event in seen}) == 20


@pytest.mark.parametrize("given", ["\xb2", "9" * 30, "x", "-1", ""])
def test_a_place_to_resume_that_is_none_is_passed_over(web: Web, given: str) -> None:
    """The stream begins with now."""
    with _stream(web, "/events", {"Last-Event-ID": given}) as answer:
        assert answer.status == 200
        assert answer.readline() == b": sm\n"
        web.call("POST", f"/hooks/{web.ada}", NOTE)
        assert _read(answer, 1)[0]["kind"] == "HookNoticed"


class _BusyStore(MemoryStore):
    """Something happens each time somebody has just read."""

    loop: Loop
    names: Iterator[str]

    async def events(self, **wanted: Any) -> list[Recorded]:
        found = await super().events(**wanted)
        name = next(self.names, None)
        if name is not None:
            await self.loop.post(SessionId("0a1b2c3d"), Renamed(name=name))
        return found


@pytest.mark.anyio
async def test_an_event_committed_while_the_stream_was_reading_is_shown_at_once() -> None:
    """Nobody has to wait for the next event to see the last one."""
    import anyio

    store = _BusyStore()
    loop = Loop(store, cast("Any", SimpleNamespace(now=lambda: 1.0)), lambda _: None)
    store.loop, store.names = loop, iter(["grace", "hopper"])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(loop.run)
        await loop.post(SessionId("0a1b2c3d"), SESSION)
        stream = _events(cast("Engine", SimpleNamespace(store=store, loop=loop)), 0)

        with anyio.fail_after(5):
            shown = [await anext(stream) for _ in range(4)]

        assert [line.split(b"\n")[1] for line in shown[1:]] == [
            b"event: SessionRequested", b"event: Renamed", b"event: Renamed",
        ]  # fmt: skip
        tasks.cancel_scope.cancel()


SESSION = SessionRequested(
    id=SessionId("0a1b2c3d"),
    name="ada",
    agent="demo",
    arguments=(),
    cwd="/",
    parent=None,
    proves=True,
    context=None,
)
