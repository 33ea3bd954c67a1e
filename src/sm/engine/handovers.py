"""Handoffs as people and agents ask for them: request, look at, withdraw."""

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sm.core.events import HandoffCancelled, HandoffRequested
from sm.core.ids import HandoffId, SessionId
from sm.core.passage import DocumentError, Handoff, HandoffState, Kept
from sm.core.state import Session
from sm.engine import naming
from sm.engine.archivist import Archivist
from sm.engine.loop import Loop
from sm.engine.naming import RefusedError
from sm.engine.ports import Dialects


class NotYourselfError(Exception):
    """Only a session itself may ask for its handoff; the words say how that is proved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What an agent hands over: a file, or the text itself."""

    source: str
    text: str | None = None


class Handovers:
    def __init__(
        self,
        loop: Loop,
        dialects: Dialects,
        archivist: Archivist,
        *,
        raw_log: Callable[[SessionId], str],
        token: Callable[[str], str | None],
    ) -> None:
        self._loop = loop
        self._dialects = dialects
        self._archivist = archivist
        self._raw_log = raw_log
        self._token = token

    async def request(
        self,
        reference: str,
        *,
        requester: str,
        document: Document,
        token: str,
        handoff_id: HandoffId,
    ) -> Handoff:
        """Schedule a session's passage to a fresh context; it begins when its turn has ended.

        The same id again is the same request, sent again.
        """
        session = naming.find(reference, self._loop.sessions)
        self._refuse_others(session, requester, token)
        known = await self._known(handoff_id)
        if known is not None:
            if (known.session, known.source) != (session.id, document.source):
                raise RefusedError(f"Handoff id {handoff_id} was used for another handoff.")
            return known
        self._refuse_impossible(session)
        kept = await self._kept(session, handoff_id, document)
        session = self._loop.session(session.id)
        self._refuse_impossible(session)
        asked = Handoff(
            id=handoff_id,
            session=session.id,
            requested_at=self._loop.clock.now(),
            source=document.source,
            document=kept.path,
            log=self._raw_log(session.id),
            redacted=kept.redacted,
        )
        session = await self._loop.post(session.id, HandoffRequested(handoff=asked))
        return next(h for h in session.handoffs if h.id == handoff_id)

    async def _kept(self, session: Session, handoff_id: HandoffId, document: Document) -> Kept:
        try:
            if document.text is not None:
                return await self._archivist.keep_text(session, handoff_id, document.text)
            source = Path(document.source)
            if not source.is_absolute():
                raise RefusedError(f"{source} is not an absolute path. Give the whole path.")
            return await self._archivist.keep(session, handoff_id, source)
        except DocumentError as error:
            raise RefusedError(str(error)) from None

    def _refuse_others(self, session: Session, requester: str, token: str) -> None:
        if requester not in (session.id, session.name):
            raise NotYourselfError(
                "sm handoff is self-directed only: the requester must be the session itself."
            )
        own = self._token(session.id)
        if own is None or not hmac.compare_digest(own.encode(), token.encode()):
            raise NotYourselfError(
                "sm handoff is self-directed only: it needs the session's own token"
                " (SM_SESSION_TOKEN, set inside the session)."
            )

    def _refuse_impossible(self, session: Session) -> None:
        if not session.alive:
            raise RefusedError(f"{session.name} has no running agent: nothing can be handed over.")
        dialect = self._dialects.named(session.agent)
        if dialect.clear_command is None or not session.proves:
            raise RefusedError(
                f"A {dialect.name} agent reports nothing about its context, so a handoff could not"
                " be proved. Start a new session with the document instead: sm new --prompt"
            )
        under_way = session.handoff
        if under_way is not None and under_way.is_moving:
            raise RefusedError(
                f"Handoff {under_way.id} is already under way. See: sm handoffs show {under_way.id}"
            )

    async def _known(self, handoff_id: HandoffId) -> Handoff | None:
        held = await self._loop.stored(lambda: self._held(handoff_id))
        return held or await self._loop.store.handoff(handoff_id)

    def _held(self, handoff_id: HandoffId) -> Handoff | None:
        found = (h for s in self._loop.sessions for h in s.handoffs if h.id == handoff_id)
        return next(found, None)

    async def find(self, reference: str) -> Handoff:
        """By id, or by the beginning of one or of its last part."""
        held = self._held(HandoffId(reference))
        stored = held or await self._loop.store.handoff(HandoffId(reference))
        if stored is not None:
            return stored
        near = [h for h in await self.all() if _begins(h.id, reference)] if reference else []
        if len(near) > 1:
            raise naming.NotFoundError(
                f"{len(near)} handoffs begin with {reference!r}. Give more of the id: sm handoffs"
            )
        if not near:
            raise naming.NotFoundError(f"There is no handoff {reference!r}. See: sm handoffs")
        return near[0]

    async def all(self, *, session: SessionId | None = None, limit: int = 1000) -> list[Handoff]:
        """The newest, oldest of them first."""
        found = await self._loop.store.handoffs(session=session, limit=limit)
        return [self._held(h.id) or h for h in found]

    async def cancel(self, reference: str, *, by: str) -> Handoff:
        handoff = await self.find(reference)
        if handoff.is_open:
            event = HandoffCancelled(id=handoff.id, by=by)
            session = await self._loop.post(handoff.session, event)
            handoff = next((h for h in session.handoffs if h.id == handoff.id), handoff)
        if handoff.state is not HandoffState.CANCELLED:
            raise RefusedError(
                f"Handoff {handoff.id} can no longer be withdrawn: {_why_not(handoff)}."
            )
        return handoff


def _begins(handoff: HandoffId, reference: str) -> bool:
    return handoff.startswith(reference) or handoff.rpartition("-")[2].startswith(reference)


def _why_not(handoff: Handoff) -> str:
    if handoff.state is HandoffState.PROMPTING:
        return "its context is already cleared"
    return "its context is being cleared" if handoff.is_open else f"it is {handoff.state.value}"
