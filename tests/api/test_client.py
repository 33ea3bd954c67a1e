"""The client against a real unix socket whose other end behaves badly on purpose."""

import fcntl
import json
import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from sm.api import client as module
from sm.api.client import Client, RefusedError, UnansweredError, UnreachableError, segment
from sm.settings.home import Home
from sm.version import VERSION

Treatment = Callable[[socket.socket], None]


@pytest.fixture
def home() -> Iterator[Home]:
    folder = Path(tempfile.mkdtemp(prefix="smt-"))
    made = Home(folder, folder / "config.toml", folder / "sm", is_default=False)
    made.make()
    yield made
    shutil.rmtree(folder)


@contextmanager
def _daemon(home: Home, treatments: Sequence[Treatment]) -> Iterator[list[bytes]]:
    """Looks like a running daemon, and treats each connection in turn as told."""
    home.pid.write_text(f"{os.getpid()} {VERSION}\n")
    requests: list[bytes] = []
    with home.lock.open("w") as lock, closing(socket.socket(socket.AF_UNIX)) as listener:
        fcntl.flock(lock, fcntl.LOCK_EX)
        listener.bind(str(home.socket))
        listener.listen()
        # A call that never comes fails the test, it does not hang the run.
        listener.settimeout(8)
        thread = threading.Thread(target=_serve, args=(listener, treatments, requests))
        thread.start()
        yield requests
        thread.join(10)
    assert len(requests) == len(treatments)


def _serve(listener: socket.socket, treatments: Sequence[Treatment], requests: list[bytes]) -> None:
    for treat in treatments:
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            return
        with connection:
            requests.append(_request(connection))
            treat(connection)


def _request(connection: socket.socket) -> bytes:
    with connection.makefile("rb") as stream:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += stream.readline()
        length = head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]
        return head + stream.read(int(length or 0))


def _answer(body: object, status: int = 200) -> Treatment:
    content = json.dumps(body).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(content)}\r\n\r\n".encode()
    return lambda connection: connection.sendall(head + content)


def _cut(sent: bytes) -> Treatment:
    """The daemon dies after these bytes of its answer."""
    return lambda connection: connection.sendall(sent)


def test_the_answer_is_decoded(home: Home) -> None:
    """A call gives what the daemon's JSON says."""
    with _daemon(home, [_answer({"ok": True})]) as requests:
        assert Client(home).call("POST", "/x", {"a": "ü"}, query={"q": "1 2"}) == {"ok": True}

    head, _, body = requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /x?q=1+2 HTTP/1.1\r\n")
    assert json.loads(body) == {"a": "ü"}


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"HTTP/1.1 2",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Len",
        b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n",
        b'HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{"ok": ',
    ],
)
def test_a_call_cut_off_by_the_daemons_death_is_sent_again(home: Home, sent: bytes) -> None:
    """Wherever the answer is torn, the person gets a whole one from the next worker."""
    with _daemon(home, [_cut(sent), _answer({"ok": True})]) as requests:
        assert Client(home).call("POST", "/x", {"id": "a1"}) == {"ok": True}

    assert requests[0] == requests[1]


def test_who_only_looks_asks_again_while_one_daemon_takes_anothers_place(home: Home) -> None:
    """`sm daemon status` starts nothing, but what was cut off in between says nothing."""
    with _daemon(home, [_cut(b""), _answer({"ok": True})]) as requests:
        assert Client(home, start=False).get("/health") == {"ok": True}

    assert requests[0] == requests[1]


