"""sm handoffs load, sm handoffs clear"""

import secrets
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sm.adapters.channels.ledger import Ledger
from sm.core.ids import HandoffId, SessionId
from tests.adapters.channels.samples import left
from tests.cli.conftest import refusal
from tests.kit.sm import Sm
from tests.kit.tmux import wait_until


@pytest.fixture
def waiting(sm: Sm, tmp_path: Path) -> Iterator[HandoffId]:
    """A handoff that nobody has taken, in the channel of the folder ada works in."""
    ledger = Ledger(sm.home.channels)
    author = SessionId(secrets.token_hex(4))
    made = left(tmp_path, time.time(), channel=sm.work.name, session=author)
    ledger.create(made)
    yield made.id
    ledger.clear(handoff=made.id, at=time.time())
    ledger.close()


def status(sm: Sm, handoff: HandoffId) -> str:
    (found,) = [h["status"] for h in sm.json("handoffs") if h["id"] == handoff]
    return str(found)


def inside(sm: Sm) -> dict[str, str]:
    return {"CLAUDE_SESSION_MANAGER_ID": sm.json("show", "ada")["id"]}


def test_inside_a_session_what_waits_is_printed_and_claimed(sm: Sm, waiting: HandoffId) -> None:
    printed = sm.run("handoffs", "load", environment=inside(sm))

    assert printed.startswith(f"=== HANDOFF LOADED (ID: {waiting}) ===\nChannel: work\n")
    assert printed.endswith("=== END HANDOFF ===\n")
    (listed,) = [h for h in sm.json("handoffs", "--channel", "work") if h["id"] == waiting]
    assert (listed["status"], listed["channel"], listed["kind"]) == ("claimed", "work", "self")


def test_outside_it_is_sent_to_the_session_that_is_named(sm: Sm, waiting: HandoffId) -> None:
    """Consumed when the agent's own record shows it."""
    printed = sm.run("handoffs", "load", "ada", "--channel", "work")
    assert printed.startswith(f"{waiting} is sent to ada as message ")

    sm.run("wait", "ada")
    assert any(f"ID: {waiting}" in prompt for prompt in sm.received("ada"))
    wait_until(lambda: status(sm, waiting) == "consumed", 10)
    assert f"consumed by {sm.json('show', 'ada')['id']}" in sm.run("handoffs", "show", waiting)


def test_one_whose_message_is_withdrawn_waits_again(sm: Sm, waiting: HandoffId) -> None:
    """For whoever loads it next, the same session too."""
    messages = []
    for _ in range(2):
        messages.append(sm.json("handoffs", "load", "bob", "--channel", "work")["message"])
        assert status(sm, waiting) == "claimed"
        sm.run("cancel", messages[-1])
        assert status(sm, waiting) == "active"

    assert messages[0] != messages[1]
    sm.run("handoffs", "load", "ada", "--channel", "work")
    wait_until(lambda: status(sm, waiting) == "consumed", 20)


def test_what_waits_is_put_away(sm: Sm, waiting: HandoffId) -> None:
    assert sm.run("handoffs", "clear") == f"{waiting}: put away, unread.\n"

    assert (
        "cannot be a channel's name. It must be 1 to 64 letters"
        in refusal(sm, "handoffs", "clear", "--channel", "../../x")[1]
    )
    assert refusal(sm, "handoffs", "clear", "--channel", "work") == (
        1, "Nothing waits in the channel work.",
    )  # fmt: skip
    assert sm.start("handoffs", "load", environment=inside(sm)).stderr == (
        "sm: Nothing waits in the channel work.\n"
    )


def test_it_says_for_whom(sm: Sm) -> None:
    assert refusal(sm, "handoffs", "load") == (
        1,
        (
            "Run it inside a session, or name the session that is to have it:"
            " sm handoffs load SESSION"
        ),
    )
    assert refusal(sm, "handoffs", "load", "nobody")[0] == 1
