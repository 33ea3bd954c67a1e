"""What agents report is a part of all events, told apart by its hook."""

import inspect
from typing import get_args

from sm.core import reports
from sm.core.events import Event
from sm.core.reports import Hook, HookEvent

KINDS = {
    kind
    for _, kind in inspect.getmembers(reports, inspect.isclass)
    if kind.__module__ == reports.__name__ and kind is not Hook
}


def test_every_report_is_in_the_union() -> None:
    """And so in that of all events: no machine can overlook one."""
    assert set(get_args(HookEvent)) == KINDS
    assert set(get_args(Event)) > KINDS


def test_the_reports_are_the_events_with_a_hook() -> None:
    """What an agent reported can be told from what we saw ourselves."""
    with_hook = {kind for kind in get_args(Event) if "hook" in kind.__annotations__}

    assert with_hook == KINDS
