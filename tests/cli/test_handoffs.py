"""sm handoffs"""

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from sm.api.types import HandoffView, ReceiptView
from sm.cli.handoffs import _print
from tests.cli.conftest import ORDERS, refusal, shape, withdraw
from tests.cli.test_handoff import inside
from tests.kit.sm import Sm, sm_home


@pytest.fixture
def handoff(sm: Sm, tmp_path: Path) -> Iterator[str]:
    """The id of a handoff of bob's that waits for his dialog."""
    document = tmp_path / "handoff.md"
    document.write_text("# Goal\nthe shop\n")
    asked = sm.json("handoff", str(document), environment=inside(sm))
    yield asked["id"]
    withdraw(sm, asked["id"])


def test_each_handoff_is_a_line_with_state_and_reason(sm: Sm, handoff: str, tmp_path: Path) -> None:
    listed = sm.run("handoffs", "bob").replace(str(tmp_path), "")
    lines = shape(sm, listed).splitlines()

    assert lines[0] == "ID SESSION KIND STATE CHANNEL STATUS CONTEXT ASKED WHY / EVIDENCE"
    assert lines[-1].startswith(
        "HANDOFF bob self requested - - 1 TIME a dialog is open: a person must answer it first"
    )


def test_one_handoff_is_shown_with_its_steps_and_files(
    sm: Sm, handoff: str, tmp_path: Path
) -> None:
    shown = shape(sm, sm.run("handoffs", "show", handoff).replace(str(tmp_path), "DOCS"))

    first, step, waits, *files = shown.splitlines()
    assert first == "HANDOFF bob, context 1: requested"
    assert step == " TIME requested by the agent itself, with DOCS/handoff.md"
    assert waits == " waits: a dialog is open: a person must answer it first"
    assert [line.split()[0] for line in files] == ["document", "raw", "transcript"]


def test_the_beginning_of_an_id_is_enough(sm: Sm, handoff: str) -> None:
    """Or of its last part."""
    assert sm.json("handoffs", "show", handoff[:-1])["id"] == handoff
    assert sm.json("handoffs", "show", handoff[-8:-1])["id"] == handoff


def test_json_has_exactly_the_documented_keys(sm: Sm, handoff: str) -> None:
    one = sm.json("handoffs", "show", handoff)

    assert list(one) == list(HandoffView.__annotations__)
    assert all(list(step) == list(ReceiptView.__annotations__) for step in one["steps"])
    assert sm.json("handoffs", "bob", "--limit", "1") == [one]


def test_a_handoff_is_withdrawn(sm: Sm, handoff: str) -> None:
    """It stays on the list; again is no error."""
    assert sm.run("handoffs", "cancel", handoff) == f"{handoff} is withdrawn.\n"
    assert sm.json("handoffs", "cancel", handoff)["state"] == "cancelled"
    withdraw(sm, handoff)
    assert sm.json("handoffs", "bob")[-1]["state"] == "cancelled"


@pytest.mark.parametrize("action", ["show", "cancel"])
def test_an_unknown_handoff_is_refused(sm: Sm, action: str) -> None:
    assert refusal(sm, "handoffs", action, "nope") == (
        1,
        "There is no handoff 'nope'. See: sm handoffs",
    )
    assert refusal(sm, "handoffs", action) == (
        2,
        f"Name the handoff: sm handoffs {action} ID. See: sm handoffs",
    )


def test_a_misspelt_action_is_refused(sm: Sm) -> None:
    assert refusal(sm, "handoffs", "shwo", "x") == (
        2,
        (
            "'shwo' is no action. There are: sm handoffs show ID, cancel ID, draft SESSION,"
            " load, clear."
        ),
    )
    assert refusal(sm, "handoffs", "eve") == (1, "There is no session 'eve'. See: sm ls --all")


def test_no_handoffs_is_told() -> None:
    with sm_home() as empty:
        assert empty.run("handoffs") == "No handoffs.\n"
        assert empty.json("handoffs") == []


def test_what_is_told_of_a_handoff_gives_the_terminal_no_orders(
    sm: Sm, handoff: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A channel is called after its folder; the rest quotes agents and files."""
    view: HandoffView = sm.json("handoffs", "show", handoff)
    evil = {"channel": ORDERS, "status": "active", "waiting": ORDERS, "dump": f"/{ORDERS}"}
    steps = [{"step": "requested", "at": 0.0, "evidence": ORDERS}]
    _print(cast("HandoffView", {**view, **evil, "steps": steps}))

    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert shown.count("\ufffd[2Jgone\ufffd") == 4
