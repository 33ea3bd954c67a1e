"""An event loop whose waiting costs nothing: time jumps to the next thing that is due.

Work for threads is done on the spot, so that no time passes while it runs.
"""

import asyncio
import selectors
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar, TypeVarTuple, Unpack

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
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - raised again where it is awaited
            future.set_exception(error)
        finally:
            self.in_thread = False
        return future


class LoopClock:
    """The engine's clock, on the loop's time."""

    def now(self) -> float:
        return NOON + asyncio.get_running_loop().time()
