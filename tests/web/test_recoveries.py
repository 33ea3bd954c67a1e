"""Recoveries over HTTP: what can be brought back, how, and the request."""

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from sm.api.types import RecoverableView, RecoveryPlanView, RecoveryView
from tests.kit.tmux import wait_until
from tests.web.conftest import NOBODY, Web


@pytest.fixture
def cem(web: Web) -> Iterator[str]:
    """A session whose agent was killed in a turn."""
    session = web.sm.new_demo("cem")
    # Once it has written down anything at all, there is a record to go on with.
    web.sm.run("send", "cem", "hello", "--wait", "20", "--no-notify")
    web.sm.run("wait", "cem")
    web.sm.wait_recorded("cem", '"assistant"')
    web.sm.run("send", "cem", "%work 60", "--wait", "20", "--no-notify")
    web.sm.wait_recorded("cem", "%work 60")
    os.kill(web.sm.json("show", "cem")["pid"], signal.SIGKILL)
    web.sm.wait_state("cem", "crashed")
    yield session
    web.sm.run("kill", "cem")


def test_a_crashed_session_is_listed_planned_and_brought_back(web: Web, cem: str) -> None:
    """Each value has exactly the documented keys."""
    (listed,) = [one for one in web.call("GET", "/recoverable").json if one["id"] == cem]
    assert list(listed) == list(RecoverableView.__annotations__)
    assert (listed["cause"], listed["busy"]) == ("signal", True)

    plan = web.call("GET", f"/sessions/{cem}/recovery").json
    assert list(plan) == list(RecoveryPlanView.__annotations__)
    assert plan["way"] == "resume"
    fresh = web.call("GET", f"/sessions/{cem}/recovery?way=fresh").json
    assert "%work 60" in fresh["prompt"]

    asked = web.call("POST", f"/sessions/{cem}/recover", {"id": "0123abcd"})
    assert asked.status == 202
    assert asked.json["state"] == "recovering"
    assert web.call("POST", f"/sessions/{cem}/recover", {"id": "0123abcd"}).status == 202

    def shown() -> list[Any]:
        return list(web.call("GET", f"/sessions/{cem}").json["recoveries"])

    wait_until(lambda: shown()[-1]["state"] == "done", 20, seen=lambda: str(shown()))
    (recovery,) = shown()
    assert list(recovery) == list(RecoveryView.__annotations__)
    assert [step["step"] for step in recovery["steps"]] == ["asked", "started", "told", "done"]
    counted = b'sm_recoveries_total{cause="signal",outcome="done",way="resume"}'
    # It is counted once it is stored.
    wait_until(lambda: counted in web.call("GET", "/metrics").content)


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        (f"/sessions/{NOBODY}/recover", {}, 404, "There is no session"),
        ("/sessions/ADA/recover", {}, 409, "there is nothing to bring back"),
        ("/sessions/GONE/recover", {}, 409, "was ended on purpose"),
        ("/sessions/ADA/recover", {"way": "somehow"}, 400, "way"),
        ("/sessions/ADA/recover", {"id": "../x"}, 400, "id"),
        ("/sessions/ADA/recover", {"environment": {"A=B": "c"}}, 400, "environment"),
        ("/sessions/ADA/recover", {"environment": {"A": "\0"}}, 400, "environment"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(
    web: Web, path: str, body: dict[str, object], status: int, words: str
) -> None:
    path = path.replace("ADA", web.ada).replace("GONE", web.gone)

    answer = web.call("POST", path, body)

    assert (answer.status, words in answer.error) == (status, True), answer.error


def test_an_unknown_way_is_refused(web: Web) -> None:
    answer = web.call("GET", f"/sessions/{web.ada}/recovery?way=sideways")
    assert (answer.status, answer.error) == (400, "way must be resume or fresh.")