def test_who_only_looks_is_soon_told_that_no_daemon_answers(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CUT_FOR", 0.0)

    with _daemon(home, [_cut(b"")]), pytest.raises(UnreachableError) as refused:
        Client(home, start=False).get("/health")

    assert str(refused.value) == (
        "The daemon cannot be reached (it closed the connection). See: sm doctor"
    )


def test_without_a_daemon_the_words_say_what_to_do(home: Home) -> None:
    """No socket at all."""
    with pytest.raises(UnreachableError) as refused:
        Client(home, start=False).get("/health")

    assert str(refused.value) == (
        "The daemon cannot be reached ([Errno 2] No such file or directory). See: sm doctor"
    )


def test_a_daemon_that_keeps_dying_is_given_up_at_last(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not before the deadline, and not much later."""
    monkeypatch.setattr(module, "RETRY_FOR", 0.0)

    with _daemon(home, [_cut(b"")]), pytest.raises(UnreachableError, match="cannot be reached"):
        Client(home).get("/x")


def test_a_daemon_that_does_not_answer_is_told(home: Home) -> None:
    """A hanging daemon is no silent wait for ever."""
    hang = threading.Event()

    def wait(connection: socket.socket) -> None:
        hang.wait(10)

    with _daemon(home, [wait]):
        with pytest.raises(UnreachableError) as refused:
            Client(home).call("GET", "/x", within=0.05)
        hang.set()

    assert str(refused.value) == "The daemon did not answer in time. See: sm doctor"


def test_a_daemon_that_hangs_is_told_once_while_the_call_waits(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody sits before a silent terminal; the answer is taken when it comes after all."""
    monkeypatch.setattr(module, "LOOK_AFTER", 0.05)
    monkeypatch.setattr(module, "LOOK_FOR", 0.05)
    answer = _answer({"ok": True})
    told: list[str] = []
    woken = threading.Event()

    def wait(connection: socket.socket) -> None:
        assert woken.wait(10)
        answer(connection)

    def tell(words: str) -> None:
        told.append(words)
        woken.set()

    with _daemon(home, [wait, lambda _: None]):
        assert Client(home, tell=tell).get("/x") == {"ok": True}

    assert told == ["The daemon is not answering; still waiting. To end it: sm daemon stop"]


def test_a_call_that_takes_long_is_no_hanging_daemon(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`sm wait` waits for hours in silence: the daemon answers others meanwhile."""
    monkeypatch.setattr(module, "LOOK_AFTER", 0.05)
    told: list[str] = []
    asked = threading.Event()
    slow: list[socket.socket] = []

    def keep(connection: socket.socket) -> None:
        slow.append(connection.dup())

    def well(connection: socket.socket) -> None:
        _answer({})(connection)
        _answer({"ok": True})(slow[0])
        slow[0].close()
        asked.set()

    with _daemon(home, [keep, well]):
        assert Client(home, tell=told.append).get("/x") == {"ok": True}

    assert asked.is_set()
    assert told == []


def test_a_call_that_nobody_answered_behind_the_daemon_is_no_refusal(home: Home) -> None:
    """It was handed on to a run that is stopped: it may have been done, or may be done yet."""
    words = {"error": "ada (an sm run) does not answer"}
    with (
        _daemon(home, [_answer(words, 504)]),
        pytest.raises(UnansweredError, match=r"^ada \(an sm run\) does not answer$"),
    ):
        Client(home).get("/sessions/ada")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": "ada has ended."}, "ada has ended."),
        ({"error": ""}, "The daemon answered 409."),
        ({}, "The daemon answered 409."),
    ],
)
def test_a_refusal_carries_the_daemons_words(home: Home, body: object, words: str) -> None:
    """What was refused and why is what the person reads."""
    with _daemon(home, [_answer(body, 409)]), pytest.raises(RefusedError) as refused:
        Client(home).get("/x")

    assert (str(refused.value), refused.value.status) == (words, 409)


def test_an_answer_that_is_no_json_is_given_as_text(home: Home) -> None:
    """The metrics are plain text."""
    text = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nsm_up 1"

    with _daemon(home, [_cut(text)]):
        assert Client(home).get("/metrics") == "sm_up 1"


def test_an_empty_answer_is_nothing(home: Home) -> None:
    """Done, with nothing to say."""
    with _daemon(home, [_cut(b"HTTP/1.1 204 No Content\r\n\r\n")]):
        assert Client(home).call("DELETE", "/x") is None


@pytest.mark.parametrize(("text", "quoted"), [("ada", "ada"), ("a b?c", "a%20b%3Fc"), (" ", "%20")])
def test_what_a_person_types_stays_one_segment_of_the_path(text: str, quoted: str) -> None:
    """Whatever it holds."""
    assert segment(text) == quoted


@pytest.mark.parametrize("text", ["ada/screen", "../x", "/"])
def test_a_name_with_a_slash_names_nothing(text: str) -> None:
    """It would reach another address: the server takes even a quoted one for a boundary."""
    with pytest.raises(RefusedError, match=f"Nothing is called '{text}'. See what there is"):
        segment(text)


def test_an_empty_name_is_refused() -> None:
    """It is a script's unset variable, not a session called ' '."""
    with pytest.raises(RefusedError, match="An empty name means nothing"):
        segment("")
