"""The contract: the keys scripts rely on, and values that fit what is promised."""

import msgspec
import pytest

from sm.api import types
from sm.core.message import MessageState

LISTED = [
    "id", "name", "agent", "state", "state_since", "cwd", "channel", "parent", "host",
    "auto_handoff", "created_at", "context", "tmux", "queued", "last_handoff", "hopeless",
]  # fmt: skip


def test_a_listed_session_has_exactly_the_documented_keys() -> None:
    """`sm ls --json`, as docs promise it."""
    assert list(types.SessionView.__annotations__) == LISTED
    assert list(types.ContextView.__annotations__) == [
        "number", "id", "transcript", "tokens", "window", "percent",
    ]  # fmt: skip
    assert list(types.TmuxView.__annotations__) == ["socket", "session", "pane"]


def test_the_states_of_a_message_are_those_the_core_knows() -> None:
    assert list(types.MESSAGE_STATES) == list(MessageState)


def test_a_message_has_the_documented_keys() -> None:
    """`sm messages --json`; more may be there, none of these may be missing."""
    documented = {"id", "to", "from", "mode", "text", "state", "route", "receipts"}

    assert documented <= set(types.MessageView.__annotations__)
    assert list(types.ReceiptView.__annotations__) == ["step", "at", "evidence"]


def test_everything_about_a_session_includes_what_the_list_tells() -> None:
    """`sm show --json` never knows less than `sm ls --json`."""
    assert set(LISTED) <= set(types.SessionDetail.__annotations__)


@pytest.mark.parametrize(
    "body",
    [types.NewSessionBody, types.NewMessageBody, types.NewReminderBody, types.RenameBody],
)
def test_every_body_can_be_decoded_and_described(body: type) -> None:
    """What a caller sends is checked against these very types."""
    with pytest.raises(msgspec.ValidationError, match="missing required field"):
        msgspec.json.decode(b"{}", type=body)
    assert msgspec.json.schema(body)["$defs"][body.__name__]["type"] == "object"


@pytest.mark.parametrize(
    "body", [types.NewSessionBody, types.NewMessageBody, types.NewReminderBody]
)
def test_every_call_that_creates_something_can_carry_an_id(body: type) -> None:
    """A call cut off by the daemon's death is sent again; the id makes it the same call."""
    assert "id" in body.__annotations__


def test_the_contract_costs_a_command_nothing() -> None:
    """The types are plain: a command that prints one value loads no schema library."""
    names = [n for n in vars(types) if n.endswith(("View", "Body", "Health", "Problem"))]

    assert all(vars(types)[n].__class__.__name__ == "_TypedDictMeta" for n in names)
