"""Takes in the hooks that were spooled while nobody listened, in the order they happened."""

import asyncio
from pathlib import Path

from sm.adapters.spool import Spool, TornHook
from sm.api.types import SpoolView
from sm.core.ids import HookId, SessionId
from sm.core.journal import NotStoredError
from sm.core.launch import MalformedHookError
from sm.engine.actor import Log
from sm.engine.engine import Engine
from sm.engine.loop import UnknownSessionError

LOOK_EVERY = 2.0


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

    async def drain(self, engine: Engine) -> None:
        """Take in what waits, oldest first; on a full disk the rest waits for the next round."""
        try:
            for path in self._spool.drain_order():
                await self._take(engine, path)
        except (NotStoredError, OSError) as error:
            self._log.warning("Spooled hooks have to wait", why=str(error))

    async def _take(self, engine: Engine, path: Path) -> None:
        found = self._spool.read(path)
        if isinstance(found, TornHook):
            self._put_away(path, found.reason)
            return
        try:
            if not await engine.store.has_hook(HookId(found.hook)):
                await engine.hook(
                    SessionId(found.session), found.payload, hook=HookId(found.hook), at=found.at
                )
        except (MalformedHookError, UnknownSessionError) as error:
            self._put_away(path, str(error) or "unknown session")
            return
        self._spool.done(path)

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
        bad = [f"{path.name}: {why}" for path, why in self._spool.bad()]
        return {"waiting": len(self._spool.drain_order()), "bad": bad[-20:]}
