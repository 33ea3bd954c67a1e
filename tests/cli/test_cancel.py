"""sm cancel"""

from tests.cli.conftest import refusal
from tests.kit.sm import Sm


def test_a_waiting_message_is_withdrawn(sm: Sm) -> None:
    """It stays on the list, as cancelled; again is no error."""
    message = sm.run("send", "bob", "never mind").strip()

    assert sm.run("cancel", message) == f"{message} is withdrawn.\n"
    assert sm.json("cancel", message)["state"] == "cancelled"
    assert sm.messages("bob", "--state", "cancelled")[-1]["id"] == message


def test_what_was_given_or_never_was_cannot_be_withdrawn(sm: Sm) -> None:
    """One line each."""
    given = sm.messages("ada")[0]["id"]

    assert refusal(sm, "cancel", given) == (
        1, f"Message {given} is done: it can no longer be withdrawn.",
    )  # fmt: skip
    assert refusal(sm, "cancel", "nope") == (1, "There is no message 'nope'. See: sm messages")
