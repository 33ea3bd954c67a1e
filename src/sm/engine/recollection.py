"""Recollections of crashed sessions: what they were at, for the agent that is started next.

Made from what is left of the conversation, the last handoff, and what sm itself delivered. Nothing
is written, and no secret leaves here. Reading takes threads: a log may have a gigabyte.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from sm.core import monitor, recollection
from sm.core.crash import Crash
from sm.core.envelope import sanitise
from sm.core.exchange import Exchange, doing
from sm.core.message import MessageState, Route
from sm.core.passage import DocumentError
from sm.core.recollection import Composed
from sm.core.remains import Remains
from sm.core.retelling import Room
from sm.core.shortening import count, cut, size
from sm.core.state import Level, Session
from sm.core.story import Request
from sm.engine.cleaning import without_secrets
from sm.engine.drafts import Drafts, moment
from sm.engine.sources import Log, Snapshot, Sources

WINDOW = 200_000
"""Where nobody told a better number."""
ENVELOPE = 300
"""Bytes around a message's text, at most."""
NO_ROUTE = "all of it: no route is left to tell its agent anything"
_TELLING = (Route.PASTE, Route.DOORBELL, Route.STOP_REPLY)
"""What the first words of a recovery may come by; other routes carry only what is urgent."""
_SHRINK, _TRIES = 0.8, 16


@dataclass(frozen=True, slots=True, kw_only=True)
class RecollectionRules:
    """What the configuration says about it."""

    percent: float = 60.0
    """The most a prompt may take of the window."""
    lines: int = 10_000
    """The most of the conversation, or of the terminal."""
    template: str = ""
    """In place of sm's own words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What sm knows beside all that the agent has left."""

    survivors: tuple[str, ...] = ()
    """Processes of the agent that still run (``process 123: make all``)."""
    unrecorded: tuple[str, ...] = ()
    """Messages it had taken, and its record lacks."""
    ended: tuple[Exchange, ...] = ()
    """Calls whose end its hooks told of."""
    taken_by: str = ""
    """Who else was given the handoff that the crash has cut."""


