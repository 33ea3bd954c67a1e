"""The union of events is closed and complete, and every one of them is answered."""

import inspect
from dataclasses import FrozenInstanceError, is_dataclass
from typing import get_args

import pytest

from sm.core import events
from sm.core.events import Event, Hook, HookEvent
from tests.core.samples import prompted

KINDS = {
    kind
    for _, kind in inspect.getmembers(events, inspect.isclass)
    if kind.__module__ == events.__name__ and kind is not Hook
}


def test_every_event_is_in_the_union() -> None:
    """An event outside it would be one that no machine answers."""
    assert set(get_args(Event)) == KINDS


def test_the_hook_events_are_those_with_a_hook() -> None:
    """What an agent reported can be told from what we saw ourselves."""
    assert set(get_args(HookEvent)) == {k for k in KINDS if "hook" in k.__annotations__}


def test_events_are_values() -> None:
    """What happened cannot be changed afterwards."""
    assert all(is_dataclass(kind) for kind in KINDS)
    assert prompted(1) == prompted(1)
    with pytest.raises(FrozenInstanceError):
        prompted(1).opening = "x"  # type: ignore[misc]
