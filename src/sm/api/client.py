"""Speaks to the daemon over its unix socket. Light: no asyncio, no HTTP library.

A call that the daemon's death cut off is sent again: every call that creates something carries an
id of its own, so a repeat is recognised.
"""

import json
import socket
import time
from collections.abc import Iterator, Mapping
from urllib.parse import quote, urlencode

from sm.api import starting
from sm.api.errors import RefusedError, UnreachableError
from sm.settings.home import Home

__all__ = ["Client", "RefusedError", "UnreachableError", "segment"]

RETRY_FOR = 20.0


class Client:
    """One daemon, started when needed."""

    def __init__(self, home: Home, *, start: bool = True) -> None:
        self.home = home
        self._start = start

    def get(self, path: str, **query: object) -> object:
        return self.call("GET", path, query=query)

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, object] | None = None,
        within: float = 60.0,
    ) -> object:
        """The decoded answer; raises for a refusal."""
        if self._start:
            starting.ensure(self.home)
        target = path if not query else f"{path}?{urlencode(dict(query))}"
        payload = b"" if body is None else json.dumps(body).encode()
        failing_since: float | None = None
        while True:
            asked = time.monotonic()
            try:
                status, answer = self._exchange(method, target, payload, within)
                break
            except (ConnectionError, FileNotFoundError, EOFError) as error:
                # A connection that held for a while was a daemon that worked: begin anew.
                if failing_since is None or time.monotonic() - asked > RETRY_FOR:
                    failing_since = time.monotonic()
                if not self._start or time.monotonic() - failing_since > RETRY_FOR:
                    raise UnreachableError(_unreachable(error)) from None
                starting.ensure(self.home)
                time.sleep(0.05)
            except TimeoutError:
                raise UnreachableError(
                    "The daemon did not answer in time. See: sm doctor"
                ) from None
        return _decoded(status, answer)

    def _exchange(
        self, method: str, target: str, payload: bytes, within: float
    ) -> tuple[int, bytes]:
        with self._connected(within) as connection:
            connection.sendall(_request(method, target, payload))
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

    def stream(self, path: str) -> Iterator[bytes]:
        """The lines of an endless answer."""
        starting.ensure(self.home)
        with self._connected(3600.0) as connection:
            connection.sendall(_request("GET", path, b""))
            with connection.makefile("rb") as answer:
                while line := answer.readline():
                    yield line


def segment(text: str) -> str:
    """Text as one segment of a path."""
    return quote(text, safe="") or "%20"


def _request(method: str, target: str, payload: bytes) -> bytes:
    head = (
        f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(payload)}\r\n\r\n"
    )
    return head.encode() + payload


def _head(stream: object) -> tuple[int, int]:
    readline = stream.readline  # type: ignore[attr-defined]
    first = readline()
    if not first.endswith(b"\r\n"):
        raise EOFError
    length = 0
    while (line := readline()) != b"\r\n":
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
        raise RefusedError(words or f"The daemon answered {status}.", status)
    return value


def _unreachable(error: Exception) -> str:
    return (
        f"The daemon cannot be reached ({str(error) or 'it closed the connection'}). See: sm doctor"
    )
