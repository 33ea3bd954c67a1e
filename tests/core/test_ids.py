"""Ids are types to the reader and plain text to everything else."""

from typing import get_type_hints

from sm.core import ids


def test_an_id_is_plain_text() -> None:
    """Ids go into paths, formats and JSON as they are."""
    kinds = [ids.SessionId, ids.MessageId, ids.ReminderId, ids.ContextId, ids.PromptId]
    kinds += [ids.PaneId, ids.HookId]

    assert {kind("a1") for kind in kinds} == {"a1"}


def test_the_core_names_its_ids() -> None:
    """A message and its receiver cannot be mixed up: their ids are two types."""
    from sm.core.message import Message

    hints = get_type_hints(Message)

    assert (hints["id"], hints["to"]) == (ids.MessageId, ids.SessionId)
