"""The union of events is closed and complete, and every one of them is answered."""

import inspect
from dataclasses import FrozenInstanceError, is_dataclass
from typing import get_args

import pytest

from sm.core import events
from sm.core.events import Event
from sm.core.reports import HookEvent
from tests.core.samples import prompted

KINDS = {
    kind
    for _, kind in inspect.getmembers(events, inspect.isclass)
    if kind.__module__ == events.__name__
}


def test_every_event_is_in_the_union() -> None:
    """An event outside it would be one that no machine answers."""
    assert set(get_args(Event)) - set(get_args(HookEvent)) == KINDS


def test_events_are_values() -> None:
    """What happened cannot be changed afterwards."""
    assert all(is_dataclass(kind) for kind in KINDS)
    assert prompted(1) == prompted(1)
    with pytest.raises(FrozenInstanceError):
        prompted(1).opening = "x"  # type: ignore[misc]
