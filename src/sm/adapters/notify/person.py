"""Tells the person on every way there is; one that fails keeps no other from being tried."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from typing import Protocol

from sm.adapters.notify.book import NoticeBook
from sm.adapters.notify.command import run_command
from sm.core.envelope import sanitise
from sm.core.notices import PersonNotice
from sm.core.shortening import brief

LONGEST = 400


class Log(Protocol):
    def warning(self, event: str, **keys: object) -> object: ...


class Person:
    """Fits the engine's ``Notices``."""

    def __init__(
        self,
        book: NoticeBook,
        *,
        show: Callable[[str], Awaitable[int]],
        command: str,
        redact: Callable[[str], str],
        log: Log,
    ) -> None:
        """``show``: a line on every terminal of ours that somebody looks at; on how many."""
        self._book = book
        self._show = show
        self._command = command
        self._redact = redact
        self._log = log

    async def tell(self, notice: PersonNotice) -> str:
        """Once for each id, also after a crash; in words, what was done."""
        words = brief(sanitise(await asyncio.to_thread(self._redact, notice.words)), LONGEST)
        notice = replace(notice, words=words)
        try:
            if not await asyncio.to_thread(self._book.note, notice):
                return "was told before"
            done = ["listed"]
        except OSError as error:
            self._log.warning("A notice could not be listed", why=str(error))
            done = ["could not be listed"]
        shown = await self._show(words)
        if shown:
            done.append(f"shown on {shown} terminal{'s' if shown > 1 else ''}")
        if self._command:
            done.append(await self._run(words))
        await self._note_told(notice)
        return ", ".join(done)

    async def _run(self, words: str) -> str:
        why = await run_command(self._command, words)
        if why is None:
            return "given to notify.command"
        self._log.warning("The command of notify.command failed", why=why)
        return f"notify.command failed: {why}"

    async def _note_told(self, notice: PersonNotice) -> None:
        try:
            await asyncio.to_thread(self._book.told, notice.id)
        except OSError as error:
            self._log.warning("A notice could not be listed", why=str(error))

    async def all(self) -> list[PersonNotice]:
        return await asyncio.to_thread(self._book.all)

    async def take(self, notices: Collection[PersonNotice]) -> None:
        await asyncio.to_thread(self._book.take, notices)

    async def see(self, notices: Collection[str]) -> None:
        await asyncio.to_thread(self._book.see, notices)

    async def clear(self) -> int:
        return await asyncio.to_thread(self._book.clear)
