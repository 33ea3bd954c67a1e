"""sm messages"""

import pytest

from sm.api.types import MessageView, ReceiptView
from sm.cli.messages import _print_trail
from tests.cli.conftest import ORDERS, refusal, shape
from tests.kit.sm import Sm, sm_home


def test_each_message_is_a_line_with_state_route_and_reason(sm: Sm) -> None:
    """Why it waits, or what proves it."""
    lines = shape(sm, sm.run("messages", "bob")).splitlines()

    why = "a dialog is open: a person must answer it first"
    assert lines[:3] == [
        "ID TO FROM MODE STATE ROUTE WHY / EVIDENCE TEXT",
        "MESSAGE bob you sequential accepted paste UserPromptSubmit of prompt ID %ask touch x",
        f"MESSAGE bob you sequential queued - {why} are you there?",
    ]


def test_receipts_show_every_step(sm: Sm) -> None:
    """With time and evidence."""
    assert shape(sm, sm.run("messages", "ada", "--receipts")).startswith(
        "MESSAGE you to ada: hello\n"
        " TIME queued stored by sm\n"
        " TIME offered paste MESSAGE.1\n"
        " TIME entered Enter 1\n"
        " TIME accepted UserPromptSubmit of prompt ID\n"
        " TIME done Stop\n"
    )
    assert " waits: a dialog is open: a person must answer it first\n" in shape(
        sm, sm.run("messages", "bob", "--receipts")
    )


def test_they_can_be_chosen_by_state_and_number(sm: Sm) -> None:
    """The newest N."""
    assert {m["state"] for m in sm.json("messages", "--state", "queued")} == {"queued"}
    assert len(sm.json("messages", "--limit", "1")) == 1


def test_json_has_exactly_the_documented_keys(sm: Sm) -> None:
    """With every receipt."""
    for message in sm.json("messages"):
        assert list(message) == list(MessageView.__annotations__)
        assert all(list(r) == list(ReceiptView.__annotations__) for r in message["receipts"])


def test_a_misspelt_state_is_refused(sm: Sm) -> None:
    """With those there are."""
    states = "queued, offered, accepted, done, expired, refused, cancelled"

    assert refusal(sm, "messages", "--state", "lost") == (
        2, f"'lost' is no message state. There are: {states}.",
    )  # fmt: skip


def test_no_messages_is_told() -> None:
    """In words."""
    with sm_home() as empty:
        assert empty.run("messages") == "No messages.\n"
        assert empty.json("messages") == []


@pytest.mark.parametrize("limit", ["0", "-1", "1.5", "x", "9" * 5000])
def test_a_limit_without_meaning_is_wrong_usage(sm: Sm, limit: str) -> None:
    """Not quietly one message."""
    done = sm.start("messages", "--limit", limit)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(f"argument --limit: {limit!r} is no whole number from 1 on\n")


def test_what_is_told_of_a_message_gives_the_terminal_no_orders(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Names of programs and dialogs are quoted in it."""
    message: MessageView = {
        "id": "0", "to": "1", "to_name": "ada", "from": "you", "mode": "urgent", "text": "x",
        "state": "queued", "route": None, "unproved": False, "waiting": f"for {ORDERS}",
        "receipts": [{"step": "offered", "at": 0.0, "evidence": f"seen: {ORDERS}"}],
    }  # fmt: skip
    _print_trail(message)

    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert shown.count("\ufffd[2Jgone\ufffd") == 2
