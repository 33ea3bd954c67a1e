"""What happened, as it is shown: the stream and the timeline of a real daemon, without secrets."""

import http.client
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sm.adapters.store.memory import MemoryStore
from sm.core.events import Renamed, SessionRequested
from sm.core.ids import SessionId
from sm.core.journal import Recorded
from sm.engine.engine import Engine
from sm.engine.loop import Loop
from sm.redaction.redactor import Redactor
from sm.web.events import shown, streamed
from tests.web.conftest import Web

NOTE = {"hook_event_name": "Notification", "notification_type": "other"}
KEY = "AKIA" + "Z7Q4M2XW9K3LD5RB"


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


def test_what_was_said_is_told_without_its_secrets(web: Web) -> None:
    """In the stream, the timeline and why a state is claimed; the rest of an event is as it was."""
    body = {"id": "5ec2e7ed", "text": f"the key is {KEY}", "due_in": 3600}
    with _stream(web, "/events") as answer:
        assert answer.readline() == b": sm\n"
        assert web.call("POST", f"/sessions/{web.ada}/reminders", body).status == 201
        web.call("DELETE", "/reminders/5ec2e7ed")
        seen = _read(answer, 2)
    timeline = web.get(f"/sessions/{web.ada}/timeline?after={seen[0]['seq'] - 1}")
    explained = web.get(f"/sessions/{web.ada}/explain")["recent"]

    assert [event["kind"] for event in seen] == ["ReminderSet", "ReminderCancelled"]
    assert seen[0]["body"]["text"] == "the key is [redacted:aws-access-key]"
    assert timeline == seen
    assert explained[-2:] == seen


@pytest.mark.anyio
@pytest.mark.parametrize(
    "said",
    ["password:\thunter2secretX9", '{"password": "hun\\"ter2secretX9"}', "password: ter2secretX9"],
)
async def test_what_json_would_escape_hides_no_secret(said: str) -> None:
    """As in any other text."""
    recorded = Recorded(seq=7, session=SESSION.id, at=1.0, event=Renamed(name=said))

    (told,) = await shown(cast("Engine", SimpleNamespace(redact=Redactor().redact)), [recorded])

    name = str(told["body"]["name"])
    assert "[redacted:password]" in name
    assert "ter2secret" not in name


@pytest.mark.anyio
async def test_an_option_tells_that_its_value_is_secret() -> None:
    """Also in the event a session begins with."""
    event = replace(SESSION, arguments=("--password", "hG7-kQ2.xV9w", "--resume"))
    recorded = Recorded(seq=7, session=SESSION.id, at=1.0, event=event)

    (told,) = await shown(cast("Engine", SimpleNamespace(redact=Redactor().redact)), [recorded])

    hidden = ["--password", "[redacted:command-password]", "--resume"]
    assert told["body"]["arguments"] == hidden


@pytest.mark.anyio
async def test_a_pattern_that_knows_no_json_spoils_no_event() -> None:
    """One of the user's own may reach from a string into the next: then each goes by itself."""
    event = replace(SESSION, name="my name", cwd="/my own", arguments=("--note", "my note"))
    recorded = Recorded(seq=7, session=SESSION.id, at=1.0, event=event)
    redact = lambda text: re.sub(r"my.*", "[redacted:own]", text)  # noqa: E731 - a stand-in

    (told,) = await shown(cast("Engine", SimpleNamespace(redact=redact)), [recorded])

    assert (told["seq"], told["kind"]) == (7, "SessionRequested")
    assert (told["body"]["name"], told["body"]["cwd"]) == ("[redacted:own]", "/[redacted:own]")
    assert told["body"]["arguments"] == ["--note", "[redacted:own]"]


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
        stream = streamed(cast("Engine", SimpleNamespace(store=store, loop=loop, redact=str)), 0)

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
