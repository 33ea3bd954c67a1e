"""An event loop whose waiting costs nothing: time jumps to the next thing that is due.

Work for threads is done on the spot, so that no time passes while it runs. Whoever waits for it
goes on after others had their turn, as behind a thread.
"""

import asyncio
import selectors
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, TypeVar, TypeVarTuple, Unpack

NOON = 1_700_000_000.0

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
Events = list[tuple[selectors.SelectorKey, int]]


class _Skipping(selectors.DefaultSelector):
    """Instead of waiting, says that the time has passed."""

    skipped = 0.0

    def select(self, timeout: float | None = None) -> Events:
        if timeout is not None and timeout > 0:
            self.skipped += timeout
            timeout = 0
        return super().select(timeout)


class TimelapseLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._skipping = _Skipping()
        self.in_thread = False
        """Whether what runs now would run in a thread."""
        super().__init__(self._skipping)

    def time(self) -> float:
        # Small numbers: asyncio adds a nanosecond, which would vanish in the seconds since 1970.
        return self._skipping.skipped

    def run_in_executor(
        self,
        executor: Executor | None,
        func: Callable[[Unpack[Ts]], T],
        *args: *Ts,
    ) -> asyncio.Future[T]:
        future: asyncio.Future[T] = self.create_future()
        self.in_thread = True
        try:
            result = func(*args)
        except Exception as error:  # noqa: BLE001 - raised again where it is awaited
            self.call_soon(_unless_done, future, future.set_exception, error)
        else:
            self.call_soon(_unless_done, future, future.set_result, result)
        finally:
            self.in_thread = False
        return future


def _unless_done(future: asyncio.Future[T], settle: Callable[[Any], None], outcome: object) -> None:
    """Whoever waited may have been cancelled."""
    if not future.done():
        settle(outcome)


class LoopClock:
    """The engine's clock, on the loop's time."""

    def now(self) -> float:
        return NOON + asyncio.get_running_loop().time()


def in_a_thread() -> None:
    """What may take long must not keep the event loop."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return  # of an ordinary loop: a real one
    assert isinstance(loop, TimelapseLoop)
    assert loop.in_thread, "everything else waits for it"
