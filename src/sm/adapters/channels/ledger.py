"""The handoffs of all channels: who left one, who was given it, and what became of it.

Used by several processes at once. Each operation is one transaction, on the disk when it returns;
exactly one of many claimants is given a handoff. All of this blocks: it is called in threads.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Collection
from dataclasses import asdict
from pathlib import Path

from sm.adapters.channels import exports, schema
from sm.adapters.channels.database import BUSY_SECONDS, Database
from sm.adapters.channels.documents import read_named
from sm.adapters.channels.errors import LedgerError
from sm.core.channel import (
    Channel,
    ChannelError,
    ChannelHandoff,
    Claimant,
    NewHandoff,
    Place,
    Refusal,
    Status,
    checked_handoff_name,
    checked_name,
    default_name,
    judged,
    may_become,
)
from sm.core.ids import HandoffId, SessionId
from sm.core.passage import DocumentError
from sm.log import structlog

log = structlog.get_logger()

RECENT = 20
"""Handoffs of a channel that are looked at when its history is brought up to date."""

PATIENCE = 1.0
"""Seconds a change waits for another process's exports; they are made up for at the next."""


class Ledger:
    """One folder's ledger and its exports."""

    def __init__(self, folder: Path, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self._folder = folder
        self._database = Database(folder, busy_seconds=busy_seconds)
        self._exported: dict[str, int] = {}
        self.not_exported: tuple[str, ...] = ()
        """What the last change could not write beside the ledger; tried again at the next."""

    def close(self) -> None:
        self._database.close()

    # --- looking ---------------------------------------------------------------------------

    def get(self, handoff: HandoffId) -> ChannelHandoff | None:
        with self._database.reading() as connection:
            return _one(connection, "id = ?", handoff)

    def current(self, channel: str) -> ChannelHandoff | None:
        """The one that is ready to be claimed."""
        with self._database.reading() as connection:
            return _one(connection, "channel = ? AND status = 'active'", channel)

    def history(
        self, *, channel: str | None = None, session: SessionId | None = None, limit: int = 1000
    ) -> list[ChannelHandoff]:
        """The newest ones, oldest first."""
        with self._database.reading() as connection:
            found = schema.find(
                connection,
                "(?1 IS NULL OR channel = ?1) AND (?2 IS NULL OR session = ?2)",
                channel,
                session,
                limit=limit,
            )
        return found[::-1]

    # --- names -----------------------------------------------------------------------------

    def names(self) -> dict[str, str]:
        """Which folder each name belongs to that nobody registered."""
        with self._database.reading() as connection:
            return _names(connection)

    def channel(self, place: Place, reserved: Collection[str] = ()) -> Channel:
        """The channel that begins here; its name is remembered, so that it stays."""
        if place.registered is not None:
            name = checked_name(place.registered)
            return Channel(name=name, root=place.root, why=place.why)
        names = self.names()
        name = default_name(place.root, names, reserved)
        if names.get(name) != place.root:
            name = self._remember(place.root, reserved)
        return Channel(name=name, root=place.root, why=place.why)

    def _remember(self, root: str, reserved: Collection[str]) -> str:
        with self._database.writing() as connection:
            name = default_name(root, _names(connection), reserved)
            stored = schema.stored_path(root)
            connection.execute("DELETE FROM root WHERE root = ?", (stored,))
            connection.execute("INSERT INTO root (name, root) VALUES (?, ?)", (name, stored))
        return name

    # --- changing --------------------------------------------------------------------------

    def create(self, new: NewHandoff) -> ChannelHandoff:
        """Leave a handoff in its channel, in the place of one nobody has claimed.

        The same id again is the same handoff, as it is now. Raises ``DocumentError`` where there
        is no document that says it is this handoff, ``ChannelError`` for a name that is none.
        """
        checked_handoff_name(new.id)
        checked_name(new.channel)
        content = read_named(new.document, new.id)
        made = ChannelHandoff(**asdict(new), sha256=hashlib.sha256(content).hexdigest())

        def work(connection: sqlite3.Connection) -> list[ChannelHandoff]:
            there = _one(connection, "id = ?", made.id)
            if there is not None:
                _check_same(there, made)
                return []
            older = schema.find(connection, "channel = ? AND status = 'active'", made.channel)
            return [*(h.ended(Status.SUPERSEDED, made.created_at) for h in older), made]

        self._change(work)
        return self._known(made.id)

    def claim(
        self, handoff: HandoffId, claimant: Claimant, *, now: float, expiry: float
    ) -> ChannelHandoff | Refusal:
        """Be given this very handoff; again, if it was given to this claimant before."""
        return self._claim(
            lambda c: _one(c, "id = ?", handoff) or _refusal(f"There is no handoff {handoff}."),
            claimant,
            now,
            expiry,
        )

    def claim_from(
        self,
        channel: str,
        claimant: Claimant,
        *,
        now: float,
        expiry: float,
        explicitly: bool = False,
    ) -> ChannelHandoff | Refusal:
        """Be given what waits in a channel: one's own, or whatever it is if asked explicitly."""

        def pick(connection: sqlite3.Connection) -> ChannelHandoff | Refusal:
            held = schema.find(connection, "channel = ? AND status = 'claimed'", channel)
            found = _one(connection, "channel = ? AND status = 'active'", channel)
            mine = next((h for h in held if h.is_held_by(claimant)), None)
            if found is None or (mine is not None and not found.is_for(claimant.session)):
                return mine or _refusal(f"Nothing waits in the channel {channel}.")
            if not explicitly and not found.is_for(claimant.session):
                return _refusal(
                    f"{found.id} in the channel {channel} is meant for another session. "
                    "To take it all the same, ask for it explicitly."
                )
            return found

        return self._claim(pick, claimant, now, expiry)

    def _claim(
        self,
        pick: Callable[[sqlite3.Connection], ChannelHandoff | Refusal],
        claimant: Claimant,
        now: float,
        expiry: float,
    ) -> ChannelHandoff | Refusal:
        answer: ChannelHandoff | Refusal = _refusal("")

        def work(connection: sqlite3.Connection) -> list[ChannelHandoff]:
            nonlocal answer
            found = pick(connection)
            if isinstance(found, Refusal):
                answer = found
                return []
            if found.is_too_old(now, expiry):
                answer = _refusal(f"{found.id} was left too long ago: it is expired.")
                return [found.ended(Status.EXPIRED, now)]
            answer = _claimed(found, claimant, now)
            return [] if isinstance(answer, Refusal) or answer == found else [answer]

        self._change(work)
        return answer

    def consume(self, handoff: HandoffId, by: SessionId, at: float) -> ChannelHandoff | Refusal:
        """Note that the claimant's agent has taken it in; the same twice is the same."""
        answer: ChannelHandoff | Refusal = _refusal("")

        def work(connection: sqlite3.Connection) -> list[ChannelHandoff]:
            nonlocal answer
            found = _one(connection, "id = ?", handoff)
            if found is None:
                answer = _refusal(f"There is no handoff {handoff}.")
            elif (found.status, found.consumed_by) == (Status.CONSUMED, by):
                answer = found
            elif found.claimed_by != by or not may_become(found.status, Status.CONSUMED):
                whose = f" by {found.claimed_by}" if found.claimed_by else ""
                answer = _refusal(f"{handoff} is {found.status}{whose}; {by} has not claimed it.")
            else:
                answer = found.consumed(by, at)
                return [answer]
            return []

        self._change(work)
        return answer

    def clear(
        self, *, channel: str | None = None, handoff: HandoffId | None = None, at: float
    ) -> list[ChannelHandoff]:
        """Put away what waits in a channel, or one handoff even if claimed; what was."""

        def work(connection: sqlite3.Connection) -> list[ChannelHandoff]:
            found = schema.find(
                connection, "id = ?1 OR (channel = ?2 AND status = 'active')", handoff, channel
            )
            return [
                h.ended(Status.CLEARED, at) for h in found if may_become(h.status, Status.CLEARED)
            ]

        return self._change(work)

    def release(self, handoff: HandoffId, by: SessionId, at: float) -> list[ChannelHandoff]:
        """Undo a claim: active again, or superseded where another waits by now; what was."""

        def work(connection: sqlite3.Connection) -> list[ChannelHandoff]:
            found = _one(connection, "id = ?", handoff)
            if found is None or (found.status, found.claimed_by) != (Status.CLAIMED, by):
                return []
            waits = _one(connection, "channel = ? AND status = 'active'", found.channel)
            return list(judged([(found, False)], [found.channel] if waits else [], at))

        return self._change(work)

    def expire(self, now: float, expiry: float) -> list[ChannelHandoff]:
        """End what nobody claimed in time; what was."""

        def work(connection: sqlite3.Connection) -> list[ChannelHandoff]:
            active = schema.find(connection, "status = 'active'")
            return [h.ended(Status.EXPIRED, now) for h in active if h.is_too_old(now, expiry)]

        if not any(h.is_too_old(now, expiry) for h in self._all("status = 'active'")):
            return []
        return self._change(work)

    def release_stale(
        self,
        is_alive: Callable[[int, int], bool],
        transcript_has: Callable[[str, HandoffId], bool],
        *,
        now: float,
    ) -> list[ChannelHandoff]:
        """Judge the claims of processes that are gone; what was changed.

        Consumed, if the claimant's transcript has the handoff. Else active again, or superseded
        where a newer one has come meanwhile. Where the transcript cannot be read, nothing is known
        and the claim stays.
        """
        verdicts = {}
        for held in self._all("status = 'claimed'"):
            # Outside the transaction: transcripts are large. In this order: the dead write no more.
            if not _is_gone(held, is_alive):
                continue
            try:
                verdicts[held] = _has(held, transcript_has)
            except OSError as error:
                log.warning("a claimant's transcript cannot be read", id=held.id, why=str(error))

        def work(connection: sqlite3.Connection) -> list[ChannelHandoff]:
            still = set(schema.find(connection, "status = 'claimed'")) & set(verdicts)
            waiting = {h.channel for h in schema.find(connection, "status = 'active'")}
            return list(judged(((h, verdicts[h]) for h in verdicts if h in still), waiting, now))

        return self._change(work) if verdicts else []

    def export(self) -> tuple[str, ...]:
        """Bring every channel's exports up to date; what could not be written."""
        self._exported.clear()
        self._export()
        return self.not_exported

    # --- one change ------------------------------------------------------------------------

    def _change(
        self, work: Callable[[sqlite3.Connection], list[ChannelHandoff]]
    ) -> list[ChannelHandoff]:
        """Store what the work makes of the handoffs it sees, then tell the world."""
        with self._database.writing() as connection:
            changed = work(connection)
            for handoff in changed:
                schema.put(connection, handoff)
            for channel in {h.channel for h in changed}:
                # Not from 1: beside a new ledger there may be exports of one that was moved away.
                connection.execute(
                    "INSERT INTO channel VALUES (?, abs(random() % 1000000000000))"
                    " ON CONFLICT (name) DO UPDATE SET revision = revision + 1",
                    (channel,),
                )
        if changed:
            self._export()
        return changed

    def _export(self) -> None:
        """What is committed stays so, whatever becomes of its copies."""
        try:
            # Only one process at a time, and each reads what holds now: no copy becomes older.
            with self._database.alone(PATIENCE):
                failed = [words for channel in self._outdated() for words in self._told(*channel)]
        except (OSError, LedgerError) as error:
            failed = [str(error)]
        self.not_exported = tuple(failed)
        if failed:
            log.warning("channels are not exported", failed=failed)

    def _outdated(self) -> list[tuple[str, int]]:
        with self._database.reading() as connection:
            revisions: dict[str, int] = dict(
                connection.execute("SELECT name, revision FROM channel").fetchall()
            )
        return [
            (channel, revision)
            for channel, revision in revisions.items()
            if self._exported.get(channel) != revision
        ]

    def _told(self, channel: str, revision: int) -> list[str]:
        if exports.exported_revision(self._folder, channel) != revision:
            active = self._all("channel = ? AND status = 'active'", channel)
            newest = self._all("channel = ?", channel, limit=RECENT)
            recent = [*active, *(handoff for handoff in newest if handoff not in active)]
            failed = exports.export(self._folder, channel, revision, recent)
            if failed:
                return [f"{channel}: {words}" for words in failed]
        self._exported[channel] = revision
        return []

    def _all(self, where: str, *values: schema.Stored, limit: int = -1) -> list[ChannelHandoff]:
        with self._database.reading() as connection:
            return schema.find(connection, where, *values, limit=limit)

    def _known(self, handoff: HandoffId) -> ChannelHandoff:
        found = self.get(handoff)
        if found is None:
            raise LedgerError(f"{handoff} was taken out of the ledger by another program.")
        return found


# --- what a change makes of a handoff ------------------------------------------------------------


def _claimed(found: ChannelHandoff, claimant: Claimant, now: float) -> ChannelHandoff | Refusal:
    if found.is_held_by(claimant):
        return found.given(claimant, now)
    if not may_become(found.status, Status.CLAIMED):
        whose = f" by {found.claimed_by}" if found.claimed_by else ""
        return _refusal(f"{found.id} is {found.status}{whose}: it cannot be claimed.")
    try:
        read_named(found.document, found.id)
    except DocumentError as error:
        return _refusal(f"{found.id} cannot be claimed. {error}")
    return found.given(claimant, now)


def _is_gone(held: ChannelHandoff, is_alive: Callable[[int, int], bool]) -> bool:
    if held.claimed_pid is None or held.claimed_started is None:
        return False
    return not is_alive(held.claimed_pid, held.claimed_started)


def _has(held: ChannelHandoff, transcript_has: Callable[[str, HandoffId], bool]) -> bool:
    return held.transcript is not None and transcript_has(held.transcript, held.id)


def _check_same(there: ChannelHandoff, made: ChannelHandoff) -> None:
    if (there.session, there.context, there.channel) != (made.session, made.context, made.channel):
        raise ChannelError(
            f"{made.id} is already another handoff, of session {there.session} in the channel "
            f"{there.channel}. Name it by another second."
        )


def _names(connection: sqlite3.Connection) -> dict[str, str]:
    rows = connection.execute("SELECT name, root FROM root")
    return {name: schema.path_of(root) for name, root in rows}


def _one(
    connection: sqlite3.Connection, where: str, *values: schema.Stored
) -> ChannelHandoff | None:
    found = schema.find(connection, where, *values, limit=1)
    return found[0] if found else None


def _refusal(words: str) -> Refusal:
    return Refusal(words=words)
