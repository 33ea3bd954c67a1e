"""The stub as agents run it: a process with a payload on stdin, against real unix sockets."""

import resource
import socket
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest

import sm

STUB = Path(sm.__file__).parent / "adapters" / "agents" / "stub.py"
STOP = b'{"hook_event_name":"Stop"}'
ANSWER = b'{"decision":"block","reason":"one more thing"}'
OK = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(ANSWER), ANSWER)
NO_CONTENT = b"HTTP/1.1 204 No Content\r\n\r\n"
SESSION = {"CLAUDE_SESSION_MANAGER_ID": "0a1b2c3d", "SM_SESSION_TOKEN": "tok-en_1"}

Treatment = Callable[[socket.socket, bytes], None]


@dataclass
class Ground:
    """Where one test's stub runs."""

    folder: Path
    requests: list[bytes] = field(default_factory=list)

    @property
    def address(self) -> Path:
        return self.folder / "d.sock"

    @property
    def spool(self) -> Path:
        return self.folder / "spool"

    def line(self, *options: str, seconds: float = 5) -> list[str]:
        stub = [sys.executable, "-I", "-S", str(STUB)]
        return [*stub, str(self.address), str(self.spool), *(options or [str(seconds)])]

    def run(
        self, payload: bytes = STOP, *, seconds: float = 5, env: dict[str, str] = SESSION
    ) -> bytes:
        """What the agent reads from the hook, after checking that it saw no failure."""
        done = subprocess.run(
            self.line(seconds=seconds), input=payload, capture_output=True, env=env, timeout=20
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout

    def run_installed(self, *, env: dict[str, str] | None = None) -> bytes:
        """As a hook in a person's own settings does."""
        done = subprocess.run(
            self.line("--installed"), input=STOP, capture_output=True, env=env or {}, timeout=20
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout

    def adopt(self) -> None:
        (self.folder / "adopted").mkdir(exist_ok=True)
        (self.folder / "adopted" / "0a1b2c3d").touch()

    def start(self, *, seconds: float = 5) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.line(seconds=seconds),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=SESSION,
        )

    def spooled(self) -> list[bytes]:
        """The payloads in the spool, each file checked."""
        return [_payload(path) for path in sorted(self.spool.glob("*"))]

    @contextmanager
    def daemon(self, treat: Treatment) -> Iterator[None]:
        """A listener that records each request and then does as told with the connection."""
        with closing(socket.socket(socket.AF_UNIX)) as listener:
            listener.bind(str(self.address))
            listener.listen()
            thread = threading.Thread(target=self._serve, args=(listener, treat))
            thread.start()
            try:
                yield
            finally:
                listener.shutdown(socket.SHUT_RDWR)
                thread.join(10)
                assert not thread.is_alive()

    def _serve(self, listener: socket.socket, treat: Treatment) -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with peer:
                treat(peer, self._take(peer))

    def _take(self, peer: socket.socket) -> bytes:
        received = bytearray()
        while b"\r\n\r\n" not in received:
            received += peer.recv(1 << 20)
        length = int(received.split(b"Content-Length: ")[1].split(b"\r\n")[0])
        while len(received.partition(b"\r\n\r\n")[2]) < length:
            received += peer.recv(1 << 20)
        self.requests.append(bytes(received))
        return bytes(received)


def _payload(path: Path) -> bytes:
    body, checksum, last = path.read_bytes().rsplit(b"\n", 2)
    assert (int(checksum, 16), last) == (zlib.crc32(body), b"")
    return body.partition(b"\n")[2]


def answering(response: bytes) -> Treatment:
    return lambda peer, _request: peer.sendall(response)


def hanging(peer: socket.socket, _request: bytes) -> None:
    peer.recv(1)


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def test_the_daemons_answer_reaches_the_agent(ground: Ground) -> None:
    """What the daemon answers to a hook is what the agent reads, and nothing is spooled."""
    with ground.daemon(answering(OK)):
        assert ground.run() == ANSWER

    assert ground.spooled() == []


def test_a_request_names_the_session_the_call_and_its_time(ground: Ground) -> None:
    """The daemon learns who called, with which right, and when it happened."""
    before = time.time()
    with ground.daemon(answering(NO_CONTENT)):
        assert ground.run() == b""
    [request] = ground.requests

    head, _, payload = request.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    fields = dict(line.split(": ", 1) for line in lines)
    hook, at = fields.pop("X-Sm-Hook"), fields.pop("X-Sm-At")
    assert first == "POST /hooks/0a1b2c3d HTTP/1.1"
    assert fields == {
        "Host": "localhost",
        "Content-Type": "application/json",
        "Content-Length": str(len(STOP)),
        "Connection": "close",
        "Authorization": "Bearer tok-en_1",
    }
    assert len(bytes.fromhex(hook)) == 8
    assert before - 1e-6 <= float(at) <= time.time()
    assert payload == STOP


def test_without_a_token_no_right_is_claimed(ground: Ground) -> None:
    """A session without a token still reports."""
    with ground.daemon(answering(NO_CONTENT)):
        ground.run(env={"CLAUDE_SESSION_MANAGER_ID": "0a1b2c3d"})

    assert b"Authorization" not in ground.requests[0]


@pytest.mark.parametrize("status", ["204 No Content", "400 Bad Request", "413 Too Large"])
def test_what_the_daemon_settled_is_not_spooled(ground: Ground, status: str) -> None:
    """A hook the daemon took or set aside itself is not kept a second time."""
    body = b'{"error":"not for the agent"}'
    response = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    with ground.daemon(answering(response)):
        assert ground.run() == b""

    assert ground.spooled() == []


@pytest.mark.parametrize(
    "response",
    [
        b"",
        b"HTTP/1.1 2",
        b"not http at all\r\n\r\n",
        b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 4\r\n\r\noops",
        b"HTTP/1.1 503 Busy\r\n\r\n",
        b'HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{"decision":"bl',
    ],
    ids=["silence", "half a status", "garbage", "500", "503", "half an answer"],
)
def test_what_the_daemon_did_not_settle_is_spooled(ground: Ground, response: bytes) -> None:
    """A daemon that fails midway costs nothing: the hook waits, and no half answer is shown."""
    with ground.daemon(answering(response)):
        assert ground.run() == b""

    assert ground.spooled() == [STOP]


def test_a_daemon_that_hangs_is_given_up(ground: Ground) -> None:
    """The agent goes on after the deadline, and the hook is kept."""
    with ground.daemon(hanging):
        started = time.monotonic()
        assert ground.run(seconds=0.3) == b""

    assert time.monotonic() - started < 2
    assert ground.spooled() == [STOP]


def test_a_refusal_before_the_end_of_the_payload_is_heard(ground: Ground) -> None:
    """A daemon that refuses a payload for its size has settled it."""
    with closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(str(ground.address))
        listener.listen()
        stub = ground.start()
        writer = threading.Thread(target=stub.communicate, args=(b"x" * 5_000_000,))
        writer.start()
        peer, _ = listener.accept()
        peer.recv(1000)
        peer.sendall(b"HTTP/1.1 413 Too Large\r\n\r\n")
        peer.close()
        writer.join(10)

    assert stub.returncode == 0
    assert ground.spooled() == []


def test_without_a_daemon_the_hook_is_spooled(ground: Ground) -> None:
    """No socket at all: the hook waits on the disk, readable by its owner only."""
    assert ground.run() == b""

    [path] = ground.spool.iterdir()
    nanoseconds, hook = path.name.removesuffix(".hook").split("-")
    header = msgspec.json.decode(path.read_bytes().splitlines()[0])
    assert header == {
        "session": "0a1b2c3d",
        "hook": hook,
        "at": pytest.approx(int(nanoseconds) / 1e9, abs=2e-6),
    }
    assert ground.spooled() == [STOP]
    assert [oct(found.stat().st_mode & 0o777) for found in (path, ground.spool)] == [
        "0o600",
        "0o700",
    ]


def test_a_dead_socket_is_like_none(ground: Ground) -> None:
    """A socket file left by a killed daemon refuses; the hook is kept."""
    with closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(str(ground.address))

    assert ground.run() == b""
    assert ground.spooled() == [STOP]


def test_a_full_backlog_is_waited_for_but_not_for_ever(ground: Ground) -> None:
    """A burst of hooks that fills the listener's queue gets half a second to move on."""
    with (
        closing(socket.socket(socket.AF_UNIX)) as listener,
        closing(socket.socket(socket.AF_UNIX)) as first,
    ):
        listener.bind(str(ground.address))
        listener.listen(0)
        first.connect(str(ground.address))
        started = time.monotonic()
        assert ground.run() == b""

    assert 0.5 < time.monotonic() - started < 2
    assert ground.spooled() == [STOP]


def test_names_sort_by_the_time_of_the_hooks(ground: Ground) -> None:
    """Hooks spooled one after the other are read in that order."""
    payloads = [b"%d" % number for number in range(8)]
    for payload in payloads:
        ground.run(payload)

    assert ground.spooled() == payloads


def test_a_large_payload_goes_through(ground: Ground) -> None:
    """Five megabytes arrive whole, over the socket and in the spool."""
    payload = b'{"tool_response":"%s"}' % (b"x\n" * 2_500_000)
    with ground.daemon(answering(OK)):
        assert ground.run(payload) == ANSWER
    assert ground.requests[0].partition(b"\r\n\r\n")[2] == payload

    ground.address.unlink()
    assert ground.run(payload) == b""
    assert ground.spooled() == [payload]


def test_a_large_answer_goes_through(ground: Ground) -> None:
    """An answer larger than a pipe's buffer reaches the agent whole."""
    answer = b"y" * 300_000
    with ground.daemon(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n" + answer)):
        assert ground.run() == answer


def test_a_stdin_that_is_never_closed_is_not_waited_for(ground: Ground) -> None:
    """An agent that keeps the pipe open gets its answer two seconds after its last byte."""
    with ground.daemon(answering(OK)), ground.start() as stub:
        assert stub.stdin is not None
        assert stub.stdout is not None
        stub.stdin.write(STOP)
        stub.stdin.flush()
        started = time.monotonic()
        assert stub.stdout.read() == ANSWER
        assert 1 < time.monotonic() - started < 4

    assert ground.requests[0].endswith(b"\r\n\r\n" + STOP)


def test_a_stub_told_to_end_spools_first(ground: Ground) -> None:
    """An agent that loses patience with a hanging daemon does not cost the hook."""
    arrived = threading.Event()

    def hang(peer: socket.socket, request: bytes) -> None:
        arrived.set()
        hanging(peer, request)

    with ground.daemon(hang), ground.start() as stub:
        assert stub.stdin is not None
        stub.stdin.write(STOP)
        stub.stdin.close()
        assert arrived.wait(5)
        stub.terminate()
        assert stub.wait(2) == 0

    assert ground.spooled() == [STOP]


@pytest.mark.parametrize("identity", ["", "../../x", "a b", "a\r\nHost: evil"])
def test_who_is_no_session_is_left_alone(ground: Ground, identity: str) -> None:
    """An agent that sm did not start, or a forged id, reports nothing."""
    with ground.daemon(answering(OK)):
        assert ground.run(env={"CLAUDE_SESSION_MANAGER_ID": identity}) == b""
        assert ground.run(env={}) == b""

    assert ground.requests == []
    assert ground.spooled() == []


def test_an_installed_hook_reports_without_a_session(ground: Ground) -> None:
    """The daemon finds out whose it is; no right is claimed."""
    ground.adopt()
    with ground.daemon(answering(OK)):
        assert ground.run_installed() == ANSWER
    [request] = ground.requests

    assert request.startswith(b"POST /hooks HTTP/1.1\r\n")
    assert b"Authorization" not in request
    assert request.endswith(b"\r\n\r\n" + STOP)


def test_an_installed_hook_is_spooled_without_a_session(ground: Ground) -> None:
    """Nobody listens: it waits on the disk like any other."""
    ground.adopt()
    assert ground.run_installed() == b""

    [path] = ground.spool.iterdir()
    assert msgspec.json.decode(path.read_bytes().splitlines()[0])["session"] == ""
    assert ground.spooled() == [STOP]


def test_an_installed_hook_is_silent_in_a_session_of_ours(ground: Ground) -> None:
    """Or everything would be reported twice."""
    ground.adopt()
    with ground.daemon(answering(OK)):
        assert ground.run_installed(env=SESSION) == b""

    assert (ground.requests, ground.spooled()) == ([], [])


def test_an_installed_hook_is_silent_while_nobody_is_adopted(ground: Ground) -> None:
    """No folder, or an empty one."""
    with ground.daemon(answering(OK)):
        assert ground.run_installed() == b""
        (ground.folder / "adopted").mkdir()
        assert ground.run_installed() == b""

    assert (ground.requests, ground.spooled()) == ([], [])


def test_a_spool_that_cannot_be_made_is_given_up(ground: Ground) -> None:
    """Nowhere to write: the agent does not notice."""
    ground.spool.write_bytes(b"a file where the folder should be")

    assert ground.run() == b""


def test_a_full_disk_leaves_no_half_file(ground: Ground) -> None:
    """When the disk is full the hook is lost, silently and without a torn file."""
    done = subprocess.run(
        ground.line(),
        input=b"x" * 100_000,
        capture_output=True,
        env=SESSION,
        timeout=20,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000)),
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert list(ground.spool.iterdir()) == []


@pytest.mark.parametrize("arguments", [[], ["only-one"], ["/s", "/nowhere/spool", "soon"]])
def test_wrong_arguments_do_not_fail_the_hook(arguments: list[str]) -> None:
    """Even a broken installation shows the agent no error."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", STUB, *arguments],
        input=STOP,
        capture_output=True,
        env=SESSION,
        timeout=20,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_how_long_a_hook_takes(ground: Ground, capsys: pytest.CaptureFixture[str]) -> None:
    """Printed for the record: a shared machine proves no time."""
    empty = _median_ms(lambda: subprocess.run([*ground.line()[:3], "-c", "pass"], check=True))
    nobody = _median_ms(lambda: ground.run(env={}))
    spooling = _median_ms(ground.run)
    with ground.daemon(answering(OK)):
        asking = _median_ms(ground.run)

    with capsys.disabled():
        sys.stdout.write(
            f"\nstub: interpreter {empty:.1f} ms, no session {nobody:.1f} ms,"
            f" round trip {asking:.1f} ms, spooling {spooling:.1f} ms (median of 9)\n"
        )


def _median_ms(run: Callable[[], object]) -> float:
    times = []
    for _ in range(9):
        started = time.perf_counter()
        run()
        times.append((time.perf_counter() - started) * 1000)
    return sorted(times)[4]


def test_the_stub_imports_no_python_modules() -> None:
    """Each module written in Python costs the agent a millisecond or more at every hook."""
    script = (
        "import sys; before = set(sys.modules)\n"
        "exec(open(sys.argv[1]).read(), {'__name__': 'stub'})\n"
        "new = [sys.modules[name] for name in set(sys.modules) - before]\n"
        "print([m.__name__ for m in new if getattr(m, '__file__', '').endswith('.py')])"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, STUB], capture_output=True, check=True
    )

    assert done.stdout == b"[]\n"
