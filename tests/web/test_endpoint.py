"""One declaration decodes, encodes and refuses alike for every endpoint."""

import http.client
from pathlib import Path
from typing import cast

import pytest
from starlette.requests import Request
from starlette.types import Message

from sm.engine.engine import Engine
from sm.web.endpoint import MAX_BODY, Call, Endpoint, refusal
from tests.web.conftest import Web


def test_a_body_that_is_no_json_is_refused_with_the_reason(web: Web) -> None:
    """What and where."""
    answer = web.call("PATCH", f"/sessions/{web.ada}", b"{")

    assert answer.status == 400
    assert answer.error.startswith("The body is not valid JSON: ")


NESTED = b'{"a":' + b"[" * 100_000
"""More brackets in one another than a decoder follows."""


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/sessions"),
        ("POST", "/sessions/adopt"),
        ("POST", "/sessions/ada/messages"),
        ("PATCH", "/sessions/ada"),
        ("POST", "/handoffs/load"),
        ("POST", "/notices/seen"),
        ("POST", "/hooks"),
        ("POST", "/hooks/ada"),
    ],
)
def test_a_body_nested_too_deep_is_refused(web: Web, method: str, path: str) -> None:
    """As any other that is no JSON."""
    answer = web.call(method, path.replace("ada", web.ada), NESTED)

    assert answer.status == 400
    assert "maximum recursion depth exceeded" in answer.error


def test_a_key_nobody_knows_is_ignored(web: Web) -> None:
    """A newer command may speak to an older run."""
    answer = web.call("PATCH", f"/sessions/{web.ada}/context", {"monitored": True, "newer": 1})

    assert answer.status == 200


def test_a_body_that_does_not_fit_is_refused_with_the_key(web: Web) -> None:
    """The key that is wrong is named."""
    answer = web.call("PATCH", f"/sessions/{web.ada}", {"name": 7})

    assert (answer.status, answer.error) == (
        400, "The body does not fit: Expected `str`, got `int` - at `$.name`.",
    )  # fmt: skip


def test_a_missing_key_is_named(web: Web) -> None:
    """Nothing is guessed."""
    answer = web.call("POST", f"/sessions/{web.ada}/messages", {})

    assert (answer.status, answer.error) == (
        400, "The body does not fit: Object missing required field `text`.",
    )  # fmt: skip


def test_a_body_that_is_too_large_is_refused_before_it_is_read(web: Web) -> None:
    """The length alone is enough."""
    answer = web.call(
        "PATCH", f"/sessions/{web.ada}", b"", headers={"Content-Length": "99999999999"}
    )

    assert (answer.status, answer.error) == (400, "The body must be at most 67108864 bytes.")


def test_a_parameter_that_does_not_fit_is_named(web: Web) -> None:
    """A word where a number is meant."""
    answer = web.call("GET", "/messages?limit=many")

    assert answer.status == 400
    assert answer.error.startswith("The parameter limit does not fit: ")


def test_a_number_the_store_cannot_hold_is_refused(web: Web) -> None:
    """Refused, not an error of ours."""
    for path in (
        f"/sessions/{web.ada}/timeline?after=99999999999999999999",
        f"/messages?limit=1{'0' * 5000}",
    ):
        answer = web.call("GET", path)

        assert answer.status == 400
        assert "does not fit" in answer.error


def test_the_last_of_a_repeated_parameter_counts(web: Web) -> None:
    """As browsers' own libraries do."""
    assert len(web.get("/sessions?all=false&all=true")) > len(web.get("/sessions?all=false"))


async def test_a_body_in_pieces_has_the_same_limit() -> None:
    """Sent in chunks it does not say how long it is: it is counted as it comes."""
    piece = bytes(MAX_BODY // 4)
    taken: list[int] = []

    async def receive() -> Message:
        taken.append(len(piece))
        return {"type": "http.request", "body": piece, "more_body": True}

    async def never(call: Call) -> None:
        raise AssertionError(call)

    endpoint = Endpoint(method="POST", path="/", about="", handler=never, body=dict[str, object])
    request = Request({"type": "http", "method": "POST", "headers": []}, receive)
    answer = await endpoint.server(cast("Engine", None))(request)

    assert (answer.status_code, bytes(answer.body)) == (
        400, b'{"error":"The body must be at most 67108864 bytes."}',
    )  # fmt: skip
    assert len(taken) == 5


def test_a_body_in_pieces_is_one_body(web: Web) -> None:
    """As a client sends it that does not know its length."""
    connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=30)
    pieces = iter([b'{"name"', b": 7}"])
    connection.request("PATCH", f"/sessions/{web.ada}", pieces, web.authorisation)
    answer = connection.getresponse()
    words = answer.read()
    connection.close()

    assert answer.status == 400
    assert b"Expected `str`, got `int`" in words


def test_a_name_too_long_for_a_file_is_the_callers_fault() -> None:
    """Whoever met it first: the system says no, and nothing is broken."""
    with pytest.raises(OSError, match="too long") as met:
        Path("x" * 300).stat()
    answer = refusal(met.value)

    assert answer.status_code == 400
    assert (
        bytes(answer.body).decode() == f'{{"error":"The name {"x" * 300} is too long for a file."}}'
    )
