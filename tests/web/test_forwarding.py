"""What one engine does not know, another may: two homes behind one address."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sm.api.runs import Run
from sm.api.types import SessionView
from sm.web.forwarding import LOOK_WITHIN, MARK, Forwarding, Others

Sent = list[Message]


def answering(*, status: int = 200, body: object = None) -> ASGIApp:
    """An application that always says the same, and with it what it was asked."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        asked = await receive()
        told = {"asked": asked["body"].decode()} if body is None else body
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(told).encode()})

    return app


def behind(app: ASGIApp, others: Others, *, here: str = "", **options: Any) -> Forwarding:
    """``here``: the one session that lives here."""
    return Forwarding(app, others, lives=lambda name: name == here, **options)


async def call(
    app: ASGIApp, method: str, path: str, body: bytes = b"", **headers: str
) -> tuple[int, Any]:
    scope: Scope = {
        "type": "http",
        "method": method,
        "path": path.partition("?")[0],
        "raw_path": path.partition("?")[0].encode(),
        "query_string": path.partition("?")[2].encode(),
        "headers": [(name.replace("_", "-").encode(), v.encode()) for name, v in headers.items()],
    }
    parts = [body[: len(body) // 2], body[len(body) // 2 :]]
    sent: Sent = []

    async def receive() -> Message:
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], json.loads(sent[1]["body"])


class Other:
    """Another engine's socket; what it was asked, and what it says to everything."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.asked: list[bytes] = []
        self.answer = b"HTTP/1.1 200 OK\r\ncontent-length: 17\r\n\r\n" + b'{"said": "other"}'

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        self.asked.append(head + await reader.readexactly(length))
        writer.write(self.answer)
        await writer.drain()
        writer.close()

    def says(self, status: int, body: object) -> None:
        told = json.dumps(body).encode()
        self.answer = b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s" % (status, len(told), told)


@asynccontextmanager
async def serving(path: Path) -> AsyncIterator[Other]:
    other = Other(path)
    server = await asyncio.start_unix_server(other.serve, path)
    async with server:
        yield other


@pytest.fixture
async def other(tmp_path: Path) -> AsyncIterator[Other]:
    async with serving(tmp_path / "other.sock") as found:
        yield found


class Stopped:
    """A run whose process is stopped: calls come through to it, and it reads none of them."""

    def __init__(self, path: Path) -> None:
        self.run: Run = {
            "id": "0a1b2c3d",
            "name": "ada",
            "agent": "demo",
            "cwd": "/project",
            "pid": 4711,
            "started": 2,
            "socket": str(path),
            "began_at": 5.0,
            "ended_at": None,
            "code": None,
        }
        self.known = {self.run["socket"]: self.run}
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.run["socket"])
        self.listener.listen()
        self.listener.setblocking(False)

    def reads(self) -> list[bytes]:
        """What it finds when it goes on: the first line of every call that was made meanwhile."""
        found: list[bytes] = []
        while True:
            try:
                connection, _ = self.listener.accept()
            except BlockingIOError:
                return found
            with connection:
                found.append(connection.recv(65_536).partition(b"\r\n")[0])


def forgetful(stopped: Stopped) -> ASGIApp:
    """It knows nothing itself, and has little patience with others."""
    app = answering(status=404, body={"error": "no"})
    return behind(app, lambda: stopped.known, within=0.2)


@pytest.fixture
def stopped(tmp_path: Path) -> Iterator[Stopped]:
    found = Stopped(tmp_path / "stopped.sock")
    yield found
    found.listener.close()


async def test_what_is_not_known_here_is_asked_elsewhere_once(other: Other) -> None:
    app = behind(answering(status=404, body={"error": "no"}), lambda: {other.path: None})

    told = await call(app, "POST", "/sessions/ada/messages?x=1", b'{"text":"hi"}',
                      authorization="Bearer t", cookie="c")  # fmt: skip

    assert told == (200, {"said": "other"})
    # Whether it has such a session at all; then the question itself.
    looked, asked = other.asked
    assert looked.startswith(b"GET /sessions/ada HTTP/1.1\r\n")
    assert asked.startswith(b"POST /sessions/ada/messages?x=1 HTTP/1.1\r\n")
    assert asked.endswith(b'\r\n\r\n{"text":"hi"}')
    assert MARK + b": 1" in asked
    assert b"authorization: Bearer t" in asked
    assert b"cookie" not in asked


async def test_what_was_handed_on_is_not_handed_on_again(other: Other) -> None:
    app = behind(answering(status=404, body={"error": "no"}), lambda: {other.path: None})

    assert (await call(app, "GET", "/sessions/ada", x_sm_forwarded="1"))[0] == 404
    assert other.asked == []


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/health"), ("POST", "/hooks/ada"), ("GET", "/events")],
)
async def test_what_is_ours_alone_stays_here(other: Other, method: str, path: str) -> None:
    app = behind(answering(status=404, body={"error": "no"}), lambda: {other.path: None})

    assert (await call(app, method, path))[0] == 404
    assert other.asked == []


async def test_what_is_known_here_is_answered_here(other: Other) -> None:
    """With the request itself and nothing else: whether it lives here is known without a look."""
    asked: list[str] = []

    async def known(scope: Scope, receive: Receive, send: Send) -> None:
        asked.append(scope["method"])
        await answering()(scope, receive, send)

    app = behind(known, lambda: {other.path: None}, here="ada")

    assert await call(app, "PATCH", "/sessions/ada", b"body") == (200, {"asked": "body"})
    assert (asked, other.asked) == (["PATCH"], [])


async def test_what_a_run_left_behind_is_taken_in_before_anybody_is_answered() -> None:
    """Its own engine is gone: only here it can be found. Other questions wait for nothing."""
    ours: list[dict[str, str]] = []

    async def take_in() -> None:
        ours.append({"id": "left"})

    app = behind(answering(body=ours), dict, take_in=take_in)

    assert await call(app, "GET", "/health") == (200, [])
    assert await call(app, "GET", "/sessions") == (200, [{"id": "left"}])


async def test_lists_are_joined_and_nothing_is_told_twice(other: Other) -> None:
    """The first one tells it; unless it has it from the ledger alone, without a context."""
    other.says(200, [{"id": "b", "context": 2}, {"id": "c", "requested_at": 1.0}, {"id": "d"}])
    own = [{"id": "a"}, {"id": "b", "context": 0}, {"id": "d", "mine": True}]
    app = behind(answering(body=own), lambda: {other.path: None})

    told = await call(app, "GET", "/handoffs")

    assert told == (
        200,
        [
            {"id": "a"},
            {"id": "b", "context": 2},
            {"id": "d", "mine": True},
            {"id": "c", "requested_at": 1.0},
        ],
    )


async def test_one_that_does_not_answer_is_left_out(other: Other, tmp_path: Path) -> None:
    """Killed, hung up in the middle, or no HTTP at all."""
    other.answer = b"nonsense"
    sockets = dict.fromkeys([str(tmp_path / "gone.sock"), other.path])

    listed = behind(answering(body=[{"id": "a"}]), lambda: sockets)
    assert await call(listed, "GET", "/handoffs") == (200, [{"id": "a"}])
    unknown = behind(answering(status=404, body={"error": "no"}), lambda: sockets)
    assert await call(unknown, "GET", "/handoffs/x") == (404, {"error": "no"})


async def test_a_refusal_elsewhere_is_an_answer(other: Other) -> None:
    other.says(409, {"error": "it is working"})
    app = behind(answering(status=404, body={"error": "no"}), lambda: {other.path: None})

    assert await call(app, "DELETE", "/sessions/ada") == (409, {"error": "it is working"})


async def test_a_session_that_lives_elsewhere_goes_before_one_that_has_ended_here(
    other: Other,
) -> None:
    other.says(200, {"state": "idle"})
    app = behind(answering(body={"state": "ended"}), lambda: {other.path: None})

    assert await call(app, "DELETE", "/sessions/ada") == (200, {"state": "idle"})
    other.says(200, {"state": "ended"})
    assert await call(app, "DELETE", "/sessions/ada") == (200, {"state": "ended"})


@pytest.mark.parametrize(("state", "status"), [("working", 409), ("crashed", 409), ("ended", 200)])
async def test_a_session_elsewhere_is_given_no_name_that_is_taken_here(
    other: Other, state: str, status: int
) -> None:
    """It knows nothing of what is here. Whoever is not over may yet be meant by its name."""
    here = {"id": "0a1b2c3d", "name": "bob", "state": state}
    other.says(200, {"id": "ffff0000", "name": "ada", "state": "idle"})
    app = behind(answering(body=here), lambda: {other.path: None})

    told = await call(app, "PATCH", "/sessions/ada", b'{"name":"bob"}')

    assert told[0] == status
    if status == 409:
        assert told[1]["error"] == "The name 'bob' is taken. Choose another: sm ls"
        assert all(asked.startswith(b"GET ") for asked in other.asked)


async def test_a_session_elsewhere_may_keep_its_name(other: Other) -> None:
    other.says(200, {"id": "ffff0000", "name": "ada", "state": "idle"})
    app = behind(answering(status=404, body={"error": "no"}), lambda: {other.path: None})

    assert (await call(app, "PATCH", "/sessions/ffff", b'{"name":"ada"}'))[0] == 200


async def test_a_run_has_the_daemon_begin_a_session(other: Other) -> None:
    other.says(201, {"id": "new"})
    app = behind(answering(), lambda: {other.path: None}, is_run=True)
    assert await call(app, "POST", "/sessions", b'{"name":"ada"}') == (201, {"id": "new"})

    alone = behind(answering(), dict, is_run=True)
    status, told = await call(alone, "POST", "/sessions", b"{}")
    assert status == 409
    assert "no daemon is there" in told["error"]


async def test_a_list_of_a_session_nobody_knows_here_is_asked_elsewhere(other: Other) -> None:
    other.says(200, [{"id": "m"}])
    app = behind(answering(status=404, body={"error": "no"}), lambda: {other.path: None})

    assert await call(app, "GET", "/messages?session=ada&limit=5") == (200, [{"id": "m"}])


async def test_a_limit_holds_for_all_together(other: Other) -> None:
    other.says(200, [{"id": "c", "requested_at": 3.0}, {"id": "a", "requested_at": 1.0}])
    app = behind(answering(body=[{"id": "b", "requested_at": 2.0}]), lambda: {other.path: None})

    told = await call(app, "GET", "/handoffs?limit=2")

    assert [item["id"] for item in told[1]] == ["b", "c"]


@pytest.mark.parametrize(("limit", "ids"), [("2", ["b", "c"]), ("0", ["c"])])
async def test_of_messages_the_newest_of_all_together_are_told(
    other: Other, limit: str, ids: list[str]
) -> None:
    """Whoever's they are; none at all are never asked for."""

    def queued(message: str, at: float) -> dict[str, object]:
        return {"id": message, "receipts": [{"step": "queued", "at": at}, {"at": 0.0}]}

    other.says(200, [queued("a", 1.0), queued("b", 2.0)])
    app = behind(answering(body=[queued("c", 3.0)]), lambda: {other.path: None})

    told = await call(app, "GET", f"/messages?limit={limit}")

    assert [item["id"] for item in told[1]] == ids


async def test_notices_of_all_are_one_list(other: Other) -> None:
    """Oldest first; what the person does with it is done with all of them."""
    other.says(200, [{"id": "b", "at": 2.0, "session": "x"}])
    own = [{"id": "a", "at": 1.0}, {"id": "c", "at": 3.0}]
    listed = behind(answering(body=own), lambda: {other.path: None})
    told = await call(listed, "GET", "/notices?unseen=true")
    assert [item["id"] for item in told[1]] == ["a", "b", "c"]

    other.says(200, {"cleared": 1})
    cleared = behind(answering(body={"cleared": 2}), lambda: {other.path: None})
    assert await call(cleared, "DELETE", "/notices") == (200, {"cleared": 3})
    refused = behind(answering(status=400, body={"error": "no"}), lambda: {other.path: None})
    assert (await call(refused, "POST", "/notices/seen", b'{"notices":["b"]}'))[0] == 400
    seen = behind(answering(status=204, body=""), lambda: {other.path: None})
    await call(seen, "POST", "/notices/seen", b'{"notices":["b"]}')
    looked, gone, told_seen = other.asked
    assert looked.startswith(b"GET /notices?unseen=true ")
    assert gone.startswith(b"DELETE /notices ")
    assert told_seen.endswith(b'\r\n\r\n{"notices":["b"]}')


async def test_what_a_stopped_run_is_asked_for_is_neither_denied_nor_done_later(
    stopped: Stopped,
) -> None:
    """Whoever is told that there is no such session sends it again, and it comes twice."""
    app = forgetful(stopped)

    status, told = await call(app, "POST", "/sessions/ada/messages", b'{"text":"hi"}')

    assert status == 504
    assert told["error"] == (
        "ada (an sm run, process 4711) does not answer. "
        "If it was stopped: fg in its terminal, or kill -CONT 4711"
    )
    assert stopped.reads() == [b"GET /sessions/ada HTTP/1.1"]


async def test_a_session_nobody_knows_is_not_asked_for_later_either(stopped: Stopped) -> None:
    """It may have been given this name since the run began."""
    app = forgetful(stopped)

    assert (await call(app, "POST", "/sessions/bob/messages", b"{}"))[0] == 404
    assert stopped.reads() == [b"GET /sessions/bob HTTP/1.1"]


async def test_what_another_run_knows_is_told_beside_a_stopped_one(
    other: Other, stopped: Stopped
) -> None:
    other.says(200, {"state": "idle", "id": "m"})
    known = {**stopped.known, other.path: None}
    app = behind(answering(status=404, body={"error": "no"}), lambda: known)

    assert (await call(app, "GET", "/messages/m?wait=3600"))[0] == 200
    assert (await call(app, "POST", "/sessions/bob/messages", b"{}"))[0] == 200


async def test_a_stopped_run_stays_listed(stopped: Stopped) -> None:
    """Its session is there, and nobody knows in which state."""
    app = behind(answering(body=[{"id": "b", "name": "bob"}]), lambda: stopped.known)

    status, (bob, ada) = await call(app, "GET", "/sessions")

    assert (status, bob) == (200, {"id": "b", "name": "bob"})
    assert (ada["id"], ada["name"], ada["state"]) == ("0a1b2c3d", "ada", "unknown")
    assert ada.keys() == SessionView.__required_keys__
    assert (await call(app, "GET", "/messages"))[1] == [{"id": "b", "name": "bob"}]


async def test_a_stopped_run_is_waited_for_once(stopped: Stopped) -> None:
    """Whoever lists all sessions every second is held up in the first one only."""
    app = behind(answering(body=[]), lambda: stopped.known)
    clock = asyncio.get_running_loop().time
    await call(app, "GET", "/sessions")
    since = clock()

    _, (first,) = await call(app, "GET", "/sessions")
    _, (second,) = await call(app, "GET", "/sessions")

    assert clock() - since < LOOK_WITHIN
    assert first["state_since"] == second["state_since"]


async def test_a_run_that_goes_on_is_heard_again(stopped: Stopped) -> None:
    app = behind(answering(body=[]), lambda: stopped.known, within=0.2)
    await call(app, "GET", "/sessions")
    stopped.listener.close()
    path = Path(stopped.run["socket"])
    path.unlink()

    async with serving(path) as other:
        other.says(200, [{"id": "0a1b2c3d", "state": "idle"}])
        assert await call(app, "GET", "/sessions") == (200, [{"id": "0a1b2c3d", "state": "idle"}])
