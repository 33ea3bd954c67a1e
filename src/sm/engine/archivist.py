"""Keeps what a context wrote and showed before it is left; what cannot be had is said."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

from sm.core.effects import CaptureArtifacts
from sm.core.events import ArtifactsCaptured, Event
from sm.core.ids import HandoffId, SessionId
from sm.core.inline import Loaded, load
from sm.core.launch import TerminalUnreachableError
from sm.core.passage import AUTO, STANDARD_INPUT, DocumentError, Facts, Handoff, Kept
from sm.core.state import Session
from sm.engine.drafts import Drafts
from sm.engine.ended_calls import LastEvents, ended_calls
from sm.engine.ports import Handoffs, Terminal

ESSENCE_FILE = "essence.md"
CAPTURED_WITHIN = 15.0
"""A disk or a tmux that does not answer must not keep an agent from its next context."""


class Archivist:
    def __init__(
        self,
        terminal: Terminal,
        handoffs: Handoffs,
        drafts: Drafts,
        *,
        raw_log: Callable[[SessionId], str],
        events: LastEvents,
        largest_document: int,
    ) -> None:
        self._terminal = terminal
        self._handoffs = handoffs
        self.drafts = drafts
        self._raw_log = raw_log
        self._events = events
        self._largest = largest_document

    async def keep(self, session: Session, handoff: HandoffId, source: Path) -> Kept:
        """Our own copy of a document. Raises DocumentError, with words for the agent."""
        return await asyncio.to_thread(
            self._handoffs.keep, session.id, handoff, source, self._largest
        )

    async def keep_text(self, session: Session, handoff: HandoffId, text: str) -> Kept:
        """The same for one that was never a file."""
        return await asyncio.to_thread(
            self._handoffs.keep_text, session.id, handoff, text, self._largest
        )

    async def capture(self, session: Session, effect: CaptureArtifacts) -> Event:
        handoff = session.handoff
        if handoff is None or handoff.id != effect.handoff:
            # By its own id, so that it is not taken for the outcome of another one.
            return _nothing(effect, "the handoff is over")
        try:
            async with asyncio.timeout(CAPTURED_WITHIN):
                return await self._capture(session, handoff)
        except TimeoutError:
            return _nothing(effect, f"it took longer than {CAPTURED_WITHIN:.0f} s")

    async def _capture(self, session: Session, handoff: Handoff) -> Event:
        kept, (dump, failed) = await asyncio.gather(
            self._document(session, handoff), self._dump(session)
        )
        facts = self._facts(session, handoff, kept, dump, failed)
        captured = await asyncio.to_thread(self._handoffs.capture, session.id, handoff.id, facts)
        return ArtifactsCaptured(
            handoff=handoff.id,
            document=kept.path if kept is not None else None,
            dump=captured.dump,
            artifacts=captured.artifacts,
            evidence=_words(handoff, kept, captured.failed),
            log=self._raw_log(session.id),
        )

    async def _document(self, session: Session, handoff: Handoff) -> Kept | None:
        if handoff.kind == AUTO:
            return await self._written(session, handoff)
        return await asyncio.to_thread(self._refreshed, session, handoff)

    async def _written(self, session: Session, handoff: Handoff) -> Kept | None:
        """The document sm writes, with what lies beside it; None where the disk takes nothing."""
        folder = self._handoffs.place(session.id, handoff.id)
        ended = await ended_calls(self._events, session.id, session.context.id)
        written = await self.drafts.for_handoff(session, handoff, folder, ended)
        beside = {aside.name: aside.text for aside in written.asides}
        beside[ESSENCE_FILE] = written.essence
        try:
            await asyncio.to_thread(self._handoffs.keep_beside, session.id, handoff.id, beside)
            return await self.keep_text(session, handoff.id, written.text)
        except DocumentError:
            return None

    async def loaded(self, session: Session, handoff: Handoff) -> str:
        """What a new context is told of the one before; nothing where that cannot be read."""
        return await asyncio.to_thread(self._loaded, session, handoff)

    def _loaded(self, session: Session, handoff: Handoff) -> str:
        name = Path(handoff.document).name
        text = self._handoffs.beside(session.id, handoff.id, name)
        if not text:
            return ""
        essence = self._handoffs.beside(session.id, handoff.id, ESSENCE_FILE)
        about = Loaded(
            id=handoff.id,
            channel=self.drafts.channel(session.cwd),
            context=handoff.context_id or session.id,
            kind=handoff.kind,
            document=handoff.document,
        )
        return load(about, text, essence)

    def _refreshed(self, session: Session, handoff: Handoff) -> Kept | None:
        if handoff.source == STANDARD_INPUT:
            return self._handoffs.last(session.id, handoff.id)
        source = Path(handoff.source)
        return self._handoffs.refresh(session.id, handoff.id, source, self._largest)

    async def _dump(self, session: Session) -> tuple[bytes | None, dict[str, str]]:
        if session.pane is None:
            return None, {"dump": "there is no pane"}
        try:
            dump = await self._terminal.dump(session.pane.id)
        except TerminalUnreachableError as error:
            return None, {"dump": str(error)}
        return dump, {} if dump is not None else {"dump": "the pane is gone"}

    def _facts(
        self,
        session: Session,
        handoff: Handoff,
        kept: Kept | None,
        dump: bytes | None,
        failed: Mapping[str, str],
    ) -> Facts:
        return Facts(
            session=session.id,
            name=session.name,
            agent=session.agent,
            cwd=session.cwd,
            at=self.drafts.clock.now(),
            context=handoff.context,
            context_id=handoff.context_id,
            transcript=handoff.transcript,
            raw_log=self._raw_log(session.id),
            document=kept,
            dump=dump,
            background=handoff.tasks,
            failed=failed,
        )


def _nothing(effect: CaptureArtifacts, why: str) -> Event:
    return ArtifactsCaptured(
        handoff=effect.handoff,
        document=None,
        dump=None,
        artifacts=None,
        evidence=f"nothing: {why}",
    )


def _words(handoff: Handoff, kept: Kept | None, failed: Mapping[str, str]) -> str:
    is_current = kept is not None and kept.current
    document = "the document as it is now" if is_current else "the document as it was asked with"
    if handoff.kind == AUTO:
        document = "a document from the record" if kept is not None else "no document"
    missing = "".join(f"; no {what}: {why}" for what, why in failed.items())
    shown = "" if "dump" in failed else ", what the terminal showed"
    return f"{document}{shown}{missing}"
