"""Who is at the other end of the unix socket."""

import os
import socket
import stat
import subprocess
import sys

import pytest

from sm.daemon.serving import peer_uid
from tests.kit.sm import Sm

ASK = """
import os, socket, sys
os.setuid(int(sys.argv[2]))
with socket.socket(socket.AF_UNIX) as s:
    s.connect(sys.argv[1])
    try:
        s.sendall(b"GET /health HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
        print(s.recv(12).decode())
    except ConnectionError:
        print("")
"""


def _ask_as(sm: Sm, uid: int) -> str:
    argv = [sys.executable, "-I", "-c", ASK, str(sm.home.socket), str(uid)]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_caller_of_another_uid_is_cut_off(shared: Sm) -> None:
    """Even if somebody opened the folders by mistake."""
    opened = [shared.folder, shared.home.runtime, shared.home.socket]
    before = [stat.S_IMODE(path.stat().st_mode) for path in opened]
    try:
        for path in opened:
            path.chmod(0o777)

        assert _ask_as(shared, os.geteuid()) == "HTTP/1.1 200"
        assert _ask_as(shared, 12345) == ""
    finally:
        for path, mode in zip(opened, before, strict=True):
            path.chmod(mode)


def test_the_uid_of_a_unix_peer_is_known() -> None:
    """Our own, when we speak to ourselves."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert peer_uid(ours) == os.geteuid()


def test_a_tcp_peer_has_no_uid() -> None:
    """There the token decides."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert peer_uid(listener) is None
    assert peer_uid(None) is None


def test_the_daemon_does_not_tell_what_serves_it(shared: Sm) -> None:
    """No server's name or clock in the answer's head."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(shared.home.socket))
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        head = connection.makefile("rb").read().partition(b"\r\n\r\n")[0].lower()

    assert b"server:" not in head
    assert b"date:" not in head


def test_several_calls_can_share_a_connection(shared: Sm) -> None:
    """Kept open, so that a busy agent's hooks are quick."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(shared.home.socket))
        for _ in range(3):
            connection.sendall(b"GET /reminders HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = b""
            while not answer.endswith(b"\r\n\r\n[]"):
                answer += connection.recv(4096)
            assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
