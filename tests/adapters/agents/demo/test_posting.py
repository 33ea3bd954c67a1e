"""Hooks that are posted, to a real server on loopback."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from sm.adapters.agents.demo.hooks import Hooks
from sm.adapters.agents.demo.posting import NotPostedError, post


class Listener:
    """What was posted, and what is answered."""

    def __init__(self) -> None:
        self.status = 200
        self.answer = ""
        self.bodies: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.url = ""


@contextmanager
def listening() -> Iterator[Listener]:
    listener = Listener()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            listener.headers.append(dict(self.headers))
            listener.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(listener.status)
            self.end_headers()
            self.wfile.write(listener.answer.encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
            """Tests are quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        listener.url = f"http://127.0.0.1:{server.server_port}/h"
        yield listener
        server.shutdown()
        thread.join()


@pytest.fixture
def listener() -> Iterator[Listener]:
    with listening() as one:
        yield one


def test_the_payload_is_posted_with_the_headers_asked_for(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A header may name variables, but only those it is allowed to read."""
    monkeypatch.setenv("TOKEN", "secret")
    monkeypatch.setenv("OTHER", "hidden")
    headers = {"Authorization": "Bearer $TOKEN", "X-Other": "<${OTHER}>"}
    call = {"url": listener.url, "headers": headers, "allowedEnvVars": ["TOKEN"]}
    listener.answer = '{"decision":"block"}'

    assert post(call, '{"a":"ä"}', timeout=5) == (200, '{"decision":"block"}')

    assert listener.bodies == [{"a": "ä"}]
    told = listener.headers[0]
    assert (told["Authorization"], told["X-Other"]) == ("Bearer secret", "<>")
    assert told["Content-Type"] == "application/json"


def test_a_closed_port_is_told_as_the_client_tells_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    with pytest.raises(NotPostedError, match=rf"^connect ECONNREFUSED 127\.0\.0\.1:{port}$"):
        post({"url": f"http://127.0.0.1:{port}/h"}, "{}", timeout=5)


def test_a_server_that_is_silent_or_unwell_is_no_answer(listener: Listener) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(NotPostedError, match=r"^timeout of 100ms exceeded$"),
    ):
        post({"url": f"http://127.0.0.1:{silent.getsockname()[1]}"}, "{}", timeout=0.1)
    listener.status = 500
    with pytest.raises(NotPostedError, match="500"):
        post({"url": listener.url}, "{}", timeout=5)


def test_hooks_of_both_types_run_in_one_group(listener: Listener, tmp_path: Any) -> None:
    """The answer counts as a command's output does; a start is never posted."""
    listener.answer = '{"hookSpecificOutput":{"additionalContext":"posted"}}'
    calls = [{"type": "http", "url": listener.url}, {"type": "command", "command": "echo run"}]
    settings = tmp_path / "settings.json"
    groups = {event: [{"hooks": calls}] for event in ("Stop", "SessionStart")}
    settings.write_text(json.dumps({"hooks": groups}))
    hooks = Hooks(str(settings))

    posted, ran = hooks.run("Stop", {"n": 1}, cwd="/")
    (only,) = hooks.run("SessionStart", {"n": 2}, cwd="/")

    assert (posted.context, posted.code, posted.command) == ("posted", 200, listener.url)
    assert (ran.stdout, only.stdout) == ("run\n", "run\n")
    assert listener.bodies == [{"n": 1}]
