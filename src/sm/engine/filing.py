"""Keeps each handoff in its channel: left there, given to its own successor, and what became of it.

The session's own state decides; the channel's ledger follows it. A ledger that cannot be written
never holds up a handoff.
"""

import asyncio
import contextlib
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from sm.core.channel import (
    ChannelHandoff,
    Claimant,
    Kind,
    LedgerFailedError,
    NewHandoff,
    Refusal,
    Status,
)
from sm.core.effects import FileHandoff
from sm.core.events import Event, HandoffFiled
from sm.core.ids import HandoffId, MessageId, SessionId
from sm.core.inline import Loaded, load
from sm.core.message import Message
from sm.core.notices import derived_id
from sm.core.passage import AUTO, DocumentError, Filed, Handoff
from sm.core.state import Session
from sm.core.terminal import Pane
from sm.engine.naming import NotFoundError, RefusedError
from sm.engine.ports import Channels, Clock, Handoffs, Processes

SETTLED_AT_ONCE, LOOKED_AT = 500, 10_000
CHANNEL_FILE = "channel.md"
"""A document an agent wrote, with the lines that say which handoff it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A channel's handoff, for whoever asked for it."""

    handoff: ChannelHandoff
    text: str
    """Between its marks, as it is to be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filing:
    channels: Channels
    handoffs: Handoffs
    processes: Processes
    clock: Clock
    pid: int
    """Our own: whoever hands over for a session that lives in our terminal."""
    expiry: float
    names: dict[str, str] = field(default_factory=dict)
    """The channel of each folder that was asked for."""

    async def file(self, session: Session, effect: FileHandoff) -> Event:
        handoff = next((h for h in session.handoffs if h.id == effect.handoff), effect.was)
        try:
            evidence = await asyncio.to_thread(self._file, session, effect, handoff)
        except (LedgerFailedError, DocumentError, OSError, ValueError) as error:
            evidence = f"not written: {error}"
        return HandoffFiled(handoff=effect.handoff, status=effect.status, evidence=evidence)

    def _file(self, session: Session, effect: FileHandoff, handoff: Handoff | None) -> str:
        name = effect.handoff
        now = self.clock.now()
        match effect.status:
            case Filed.CLAIMED:
                if handoff is not None:
                    self._left(session, handoff)
                given = self.channels.claim(
                    name, self._claimant(session), now=now, expiry=self.expiry
                )
                return _words(given)
            case Filed.CONSUMED:
                return _words(self.channels.consume(name, session.id, now))
            case Filed.CLEARED:
                holder = self._holder(session, name)
                if holder is not None:
                    return f"{holder} has it"
                return f"{len(self.channels.clear(handoff=name, at=now))} put away"

    def _left(self, session: Session, handoff: Handoff) -> None:
        channel = self.channels.of(session.cwd)
        self.channels.create(
            NewHandoff(
                id=handoff.id,
                channel=channel.name,
                root=channel.root,
                kind=Kind(handoff.kind),
                session=session.id,
                context=handoff.context_id,
                created_at=handoff.requested_at,
                created_by_pid=self.pid,
                working_dir=session.cwd,
                document=self._document(session, handoff, channel.name),
            )
        )

    def _document(self, session: Session, handoff: Handoff, channel: str) -> str:
        if handoff.kind == AUTO:
            return handoff.document
        text = self.handoffs.beside(session.id, handoff.id, Path(handoff.document).name) or ""
        fields = {
            "HANDOFF-ID": handoff.id,
            "SESSION": handoff.context_id or session.id,
            "CHANNEL": channel,
            "CREATED": f"{datetime.fromtimestamp(handoff.requested_at, UTC):%Y-%m-%dT%H:%M:%SZ}",
            "TYPE": handoff.kind,
            "WORKING-DIR": session.cwd.replace("\n", "%0A").replace("-->", "--%3E"),
        }
        head = "".join(f"<!-- {name}: {told} -->\n" for name, told in fields.items())
        self.handoffs.keep_beside(session.id, handoff.id, {CHANNEL_FILE: f"{head}\n{text}"})
        return str(Path(self.handoffs.place(session.id, handoff.id), CHANNEL_FILE))

    def _claimant(self, session: Session) -> Claimant:
        """The agent that will read it; in our own terminal, we stand for the next one."""
        pane = session.pane
        is_there = pane is not None and not session.wrapped
        pid = pane.pid if pane is not None and is_there else self.pid
        started = pane.started if pane is not None and is_there else self.processes.started(pid)
        return Claimant(
            session=session.id,
            # The same claimant before and after: its new context has no name yet.
            context=None,
            pid=pid,
            started=started or 0,
            transcript=session.context.transcript,
        )

    async def hold(self, session: Session, handoff: HandoffId, pane: Pane | None = None) -> None:
        """Keep one that a crash has cut for whoever is told of it. ``pane``: of the agent that is;
        until it runs, we stand for it."""
        pid = self.pid if pane is None else pane.pid
        claimant = Claimant(
            session=session.id,
            context=None,
            pid=pid,
            started=(self.processes.started(pid) if pane is None else pane.started) or 0,
        )
        # What cannot be written down holds no recovery up.
        with contextlib.suppress(LedgerFailedError, OSError):
            await asyncio.to_thread(
                self.channels.claim,
                handoff,
                claimant,
                now=self.clock.now(),
                expiry=self.expiry,
            )

    async def let_go(self, session: Session, handoff: HandoffId) -> None:
        """Nobody was told of it after all: it waits in its channel again."""
        with contextlib.suppress(LedgerFailedError, OSError):
            await asyncio.to_thread(self.channels.release, handoff, session.id, self.clock.now())

    async def holder(self, session: Session, handoff: HandoffId) -> SessionId | None:
        """The other session that was given a handoff of this one's, as far as that can be told."""
        try:
            await asyncio.to_thread(self.settle)
            return await asyncio.to_thread(self._holder, session, handoff)
        except (LedgerFailedError, OSError):
            return None

    def _holder(self, session: Session, handoff: HandoffId) -> SessionId | None:
        held = self.channels.get(handoff)
        if held is None or held.status not in (Status.CLAIMED, Status.CONSUMED):
            return None
        by = held.consumed_by or held.claimed_by
        return None if by == session.id else by

    # --- asked for by people and agents ----------------------------------------------------

    def channel_of(self, cwd: str) -> str | None:
        """The channel a session's directory belongs to; None where that cannot be told. Blocks."""
        try:
            self.names[cwd] = self.channels.of(cwd).name
        except (LedgerFailedError, OSError, ValueError):
            return None
        return self.names[cwd]

    def known(self, cwd: str) -> str | None:
        """The same, as far as it was looked up before."""
        return self.names.get(cwd)

    async def learn(self, folders: Collection[str]) -> None:
        """Look up the channels of these folders, unless they are known."""
        unknown = {cwd for cwd in folders if cwd not in self.names}
        if unknown:
            await asyncio.to_thread(lambda: [self.channel_of(cwd) for cwd in unknown])

    async def take(self, session: Session, channel: str | None) -> Given:
        """Give what waits in a channel to a session that asks for it."""
        return await asyncio.to_thread(self._take, session, channel)

    def _take(self, session: Session, channel: str | None) -> Given:
        self.settle()
        name = channel or self.channels.of(session.cwd).name
        given = self.channels.claim_from(
            name,
            self._claimant(session),
            now=self.clock.now(),
            expiry=self.expiry,
            explicitly=True,
        )
        if isinstance(given, Refusal):
            raise RefusedError(given.words)
        try:
            text = Path(given.document).read_text(errors="replace")
        except OSError as error:
            raise RefusedError(f"{given.id} cannot be read: {error.strerror}.") from None
        about = Loaded(
            id=given.id,
            channel=given.channel,
            context=given.context or given.session,
            kind=given.kind,
            document=given.document,
        )
        return Given(handoff=given, text=load(about, text))

    async def withdrawn(self, message: Message) -> None:
        """A handoff whose message was cancelled waits in its channel again."""
        await asyncio.to_thread(self._withdrawn, message)

    def _withdrawn(self, message: Message) -> None:
        for held in self.channels.history(limit=SETTLED_AT_ONCE):
            if held.status is Status.CLAIMED and sent_as(held) == message.id:
                self.channels.release(held.id, message.to, self.clock.now())

    async def all(self, limit: int) -> dict[str, ChannelHandoff]:
        """The newest handoffs of all channels, brought up to date, by their ids."""
        try:
            return await asyncio.to_thread(self._all, limit)
        except (LedgerFailedError, OSError):
            return {}

    def _all(self, limit: int) -> dict[str, ChannelHandoff]:
        self.settle()
        return {found.id: found for found in self.channels.history(limit=limit)}

    async def left_behind(
        self, reference: str, ours: Collection[SessionId]
    ) -> ChannelHandoff | None:
        """One by its id, or the beginning of it, unless somebody else runs the session it is for:
        they know more of it."""
        known = (await self.all(LOOKED_AT)).values()
        found = [h for h in known if _begins(h.id, reference)]
        if len(found) != 1:
            return None
        pid, started = found[0].claimed_pid, found[0].claimed_started
        is_run = pid is not None and started is not None and self._lives(pid, started)
        return None if is_run and found[0].claimed_by not in ours else found[0]

    async def clear(self, channel: str) -> list[ChannelHandoff]:
        cleared = await asyncio.to_thread(self.channels.clear, channel=channel, at=self.clock.now())
        if not cleared:
            raise NotFoundError(f"Nothing waits in the channel {channel}.")
        return cleared

    def settle(self) -> None:
        """Bring the ledger up to date: what is too old, and what became of each claim."""
        now = self.clock.now()
        self.channels.expire(now, self.expiry)
        for held in self.channels.history(limit=SETTLED_AT_ONCE):
            is_claimed = held.status is Status.CLAIMED and held.claimed_by is not None
            if is_claimed and held.transcript is not None and _has(held.transcript, held.id):
                self.channels.consume(held.id, held.claimed_by or held.session, now)
        self.channels.release_stale(self._lives, _has, now=now)

    def _lives(self, pid: int, started: int) -> bool:
        return self.processes.started(pid) == started


def sent_as(held: ChannelHandoff) -> MessageId:
    """The message a claimed handoff is sent as. The same claim again is the same message."""
    return derived_id(f"{held.claimed_by}:loaded:{held.id}:{held.claimed_at}")


def _has(transcript: str, handoff: HandoffId) -> bool:
    """Whether an agent's own record shows that it was given a handoff."""
    wanted = f"HANDOFF LOADED (ID: {handoff})".encode()
    prompted = f"(handoff {handoff})".encode()
    try:
        with Path(transcript).open("rb") as file:
            return any(wanted in line or prompted in line for line in file)
    except OSError:
        # Agents write it with the first prompt.
        return False


def _begins(handoff: HandoffId, reference: str) -> bool:
    """All begin alike, with a time: the beginning of the last part will do."""
    return bool(reference) and (
        handoff.startswith(reference) or handoff.rpartition("-")[2].startswith(reference)
    )


def _words(given: ChannelHandoff | Refusal) -> str:
    return given.words if isinstance(given, Refusal) else f"{given.status} in {given.channel}"
