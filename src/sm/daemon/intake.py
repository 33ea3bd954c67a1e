"""Takes in the hooks that were spooled while nobody listened, in the order they happened."""

import asyncio
from collections.abc import Coroutine, Sequence
from pathlib import Path

from sm.adapters.spool import Spool, SpooledHook
from sm.api.types import SpoolView
from sm.core.ids import HookId, SessionId
from sm.core.journal import NotStoredError
from sm.core.launch import MalformedHookError
from sm.engine.actor import Log
from sm.engine.engine import Engine
from sm.engine.loop import UnknownSessionError

LOOK_EVERY = 2.0
AT_ONCE = 200
"""Hooks that share one commit: a night's worth must not hold up the start."""
TOLD_BAD = 20
UNUSABLE = (MalformedHookError, UnknownSessionError)


class Intake:
    def __init__(self, spool: Spool, engine: Engine, log: Log) -> None:
        self._spool = spool
        self._engine = engine
        self._log = log

    async def run(self) -> None:
        """Look now and then: a stub that gave up waiting spools although we are here."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            await self.drain(self._engine)

    def sweep(self, now: float) -> None:
        """Set aside what stubs that died while writing left behind."""
        try:
            for path in self._spool.sweep(now):
                self._log.warning("An unfinished hook was set aside", file=path.name)
        except OSError as error:
            self._log.warning("The spool could not be swept", why=str(error))

    async def drain(self, engine: Engine) -> None:
        """Take in what waits, oldest first; on a full disk the rest waits for the next round."""
        try:
            paths = self._spool.drain_order()
            for first in range(0, len(paths), AT_ONCE):
                await self._take(engine, paths[first : first + AT_ONCE])
        except (NotStoredError, OSError) as error:
            self._log.warning("Spooled hooks have to wait", why=str(error))

    async def _take(self, engine: Engine, paths: Sequence[Path]) -> None:
        """Take in a bundle with one commit; a file goes only when its hook is on the disk."""
        hooks = [(path, hook) for path in paths if (hook := self._read(path)) is not None]
        known = [await engine.store.has_hook(hook.hook) for _, hook in hooks]
        new = [found for found, is_known in zip(hooks, known, strict=True) if not is_known]
        # Tasks begin in the order they are made, and each posts before it waits.
        outcomes = await asyncio.gather(
            *(_given(engine, hook) for _, hook in new),
            return_exceptions=True,
        )
        told = dict(zip((path for path, _ in new), outcomes, strict=True))
        for path, _ in hooks:
            outcome = told.get(path)
            self._settle(path, outcome if isinstance(outcome, BaseException) else None)
        for outcome in outcomes:
            if isinstance(outcome, BaseException) and not isinstance(outcome, UNUSABLE):
                raise outcome

    def _read(self, path: Path) -> SpooledHook | None:
        found = self._spool.read(path)
        if isinstance(found, SpooledHook):
            return found
        self._put_away(path, found.reason)
        return None

    def _settle(self, path: Path, outcome: BaseException | None) -> None:
        if outcome is None:
            self._spool.done(path)
        elif isinstance(outcome, UNUSABLE):
            self._put_away(path, str(outcome) or "unknown session")

    def _put_away(self, path: Path, why: str) -> None:
        self._log.warning("A spooled hook was set aside", file=path.name, why=why)
        self._spool.set_aside(path, why)

    def set_aside(
        self, session: SessionId, hook: HookId, at: float, payload: bytes, why: str
    ) -> None:
        """Keep a hook that came over a socket and could not be understood."""
        self._log.warning("A hook was set aside", session=session, why=why)
        self._spool.reject(session, hook, at, payload, why)

    def state(self) -> SpoolView:
        bad = [f"{path.name}: {why}" for path, why in self._spool.bad(newest=TOLD_BAD)]
        return {"waiting": len(self._spool.drain_order()), "bad": bad}


def _given(engine: Engine, hook: SpooledHook) -> Coroutine[None, None, bytes]:
    if not hook.session:
        # Of an agent that sm did not start.
        return engine.reports.take_stray(hook.payload, hook=hook.hook, at=hook.at)
    return engine.reports.take(hook.session, hook.payload, hook=hook.hook, at=hook.at)
