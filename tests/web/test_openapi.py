"""The API's own description, and hundreds of calls made up from it against a real daemon."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from sm.api.types import Health
from sm.web.app import all_endpoints
from sm.web.openapi import describe
from tests.web.conftest import Web

CHECKS: list[Any] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]


def _no_health() -> Health:
    raise NotImplementedError


DESCRIPTION = describe(all_endpoints(_no_health))
# Without the token's part: test_guard.py has its tests, and here every call is to get in.
api = schemathesis.openapi.from_dict({k: v for k, v in DESCRIPTION.items() if k != "security"})


@pytest.fixture(scope="module")
def prey(web: Web) -> Iterator[str]:
    """A session that may be renamed, told and reminded of anything."""
    session = web.sm.new("prey", "--delay", "0")
    yield session
    web.call("DELETE", f"/sessions/{session}")


# The event stream has no end; test_system.py has its tests.
@api.exclude(path="/events").parametrize()
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
)
def test_no_call_breaks_the_daemon_or_its_word(case: Any, web: Web, prey: str) -> None:
    """Whatever is sent, the answer is one the description promises, and never an error of ours."""
    _make_harmless(case, web)
    _aim(case, web, prey)

    case.call_and_validate(base_url=web.url, headers=web.authorisation, checks=CHECKS)


def _make_harmless(case: Any, web: Web) -> None:
    """Nothing made up may start a program, end our session or wait for long."""
    if case.path == "/sessions" and isinstance(case.body, dict):
        if isinstance(case.body.get("environment", {}), dict):
            case.body["environment"] = {"PATH": str(web.sm.folder / "empty")}
        if isinstance(case.body.get("agent"), str):
            case.body["agent"] = case.body["agent"].replace("/", "")
    for wait in ("timeout", "wait"):
        if isinstance(case.query.get(wait), float | int):
            case.query[wait] = 0


def _aim(case: Any, web: Web, prey: str) -> None:
    """Made-up ids and folders fit nothing; most calls should be about something that is there."""
    for name, there in (("session", prey), ("message", web.hello)):
        given = case.path_parameters.get(name)
        if not isinstance(given, str):
            continue
        if len(given) < 4 and case.method != "DELETE":
            case.path_parameters[name] = there
        else:
            # Never by chance the beginning of another session's id.
            case.path_parameters[name] = f"zz{given}"
    if isinstance(case.body, dict):
        if isinstance(case.body.get("cwd"), str):
            case.body["cwd"] = str(web.sm.work)
        if isinstance(case.body.get("id"), str):
            case.body.pop("id")


def test_the_daemon_tells_this_very_description(web: Web) -> None:
    """What is documented is what runs."""
    assert web.get("/openapi.json") == DESCRIPTION


def test_every_operation_has_a_name_of_its_own() -> None:
    """Clients are generated from them."""
    names = [o["operationId"] for path in DESCRIPTION["paths"].values() for o in path.values()]

    assert len(names) == len(set(names)) > 15


@pytest.mark.parametrize(
    ("path", "method", "answers"),
    [
        ("/sessions", "post", ["201", "400", "401", "403", "404", "409"]),
        ("/reminders/{reminder}", "delete", ["204", "400", "401", "403", "404"]),
        ("/hooks/{session}", "post", ["204", "400", "401", "403", "404"]),
    ],
)
def test_each_answer_is_described(path: str, method: str, answers: list[str]) -> None:
    """The good one and the refusals."""
    assert sorted(DESCRIPTION["paths"][path][method]["responses"]) == answers
