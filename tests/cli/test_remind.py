"""sm remind"""

from sm.api.types import ReminderView
from tests.cli.conftest import refusal, shape
from tests.kit.sm import Sm
from tests.kit.tmux import wait_until


def test_reminders_are_set_listed_and_cancelled(sm: Sm) -> None:
    """Once after a while, or again and again."""
    once = sm.run("remind", "ada", "look", "--in", "10m").strip()
    often = sm.json("remind", "bob", "look again", "--every", "1h")

    assert shape(sm, sm.run("remind", "--list")) == (
        "ID SESSION DUE EVERY TEXT\nID ada TIME - look\nID bob TIME AGE look again\n"
    )
    assert list(often) == list(ReminderView.__annotations__)
    assert [r["every"] for r in sm.json("remind", "--list")] == [None, 3600]
    assert sm.run("remind", "--cancel", once) == f"{once} is cancelled.\n"
    assert sm.json("remind", "--cancel", often["id"]) == {"id": often["id"], "state": "cancelled"}
    assert sm.run("remind", "--list") == "No reminders.\n"


def test_a_due_reminder_is_a_message(sm: Sm) -> None:
    """Sent by sm itself, at its time."""
    sm.run("remind", "ada", "the time has come", "--in", "0")

    wait_until(lambda: any("the time has come" in prompt for prompt in sm.received("ada")))


def test_half_a_reminder_is_wrong_usage(sm: Sm) -> None:
    """Exit 2, with what is missing."""
    words = "give SESSION, TEXT and --in or --every. See: sm remind --help"

    for arguments in ((), ("ada",), ("ada", "text"), ("--in", "5m")):
        assert refusal(sm, "remind", *arguments) == (2, words)


def test_what_is_not_there_is_refused(sm: Sm) -> None:
    """No such reminder, no such session, no time to rest."""
    assert refusal(sm, "remind", "--cancel", "nope") == (
        1, "There is no reminder 'nope'. See: sm remind --list",
    )  # fmt: skip
    assert refusal(sm, "remind", "gone", "x", "--in", "1m") == (
        1, "gone has ended and cannot be reminded.",
    )  # fmt: skip
    assert refusal(sm, "remind", "ada", "x", "--every", "0.5") == (
        2, "every must be at least 1 second.",
    )  # fmt: skip


def test_reminders_of_one_session_are_listed(sm: Sm) -> None:
    """By its name; one that is not there is refused."""
    hers = sm.run("remind", "ada", "-", "--in", "1h", input="from a pipe").strip()
    his = sm.run("remind", "bob", "x", "--in", "1h").strip()

    found = {name: sm.json("remind", "--list", *name) for name in ((), ("ada",), ("bob",))}
    for reminder in (hers, his):
        sm.run("remind", "--cancel", reminder)

    assert [[r["id"] for r in found[name]] for name in (("ada",), ("bob",))] == [[hers], [his]]
    assert found["ada",][0]["text"] == "from a pipe"
    assert {hers, his} <= {r["id"] for r in found[()]}
    assert sm.start("remind", "--list", "nobody").returncode == 1