NOTHING_KNOWN = Known()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollected:
    prompt: str
    """For a fresh context."""
    note: str
    """For an agent that was resumed with its own conversation."""
    sources: tuple[str, ...]
    """What it was made from, in words."""
    skipped: tuple[str, ...]
    """What could not be used, and why."""
    requests: int
    replies: int
    lines: int
    """Of the conversation, or of the terminal, in the prompt."""
    last_activity: str
    is_open: bool
    """There is something to go on with; otherwise a resumed agent need not be told anything."""
    whole: bool
    """Its agent would find all of its conversation in its transcript."""
    flaw: str
    """Why it would not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    drafts: Drafts
    log: Log
    snapshot: Snapshot | None = None
    rules: RecollectionRules = RecollectionRules()

    async def of(
        self,
        session: Session,
        crash: Crash,
        *,
        known: Known = NOTHING_KNOWN,
        window: int | None,
    ) -> Recollected:
        """``window``: of the agent that is to be started, in tokens."""
        return await asyncio.to_thread(self._of, session, crash, known, window)

    def _of(
        self,
        session: Session,
        crash: Crash,
        known: Known,
        window: int | None,
    ) -> Recollected:
        rules = self.rules
        carried, budget = _carried(session), _budget(session, window or WINDOW, rules.percent)
        room = Room(size=min(budget, carried), lines=rules.lines)
        sources = Sources(session, self.drafts.dialects.named(session.agent))
        sources.read_transcript(room.size)
        if not sources.exchanges or "{scrollback}" in rules.template:
            sources.read_terminal(self.log, rules.lines, self.snapshot)
        if not sources.transcript and sources.shown is None:
            sources.read_older(room.size)
        sources.add_ended(known.ended)
        remains = self._remains(session, crash, sources, known)
        clean = without_secrets(remains.mapped, self.drafts.redact)
        prompt, note = self._prompt(clean, room), self._note(clean, carried)
        if not carried:
            sources.skipped.append(NO_ROUTE)
        return Recollected(
            prompt=prompt.text,
            note=note,
            sources=tuple(sources.used),
            skipped=tuple(sources.skipped),
            requests=sources.requests,
            replies=sources.replies,
            lines=prompt.lines,
            last_activity="" if clean.is_older else doing(clean.given),
            is_open=clean.is_open,
            whole=sources.flaw is None,
            flaw=sources.flaw or "",
        )

    def _prompt(self, remains: Remains, room: Room) -> Composed:
        def compose(most: int) -> Composed:
            smaller = replace(room, size=most)
            return recollection.prompt(remains, smaller, moment, self.rules.template)

        return self._within(room.size, compose)

    def _note(self, remains: Remains, most: int) -> str:
        return self._within(
            most, lambda most: Composed(text=recollection.note(remains, most, moment))
        ).text

    def _within(self, most: int, compose: Callable[[int], Composed]) -> Composed:
        """So many bytes as it will arrive: a placeholder may be longer than its secret, and a tab
        arrives as spaces."""
        composed = Composed(text="")
        for tried in range(_TRIES if most else 0):
            composed = compose(int(most * _SHRINK**tried))
            composed = replace(composed, text=sanitise(self.drafts.redact(composed.text)))
            if size(composed.text) <= most:
                return composed
        return replace(composed, text=cut(composed.text, most))

    def _remains(self, session: Session, crash: Crash, sources: Sources, known: Known) -> Remains:
        document, path = self._document(session, sources, known.taken_by)
        git = self.drafts.handoffs.git(session.cwd)
        sources.used += ["git"] if git else []
        is_told = bool(sources.exchanges) and not sources.is_older
        delivered = () if is_told else _delivered(session, crash)
        if delivered and sources.shown is None:
            sources.used.append(f"what sm delivered: {count(len(delivered), 'message')}")
        begun = sources.exchanges[0].at if sources.exchanges else 0.0
        before = tuple(r for r in sources.story.requests if r.at < begun)
        shown = {(one.text, one.at) for one in sources.exchanges}
        carried = (*self.drafts.carried(session), *before)
        return Remains(
            name=session.name,
            context=session.context.number,
            cwd=session.cwd,
            crash=crash,
            now=self.drafts.clock.now(),
            transcript=sources.transcript if sources.story.ended_at else "",
            exchanges=sources.exchanges,
            source=sources.source,
            is_older=sources.is_older,
            story=sources.story,
            carried=tuple(r for r in carried if (r.text, r.at) not in shown),
            delivered=delivered,
            shown=sources.shown,
            handoff=document,
            handoff_id=session.last_handoff or "",
            handoff_path=path,
            survivors=known.survivors,
            unrecorded=known.unrecorded,
            taken_by=known.taken_by,
            git=git,
            background=session.tasks,
        )

    def _document(self, session: Session, sources: Sources, taken_by: str) -> tuple[str, str]:
        """The last handoff's, and where it is. One that somebody else carries out is not told."""
        handoff, handoffs = session.last_handoff, self.drafts.handoffs
        if handoff is None:
            return "", ""
        if taken_by:
            sources.skipped.append(f"last handoff {handoff}: {taken_by} has taken it over")
            return "", ""
        try:
            kept = handoffs.last(session.id, handoff)
        except (OSError, DocumentError) as error:
            sources.skipped.append(f"last handoff {handoff}: {error}")
            return "", ""
        text = handoffs.beside(session.id, handoff, Path(kept.path).name) if kept else None
        if not text:
            sources.skipped.append(f"last handoff {handoff}: its document cannot be read")
            return "", ""
        sources.used.append(f"last handoff {handoff}")
        return text, kept.path if kept else ""


def _budget(session: Session, window: int, percent: float) -> int:
    """Bytes for a prompt that does not begin its context with a warning."""
    usage = session.context.usage
    compacts_at = usage.compacts_at if usage is not None else None
    marks = monitor.marks(session.thresholds, window, compacts_at)
    warns_at = next((mark.tokens for mark in marks if mark.level is Level.WARNING), None)
    return recollection.budget(percent, window, warns_at)


def _carried(session: Session) -> int:
    """Bytes of the longest text its agent can be told: what is longer would wait for ever. None
    where no route is left that it could come by."""
    limits = [
        recollection.LONGEST if way.limit is None else way.limit - ENVELOPE
        for way in session.ways
        if way.route in _TELLING
    ]
    return max(limits, default=0)


def _delivered(session: Session, crash: Crash) -> tuple[Request, ...]:
    """What the agent was at, as far as sm itself brought it."""
    given = (MessageState.OFFERED, MessageState.ACCEPTED)
    return tuple(
        Request(
            text=message.text,
            at=message.queued_at,
            sender=message.sender_name if message.sender is not None else None,
        )
        for message in session.messages
        if message.state in given or message.id in crash.taken
    )
