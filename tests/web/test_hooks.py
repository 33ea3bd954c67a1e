"""Hooks over HTTP: taken in once, or set aside where they can be found."""

import secrets
import time
from typing import Any

import pytest

from tests.web.conftest import NOBODY, Web

NOTE = {"hook_event_name": "Notification", "notification_type": "other"}


def _reported(web: Web) -> list[dict[str, Any]]:
    """All that came by a hook: what else sm sees meanwhile is none of ours."""
    events = web.get(f"/sessions/{web.ada}/timeline?limit=1000")
    return [e for e in events if "hook" in e["body"]]


def _hooks_of(web: Web, kind: str) -> list[dict[str, Any]]:
    return [e for e in _reported(web) if e["kind"] == kind]


def _bad(web: Web) -> list[str]:
    found: list[str] = web.get("/health")["spool"]["bad"]
    return found


def test_a_hook_is_on_the_disk_before_it_is_answered(web: Web) -> None:
    """204 and nothing to read: an agent waits for this answer."""
    before = len(_hooks_of(web, "HookNoticed"))

    answer = web.call("POST", f"/hooks/{web.ada}", NOTE)

    assert (answer.status, answer.content) == (204, b"")
    assert len(_hooks_of(web, "HookNoticed")) == before + 1


def test_a_hook_that_comes_twice_changes_nothing(web: Web) -> None:
    """A stub that was cut off sends it again, or spools it as well."""
    again = {"X-Sm-Hook": secrets.token_hex(8)}
    web.call("POST", f"/hooks/{web.ada}", NOTE, headers=again)
    before = _reported(web)

    answer = web.call("POST", f"/hooks/{web.ada}", NOTE, headers=again)

    assert answer.status == 204
    assert _reported(web) == before


def test_the_producers_time_is_kept(web: Web) -> None:
    """A hook tells of the past by its own clock."""
    at = round(time.time() - 5, 3)

    web.call("POST", f"/hooks/{web.ada}", NOTE, headers={"X-Sm-At": str(at)})

    body = _hooks_of(web, "HookNoticed")[-1]["body"]
    assert isinstance(body, dict)
    assert body["hook"]["at"] == at


@pytest.mark.parametrize("stamp", ["inf", "nan", "-5", "1e300"])
def test_an_impossible_time_is_replaced_by_the_time_of_arrival(web: Web, stamp: str) -> None:
    """A clock that is wrong must not put an event into the far future."""
    answer = web.call("POST", f"/hooks/{web.ada}", NOTE, headers={"X-Sm-At": stamp})

    assert answer.status == 204
    body = _hooks_of(web, "HookNoticed")[-1]["body"]
    assert isinstance(body, dict)
    assert abs(body["hook"]["at"] - time.time()) < 30


@pytest.mark.parametrize("payload", [b"", b"{", b"[]", b"7", b'{"a": 1}', b"\xff", b"\x00" * 100])
def test_what_is_no_hook_is_set_aside_and_told(web: Web, payload: bytes) -> None:
    """Nothing an agent said is lost: doctor shows it, with the reason."""
    hook = secrets.token_hex(8)

    answer = web.call("POST", f"/hooks/{web.ada}", payload, headers={"X-Sm-Hook": hook})

    assert answer.status == 400
    assert answer.error.startswith("Not a hook: ")
    assert answer.error.endswith("It was set aside; see: sm doctor")
    assert hook in _bad(web)[-1]
    kept = next((web.sm.home.spool / "bad").glob(f"*{hook}.hook"))
    assert payload in kept.read_bytes()


def test_a_hook_with_a_stamp_that_is_no_time_is_set_aside(web: Web) -> None:
    """Not guessed at."""
    answer = web.call("POST", f"/hooks/{web.ada}", NOTE, headers={"X-Sm-At": "yesterday"})

    assert answer.status == 400
    assert answer.error == (
        "Not a hook: X-Sm-At 'yesterday' is no time. It was set aside; see: sm doctor"
    )


def test_a_hook_of_an_unknown_session_is_set_aside(web: Web) -> None:
    """It may belong to another home; it is kept and shown."""
    answer = web.call("POST", f"/hooks/{NOBODY}", NOTE)

    assert (answer.status, answer.error) == (404, f"There is no session {NOBODY}.")
    assert _bad(web)[-1].endswith(f": there is no session {NOBODY}")


def test_a_hook_id_cannot_name_a_file_elsewhere(web: Web) -> None:
    """The id is the caller's own words."""
    web.call("POST", f"/hooks/{NOBODY}", NOTE, headers={"X-Sm-Hook": "../../../../tmp/x y"})

    assert _bad(web)[-1].split("-", 1)[1].startswith("____________tmp_x_y.hook")


def test_only_posting_is_understood(web: Web) -> None:
    """Anything else is refused by its method."""
    answer = web.call("GET", f"/hooks/{web.ada}")

    assert (answer.status, answer.error) == (405, "This address does not take that method.")


def test_a_hook_of_a_client_nobody_adopted_changes_nothing(web: Web) -> None:
    """It is none of our business: not taken in, not kept, no error for the client to show."""
    context = web.get(f"/sessions/{web.ada}")["context"]["id"]
    before, bad = web.get("/health"), _bad(web)
    reported = _reported(web)

    for session in ("0b0e7e0e-0000-4000-8000-000000000000", context):
        answer = web.call("POST", "/hooks", {**NOTE, "session_id": session})
        assert (answer.status, answer.content) == (204, b"")

    assert _reported(web) == reported
    assert (web.get("/health")["spool"], _bad(web)) == (before["spool"], bad)


def test_what_is_no_object_is_refused_and_not_kept(web: Web) -> None:
    """A stray caller's noise."""
    bad = _bad(web)

    answer = web.call("POST", "/hooks", b"[]")

    assert (answer.status, _bad(web)) == (400, bad)
