"""The union of effects is closed, and each says whether it may simply be repeated."""

import inspect
from typing import get_args

from sm.core import effects
from sm.core.effects import Effect, PressEnter
from tests.core.samples import HELLO, MARK

KINDS = {
    kind
    for _, kind in inspect.getmembers(effects, inspect.isclass)
    if kind.__module__ == effects.__name__
}


def test_every_effect_is_in_the_union() -> None:
    """An effect outside it would be one that nobody carries out."""
    assert set(get_args(Effect)) == KINDS


def test_what_types_rings_or_launches_must_look_first() -> None:
    """After a crash these run again and must recognise what was already done."""
    careful = {kind.__name__ for kind in get_args(Effect) if not kind.repeatable}

    assert careful == {
        "LaunchAgent", "RelaunchAgent", "RecoverAgent", "PasteText", "PressEnter", "RingBell",
        "InterruptTurn",
        "ClearContext",
    }  # fmt: skip


def test_each_enter_has_a_mark_of_its_own() -> None:
    """One more Enter after a swallowed one is not taken for its repetition."""
    presses = [PressEnter(mark=MARK, message=HELLO.id, number=n).press for n in (1, 2)]

    assert presses == [f"{MARK}.1", f"{MARK}.2"]
