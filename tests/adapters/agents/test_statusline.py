"""The status line as an agent runs it, against a real unix socket and real settings files."""

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import sm

SCRIPT = Path(sm.__file__).parent / "adapters" / "agents" / "statusline.py"


class Ground:
    """A home, a project and a daemon that keeps what it was sent."""

    def __init__(self, folder: Path) -> None:
        self.address = folder / "d.sock"
        self.project, self.home = folder / "pro ject", folder / "home"
        self.sessions = folder / "sessions"
        self.requests: list[bytes] = []
        self.answers = True

    @property
    def payload(self) -> bytes:
        told = {"session_id": "c1", "workspace": {"project_dir": str(self.project)}}
        return json.dumps(told, separators=(",", ":")).encode()

    def settings(self, place: Path, command: object) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps({"statusLine": {"type": "command", "command": command}}))

    def show(self, payload: bytes | None = None, session: str = "0a1b2c3d", **env: str) -> str:
        """What the person sees; an error is never part of it."""
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(SCRIPT), str(self.address), str(self.sessions)],
            input=self.payload if payload is None else payload,
            capture_output=True,
            env={"CLAUDE_SESSION_MANAGER_ID": session, "HOME": str(self.home), **env},
            timeout=20,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode()

    def serve(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                received = b""
                while b"\r\n\r\n" not in received or len(_body(received)) < _length(received):
                    received += connection.recv(1 << 16)
                self.requests.append(received)
                if self.answers:
                    connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
                else:
                    connection.recv(1)


def _body(request: bytes) -> bytes:
    return request.partition(b"\r\n\r\n")[2]


def _length(request: bytes) -> int:
    return int(request.partition(b"Content-Length: ")[2].partition(b"\r\n")[0])


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


@pytest.fixture
def daemon(ground: Ground) -> Iterator[Ground]:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(ground.address))
        listener.listen()
        thread = threading.Thread(target=ground.serve, args=(listener,))
        thread.start()
        yield ground
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(10)


def test_the_daemon_is_told_what_the_agent_says(daemon: Ground) -> None:
    """Word for word; and without a status line of the user's nothing is shown."""
    assert daemon.show() == ""

    (request,) = daemon.requests
    assert request.startswith(b"POST /hooks/0a1b2c3d HTTP/1.1\r\n")
    assert _body(request) == daemon.payload


def test_the_users_own_status_line_is_shown(daemon: Ground) -> None:
    """It gets the same input, through a shell as the client would run it."""
    daemon.settings(daemon.home / ".claude" / "settings.json", "cat | wc -c; echo $((1+1))")

    shown = daemon.show().split()

    assert shown == [str(len(daemon.payload)), "2"]


def test_what_was_given_at_the_start_comes_first_and_the_home_last(ground: Ground) -> None:
    places = [
        ground.home / ".claude" / "settings.json",
        ground.project / ".claude" / "settings.json",
        ground.project / ".claude" / "settings.local.json",
        ground.sessions / "0a1b2c3d" / "own-settings.json",
    ]
    for number, place in enumerate(places):
        ground.settings(place, f"echo {number}")
        assert ground.show() == f"{number}\n"


def test_a_configuration_folder_of_the_users_choice_counts(ground: Ground, tmp_path: Path) -> None:
    ground.settings(ground.home / ".claude" / "settings.json", "echo home")
    ground.settings(tmp_path / "config" / "settings.json", "echo chosen")

    assert ground.show(CLAUDE_CONFIG_DIR=str(tmp_path / "config")) == "chosen\n"


def test_nobody_listens(ground: Ground) -> None:
    """The next one comes soon; the user's line is shown all the same."""
    ground.settings(ground.home / ".claude" / "settings.json", "echo mine")

    assert ground.show() == "mine\n"


def test_a_daemon_that_does_not_answer_is_not_waited_for(daemon: Ground) -> None:
    daemon.answers = False
    daemon.settings(daemon.home / ".claude" / "settings.json", "echo mine")
    began = time.monotonic()

    assert daemon.show() == "mine\n"
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("session", ["", "../x", "a b"])
def test_an_agent_that_is_not_ours_is_not_told_of(daemon: Ground, session: str) -> None:
    daemon.settings(daemon.home / ".claude" / "settings.json", "echo mine")

    assert daemon.show(session=session) == "mine\n"
    assert daemon.requests == []


@pytest.mark.parametrize("payload", [b"", b"{", b"[]", b'{"workspace": 3}', b'{"cwd": null}'])
def test_a_payload_it_does_not_know_harms_nobody(daemon: Ground, payload: bytes) -> None:
    daemon.settings(daemon.home / ".claude" / "settings.json", "echo mine")

    assert daemon.show(payload) == "mine\n"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"statusLine": 3}', '{"statusLine": null}'])
def test_settings_it_cannot_read_show_nothing(ground: Ground, content: str) -> None:
    place = ground.home / ".claude" / "settings.json"
    place.parent.mkdir(parents=True)
    place.write_text(content)

    assert ground.show() == ""


def test_a_project_with_an_unusual_name_is_found(ground: Ground) -> None:
    """The client writes a quote or a backslash in another way."""
    ground.project = ground.project.with_name('a "b" \\ é')
    ground.settings(ground.project / ".claude" / "settings.json", "echo odd")

    assert ground.show() == "odd\n"
