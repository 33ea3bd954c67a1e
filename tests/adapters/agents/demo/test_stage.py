"""What crosses between the turn and the screen."""

import os
import select
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from sm.adapters.agents.demo.stage import Finished, Leave, Note, Show, Stage, Waiting

from .rig import DEADLINE

N = TypeVar("N", bound=Note)


class Audience:
    """The screen's side of a real stage: it sleeps until the stage wakes it."""

    def __init__(self, stage: Stage, wake: int) -> None:
        self.stage = stage
        self.seen: list[Note] = []
        self._wake = wake
        self._woken = 0

    def until(self, kind: type[N], count: int = 1) -> N:
        """The first note of this kind, once there are so many; all up to now are in ``seen``."""
        # One wake-up for each note: until it came, the other side is still posting.
        while len(found := self._of(kind)) < count or self._woken < len(self.seen):
            assert self.is_woken(DEADLINE), self.seen
            self._woken += len(os.read(self._wake, 4096))
        return found[0]

    def _of(self, kind: type[N]) -> list[N]:
        return [note for note in self.look() if isinstance(note, kind)]

    def look(self) -> list[Note]:
        self.seen += self.stage.notes()
        return self.seen

    def is_woken(self, patience: float = 0.0) -> bool:
        return bool(select.select([self._wake], [], [], patience)[0])

    def shown(self) -> list[str]:
        return [note.text for note in self._of(Show)]


@contextmanager
def listening() -> Iterator[Audience]:
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    yield Audience(Stage(theirs), ours)
    os.close(ours)
    os.close(theirs)


def test_a_note_wakes_the_screen_and_is_seen_once_in_order() -> None:
    """The screen sleeps until the turn has something for it, and shows it as it was said."""
    with listening() as audience:
        assert not audience.is_woken()
        threading.Thread(target=lambda: audience.stage.show("one")).start()
        audience.until(Show)
        audience.stage.show("two")
        audience.stage.post(Finished(None, turn=True))

        assert audience.is_woken()
        assert audience.stage.notes() == [Show("two"), Finished(None, turn=True)]
        assert audience.stage.notes() == []


def test_a_screen_that_does_not_look_holds_nobody_up() -> None:
    """However much the turn says before the screen looks, nothing of it is lost."""
    with listening() as audience:
        # More than a pipe holds: the wake-ups no longer fit, the notes do.
        for number in range(70_000):
            audience.stage.show(str(number))
        audience.stage.post(Leave("done"))

        notes = audience.stage.notes()
        assert len(notes) == 70_001
        assert (notes[0], notes[-1]) == (Show("0"), Leave("done"))


def test_queued_texts_come_out_in_order() -> None:
    """What was typed first while the agent was busy is done first."""
    with listening() as audience:
        stage = audience.stage
        stage.queue(Waiting("one whole text", "one"))
        stage.queue(Waiting("/clear", "/clear"))

        assert stage.waiting() == [Waiting("one whole text", "one"), Waiting("/clear", "/clear")]
        assert stage.next_waiting() == Waiting("one whole text", "one")
        assert stage.next_waiting() == Waiting("/clear", "/clear")
        assert stage.next_waiting() is None
        assert stage.waiting() == []


def test_a_running_turn_takes_prompts_and_leaves_commands() -> None:
    """A prompt typed while busy may join the turn; /clear and !ls wait until it is over."""
    with listening() as audience:
        for text in ("first", "/clear", "second", "!ls"):
            audience.stage.queue(Waiting(text, text))

        assert [taken.text for taken in audience.stage.take_prompts()] == ["first", "second"]
        assert [left.text for left in audience.stage.waiting()] == ["/clear", "!ls"]
        assert audience.stage.take_prompts() == []
