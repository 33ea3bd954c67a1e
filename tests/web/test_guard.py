"""Who gets in over TCP."""

import pytest
from starlette.types import Message, Receive, Scope, Send

from sm.web.guard import Guard
from tests.web.conftest import NOBODY, Web

STOP = {"hook_event_name": "Notification"}
NO_TOKEN = "A token is needed: Authorization: Bearer …, from the state folder."


def _session_token(web: Web, session: str) -> dict[str, str]:
    token = (web.sm.home.sessions / session / "token").read_text().strip()
    return {"Authorization": f"Bearer {token}"}


def test_the_owners_token_opens_everything(web: Web) -> None:
    """As a browser or a script on this machine uses it."""
    assert web.call("GET", "/health").status == 200


@pytest.mark.parametrize(
    "host", ["localhost", "LocalHost:80", "127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:27516"]
)
def test_every_name_of_this_machine_is_ours(web: Web, host: str) -> None:
    """With a port and without, in IPv6 too."""
    assert web.call("GET", "/health", headers={"Host": host}).status == 200
    assert web.call("GET", "/health", headers={"Origin": f"http://{host}"}).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Bearer "},
        {"Authorization": "Basic abc"},
        {"Authorization": "Bearer \xe9"},
        {"Authorization": "Bearer"},
    ],
)
@pytest.mark.parametrize("path", ["/health", "/sessions", "/openapi.json", "/nowhere"])
def test_without_the_token_nothing_is_told(web: Web, headers: dict[str, str], path: str) -> None:
    """Not even which addresses exist."""
    answer = web.call("GET", path, headers=headers, anonymous=True)

    assert (answer.status, answer.error) == (401, NO_TOKEN)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:80",
        "127.0.0.1.evil.example",
        "",
        "[::1].evil.example",
        "localhost:80:x",
        "localhost@evil",
    ],
)
def test_a_foreign_host_name_is_refused(web: Web, host: str) -> None:
    """A page that makes its own name point here (DNS rebinding) gets nothing, token or not."""
    answer = web.call("GET", "/health", headers={"Host": host})

    assert (answer.status, answer.error) == (403, "This address answers to its own name only.")


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost.evil.example"]
)
def test_a_foreign_page_is_refused(web: Web, origin: str) -> None:
    """A page from elsewhere may not call, even with the token."""
    answer = web.call("GET", "/health", headers={"Origin": origin})

    assert (answer.status, answer.error) == (403, "Pages from elsewhere may not call sm.")


def test_a_page_of_our_own_may_call(web: Web) -> None:
    """Served from this machine, with the token."""
    assert web.call("GET", "/health", headers={"Origin": web.url}).status == 200


def test_a_sessions_token_is_good_for_its_own_hooks(web: Web) -> None:
    """An agent's hook over HTTP says who it is with it."""
    answer = web.call("POST", f"/hooks/{web.ada}", STOP, headers=_session_token(web, web.ada))

    assert answer.status == 204


def test_a_sessions_token_is_good_for_its_own_handoff(web: Web) -> None:
    """It gets as far as the endpoint, which asks for more than these words."""
    answer = web.call(
        "POST", f"/sessions/{web.ada}/handoff", {}, headers=_session_token(web, web.ada)
    )

    assert answer.status == 400


@pytest.mark.parametrize(
    "path",
    [
        "/hooks/{gone}",
        f"/hooks/{NOBODY}",
        "/hooks/..%2F{gone}",
        "/sessions/{ada}/messages",
        "/sessions/{gone}/handoff",
        f"/sessions/{NOBODY}/handoff",
        "/sessions/..%2F{ada}/handoff",
        "/sessions/{ada}/handoff/x",
        "/sessions/{ada}",
        "/handoffs",
    ],
)
def test_a_sessions_token_is_good_for_nothing_else(web: Web, path: str) -> None:
    """An agent can neither speak for another one nor give orders."""
    there = path.format(ada=web.ada, gone=web.gone)
    answer = web.call("POST", there, STOP, headers=_session_token(web, web.ada))

    assert (answer.status, answer.error) == (401, NO_TOKEN)


def test_the_unix_socket_needs_no_token(web: Web) -> None:
    """It is closed to others by its file mode and by the caller's uid."""
    assert web.sm.health()["version"]


@pytest.mark.parametrize(
    ("kind", "answer"), [("websocket", [{"type": "websocket.close", "code": 1008}]), ("x", [])]
)
async def test_what_is_not_http_gets_nowhere(kind: str, answer: list[Message]) -> None:
    """It could come without a token."""
    sent: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError(scope)

    async def receive() -> Message:
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    await Guard(app, "token", lambda _: None)({"type": kind}, receive, send)

    assert sent == answer


def test_a_websocket_is_refused_cleanly(web: Web) -> None:
    """By the real server, with no traceback in the log."""
    asked = {
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==",
    }  # fmt: skip
    assert web.call("GET", "/events", headers=asked, anonymous=True).status in (401, 403)
    assert "Traceback" not in web.sm.home.log.read_text()
