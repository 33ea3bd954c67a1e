"""Between the turn (a thread of its own) and the screen (the main thread).

The turn shows, asks and finishes through here; the screen interrupts and queues. Everything
crosses in one direction at a time, through a queue or under the lock.
"""

import contextlib
import os
import threading
from queue import SimpleQueue
from typing import NamedTuple


class Show(NamedTuple):
    text: str


class ClearScreen(NamedTuple):
    pass


class Ask(NamedTuple):
    """A dialog: the answer is whether the tool may run."""

    command: str
    answer: "SimpleQueue[bool]"


class CloseDialog(NamedTuple):
    pass


class Finished(NamedTuple):
    """A job is over. ``restore``: a prompt taken back before the model said anything."""

    restore: str | None
    turn: bool


class Leave(NamedTuple):
    reason: str


class Broken(NamedTuple):
    trace: str


class Rung(NamedTuple):
    """A hook in the background put something into the queue."""


class StatusLine(NamedTuple):
    """What stands below the box from now on."""

    text: str


class ShellsChanged(NamedTuple):
    """A command in the background began or ended."""


Note = (
    Show
    | ClearScreen
    | Ask
    | CloseDialog
    | Finished
    | Leave
    | Broken
    | Rung
    | StatusLine
    | ShellsChanged
)


class Waiting(NamedTuple):
    """What came while a turn was running: submitted by a person, or by a hook's wake."""

    text: str
    shown: str
    told: str | None = None
    """What a hook said, without the client's words around it; a person's text has none."""
    at: str = ""

    @property
    def by_person(self) -> bool:
        return self.told is None


class Stage:
    def __init__(self, wake: int) -> None:
        self.interrupt = threading.Event()
        self._wake = wake
        self._notes: SimpleQueue[Note] = SimpleQueue()
        self._lock = threading.Lock()
        self._waiting: list[Waiting] = []

    def post(self, note: Note) -> None:
        """From the turn to the screen."""
        self._notes.put(note)
        # A full pipe has woken the screen already.
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake, b"\0")

    def show(self, text: str) -> None:
        self.post(Show(text))

    def notes(self) -> list[Note]:
        """What the turn posted since the last look."""
        return [self._notes.get() for _ in range(self._notes.qsize())]

    def queue(self, waiting: Waiting) -> None:
        with self._lock:
            self._waiting.append(waiting)

    def waiting(self) -> list[Waiting]:
        with self._lock:
            return list(self._waiting)

    def next_waiting(self) -> Waiting | None:
        with self._lock:
            return self._waiting.pop(0) if self._waiting else None

    def take_prompts(self) -> list[Waiting]:
        """Queued prompts for the running turn; commands wait for its end."""
        with self._lock:
            taken = [w for w in self._waiting if not w.text.startswith(("/", "!"))]
            self._waiting = [w for w in self._waiting if w not in taken]
        return taken
