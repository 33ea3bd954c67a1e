"""One real daemon for all tests of the web layer, called over TCP as a browser would."""

import http.client
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tests.kit.sm import Sm, sm_home

NOBODY = "ffffffff"
"""An id no session has."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def error(self) -> str:
        assert set(self.json) == {"error"}
        return str(self.json["error"])


@dataclass(frozen=True, slots=True)
class Web:
    sm: Sm
    port: int
    token: str
    ada: str
    """The id of a demo agent that is idle."""
    gone: str
    """The id of a session that has ended."""
    hello: str
    """The id of a message that ada has taken."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def authorisation(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        headers: Mapping[str, str] | None = None,
        anonymous: bool = False,
    ) -> Answer:
        content = body if isinstance(body, bytes) else b"" if body is None else _json(body)
        sent = {**({} if anonymous else self.authorisation), **(headers or {})}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, content, sent)
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        answer = self.call("GET", path)
        assert answer.status == 200, answer.content
        return answer.json


def _json(body: object) -> bytes:
    return json.dumps(body).encode()


@pytest.fixture(scope="session")
def web() -> Iterator[Web]:
    with sm_home() as sm:
        ada = sm.new_demo("ada")
        gone = sm.new("gone")
        sm.run("kill", "gone")
        hello = sm.run("send", "ada", "hello", "--wait", "20").split()[0]
        sm.run("wait", "ada")
        sm.wait_recorded("ada", "Got it:")
        token = sm.home.token.read_text().strip()
        yield Web(sm, sm.health()["port"], token, ada, gone, hello)
