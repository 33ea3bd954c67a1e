"""Speaks to the daemon over its unix socket. Light: no asyncio, no HTTP library.

A call that the daemon's death cut off is sent again: every call that creates something carries an
id of its own, so a repeat is recognised.
"""

import json
import select
import socket
import time
from collections.abc import Callable, Mapping
from io import BufferedReader
from urllib.parse import quote, urlencode

from sm.api import starting
from sm.api.errors import RefusedError, StartError, UnansweredError, UnreachableError
from sm.settings.home import Home

__all__ = ["Client", "RefusedError", "UnansweredError", "UnreachableError", "named", "segment"]

RETRY_FOR = 20.0
UNANSWERED = 504
CUT_FOR = 2.0
"""How long a call that may start no daemon is sent again if it was cut off: another takes over."""
LOOK_AFTER, LOOK_EVERY, LOOK_FOR = 2.0, 60.0, 1.0
"""When a call that is not answered asks whether anything is; at most how seldom; for how long."""
SESSIONS = "sm ls --all"
HANGS = "The daemon is not answering; still waiting. To end it: sm daemon stop"


class Client:
    """One daemon, started when needed."""

    def __init__(
        self, home: Home, *, start: bool = True, tell: Callable[[str], None] | None = None
    ) -> None:
        self.home = home
        self._start = start
        self._tell = tell
        """Told once, in words, that a call waits for a daemon that hangs."""

    def get(self, path: str, **query: object) -> object:
        return self.call("GET", path, query=query)

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, object] | None = None,
        token: str = "",
        within: float = 60.0,
    ) -> object:
        """The decoded answer; raises for a refusal."""
        if self._start:
            starting.ensure(self.home)
        target = path if not query else f"{path}?{urlencode(dict(query))}"
        payload = b"" if body is None else json.dumps(body).encode()
        request = _request(method, target, payload, token)
        try:
            return _decoded(*self._answer(request, within))
        except TimeoutError:
            words = "The daemon did not answer in time. See: sm doctor"
            raise UnansweredError(words) from None

    def _answer(self, request: bytes, within: float) -> tuple[int, bytes]:
        """Status and body, from as many daemons as it takes."""
        failing_since: float | None = None
        while True:
            asked = time.monotonic()
            try:
                return self._exchange(request, within)
            except (ConnectionError, FileNotFoundError, EOFError) as error:
                # A connection that held for a while was a daemon that worked: begin anew.
                if failing_since is None or time.monotonic() - asked > RETRY_FOR:
                    failing_since = time.monotonic()
                if time.monotonic() - failing_since >= self._patience(error):
                    raise UnansweredError(_unreachable(error)) from None
                self._start_again()

    def _patience(self, error: Exception) -> float:
        if self._start:
            return RETRY_FOR
        is_nobody_there = isinstance(error, (ConnectionRefusedError, FileNotFoundError))
        return 0.0 if is_nobody_there else CUT_FOR

    def _start_again(self) -> None:
        try:
            if self._start:
                starting.ensure(self.home)
        except StartError as error:
            raise UnansweredError(str(error)) from None
        time.sleep(0.05)

    def _exchange(self, request: bytes, within: float) -> tuple[int, bytes]:
        with self._connected(within) as connection:
            connection.sendall(request)
            self._wait(connection, within)
            with connection.makefile("rb") as stream:
                status, length = _head(stream)
                answer = stream.read(length)
                if len(answer) < length:
                    raise EOFError
                return status, answer

    def _connected(self, within: float) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(within)
        try:
            connection.connect(str(self.home.live_socket))
        except BaseException:
            connection.close()
            raise
        return connection

    def _wait(self, connection: socket.socket, within: float) -> None:
        """Until the answer begins. A slow call is no hanging daemon: that one answers nobody."""
        deadline = time.monotonic() + within
        pause = LOOK_AFTER
        while self._tell is not None:
            left = deadline - time.monotonic()
            if left <= 0 or select.select([connection], [], [], min(pause, left))[0]:
                break
            if left > pause and not starting.answers(self.home, within=LOOK_FOR):
                self._tell(HANGS)
                self._tell = None
            pause = min(pause * 2, LOOK_EVERY)
        connection.settimeout(max(deadline - time.monotonic(), 0.01))


def segment(text: str, see: str = SESSIONS) -> str:
    """Text as one segment of a path; ``see``: the command that lists what could be meant."""
    if "/" in named(text, see):
        # However it is written, the server takes it for two segments: another address.
        raise RefusedError(f"Nothing is called {text!r}. See what there is with: {see}", 404)
    return quote(text, safe="")


def named(text: str, see: str = SESSIONS) -> str:
    """Text that names something: an empty one, as of a variable that is not set, is no "all"."""
    if not text:
        raise RefusedError(f"An empty name means nothing. See what there is with: {see}", 400)
    return text


def _request(method: str, target: str, payload: bytes, token: str = "") -> bytes:
    proof = f"Authorization: Bearer {token}\r\n" if token.isprintable() and token else ""
    head = (
        f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{proof}"
        f"Content-Type: application/json\r\nContent-Length: {len(payload)}\r\n\r\n"
    )
    return head.encode() + payload


def _head(stream: BufferedReader) -> tuple[int, int]:
    first = stream.readline()
    if not first.endswith(b"\r\n"):
        raise EOFError
    length = 0
    while (line := stream.readline()) != b"\r\n":
        if not line.endswith(b"\r\n"):
            # Cut off inside the head: a whole answer has an empty line behind it.
            raise EOFError
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return int(first.split()[1]), length


def _decoded(status: int, answer: bytes) -> object:
    if status == 204 or (status < 300 and not answer):
        return None
    try:
        value = json.loads(answer)
    except ValueError:
        value = answer.decode(errors="replace")
    if status >= 300:
        words = value.get("error", "") if isinstance(value, dict) else str(value)
        if status == UNANSWERED:
            # Handed on to a run that said nothing: as with a daemon that does not.
            raise UnansweredError(words)
        raise RefusedError(words or f"The daemon answered {status}.", status)
    return value


def _unreachable(error: Exception) -> str:
    return (
        f"The daemon cannot be reached ({str(error) or 'it closed the connection'}). See: sm doctor"
    )
