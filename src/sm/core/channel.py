"""Channels: which project a folder belongs to, and what may become of the handoffs left there.

Pure: paths are texts that somebody else has resolved, times are arguments, nothing is looked up.
"""

import hashlib
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from sm.core.ids import ContextId, HandoffId, SessionId

LONGEST = 64
NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_.-]{{0,{LONGEST - 1}}}")
NAME_RULE = f"1 to {LONGEST} letters, digits, '-', '_' or '.', beginning with a letter or digit"
_HANDOFF_NAME = re.compile(r"HO-\d{8}-\d{6}-[0-9a-f]{8}")
_FIRST_LINE = re.compile(r"\ufeff?<!-- HANDOFF-ID: (\S+) -->\s*")


class LedgerFailedError(Exception):
    """What is known of the channels' handoffs cannot be used now; the message says what to do."""


class ChannelError(ValueError):
    """A name that cannot be one; the message says what is expected."""


# --- names and folders -------------------------------------------------------------------------


class Why(StrEnum):
    """What makes a folder belong to its channel."""

    REGISTERED = "registered"
    """It, or a folder above it, is in the configuration."""
    GIT = "git"
    """It lies in this git work tree."""
    FOLDER = "folder"
    """It stands for itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a channel begins, and why there."""

    root: str
    why: Why
    registered: str | None = None
    """The name it was given in the configuration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    name: str
    root: str
    why: Why


def checked_name(name: str) -> str:
    """The name, if it can be a channel's: it becomes part of file names."""
    if NAME.fullmatch(name) is None:
        raise ChannelError(f"{name!r} cannot be a channel's name. It must be {NAME_RULE}.")
    return name


def longest_prefix(path: str, folders: Iterable[str]) -> str | None:
    """The deepest of these folders that holds the path, or is it; by whole components."""
    inside = components(path)
    best: str | None = None
    depth = -1
    for folder in folders:
        above = components(folder)
        if len(above) > depth and inside[: len(above)] == above:
            best, depth = folder, len(above)
    return best


def components(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part not in ("", "."))


def default_name(root: str, remembered: Mapping[str, str], reserved: Collection[str] = ()) -> str:
    """The name of a folder nobody registered: its own, or that with a part of its path's hash.

    ``remembered`` tells which root each name belongs to; ``reserved`` are names of the
    configuration. Names that differ only in case are one: they become file names.
    """
    roots = {name.casefold(): owner for name, owner in remembered.items()}
    taken = {name.casefold() for name in reserved}

    def is_free(name: str) -> bool:
        return name.casefold() not in taken and roots.get(name.casefold(), root) == root

    kept = next((name for name, owner in remembered.items() if owner == root), None)
    if kept is not None and is_free(kept):
        return kept
    plain = valid_name(components(root)[-1:])
    digits = _hash(root)
    suffixed = (f"{plain[: LONGEST - 1 - n]}-{digits[:n]}" for n in range(6, 33, 2))
    return next(name for name in (plain, *suffixed) if is_free(name))


def valid_name(folder: Iterable[str]) -> str:
    """A folder's name as a channel's: what cannot stand there becomes '-'."""
    plain = unicodedata.normalize("NFKD", "".join(folder))
    plain = "".join(char for char in plain if not unicodedata.combining(char))
    words = re.sub(r"[^A-Za-z0-9_.-]+", "-", plain)
    return re.sub(r"^[^A-Za-z0-9]+", "", words)[:LONGEST].rstrip("-.") or "channel"


# --- a handoff's name --------------------------------------------------------------------------


def handoff_name(at: float, origin: str) -> HandoffId:
    """Named by the second (UTC) and by the context or session it comes from."""
    days, second = divmod(int(at // 1), 86_400)
    year, month, day = _date(days)
    time = f"{second // 3600:02}{second // 60 % 60:02}{second % 60:02}"
    return HandoffId(f"HO-{year:04}{month:02}{day:02}-{time}-{_first_eight(origin)}")


def checked_handoff_name(name: str) -> HandoffId:
    if _HANDOFF_NAME.fullmatch(name) is None:
        raise ChannelError(
            f"{name!r} cannot be a handoff's name. It must look like HO-20260202-064530-c74cc080."
        )
    return HandoffId(name)


def named_in(first_line: str) -> str | None:
    """The handoff a document says it is, in its first line."""
    found = _FIRST_LINE.fullmatch(first_line)
    return found[1] if found is not None else None


def _first_eight(origin: str) -> str:
    first = origin[:8].lower()
    return first if re.fullmatch(r"[0-9a-f]{8}", first) else _hash(origin)[:8]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _date(days: int) -> tuple[int, int, int]:
    """Year, month and day so many days after 1970-01-01, in the calendar of today."""
    # Years are counted from March on, so that a leap day is the last of its year.
    era, day_of_era = divmod(days + 719_468, 146_097)
    leaps = day_of_era // 1460 - day_of_era // 36_524 + day_of_era // 146_096
    year_of_era = (day_of_era - leaps) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    from_march = (5 * day_of_year + 2) // 153
    month = from_march + 3 if from_march < 10 else from_march - 9
    year = year_of_era + era * 400 + (1 if month <= 2 else 0)
    return year, month, day_of_year - (153 * from_march + 2) // 5 + 1


# --- a handoff in its channel ------------------------------------------------------------------


class Status(StrEnum):
    ACTIVE = "active"
    """Ready to be claimed. A channel has at most one of these."""
    CLAIMED = "claimed"
    """Given to one session; nothing proves yet that its agent took it in."""
    CONSUMED = "consumed"
    """The claimant's own record shows it."""
    EXPIRED = "expired"
    """Nobody claimed it in time."""
    CLEARED = "cleared"
    """Somebody put it away unread."""
    SUPERSEDED = "superseded"
    """A newer one took its place."""


_NEXT: Mapping[Status, frozenset[Status]] = {
    Status.ACTIVE: frozenset({Status.CLAIMED, Status.EXPIRED, Status.CLEARED, Status.SUPERSEDED}),
    Status.CLAIMED: frozenset({Status.ACTIVE, Status.CONSUMED, Status.CLEARED, Status.SUPERSEDED}),
    Status.CONSUMED: frozenset(),
    Status.EXPIRED: frozenset(),
    Status.CLEARED: frozenset(),
    Status.SUPERSEDED: frozenset(),
}


def may_become(now: Status, then: Status) -> bool:
    return then in _NEXT[now]


def is_over(status: Status) -> bool:
    return not _NEXT[status]


class Kind(StrEnum):
    SELF = "self"
    """The agent wrote the document."""
    AUTO = "auto"
    """sm wrote it from facts, because the agent did not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimant:
    """Who takes a handoff, and how to tell later whether it lived to read it."""

    session: SessionId
    context: ContextId | None
    pid: int
    started: int
    """The process's start, as the system counts: a reused pid is another process."""
    transcript: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewHandoff:
    """What its author knows of a handoff."""

    id: HandoffId
    channel: str
    root: str
    kind: Kind
    session: SessionId
    context: ContextId | None
    created_at: float
    created_by_pid: int
    working_dir: str
    document: str
    meant_for: SessionId | None = None
    """The session its successor runs in; None: the one it comes from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelHandoff(NewHandoff):
    """A handoff as the ledger has it."""

    status: Status = Status.ACTIVE
    sha256: str
    """Of the document when it was left."""
    claimed_by: SessionId | None = None
    claimed_context: ContextId | None = None
    claimed_pid: int | None = None
    claimed_started: int | None = None
    claimed_at: float | None = None
    transcript: str | None = None
    """The claimant's own record, where it will show whether it was taken in."""
    consumed_by: SessionId | None = None
    consumed_at: float | None = None
    ended_at: float | None = None

    def is_for(self, session: SessionId) -> bool:
        """Whether this session may have it without asking for it by name."""
        return session == (self.meant_for or self.session)

    def is_held_by(self, claimant: Claimant) -> bool:
        held = (self.status, self.claimed_by, self.claimed_context)
        return held == (Status.CLAIMED, claimant.session, claimant.context)

    def is_too_old(self, now: float, expiry: float) -> bool:
        return self.status is Status.ACTIVE and now - self.created_at > expiry

    def given(self, claimant: Claimant, at: float) -> "ChannelHandoff":
        """Claimed; or, held by this claimant before, with the process that will read it now."""
        return replace(
            self,
            status=Status.CLAIMED,
            claimed_by=claimant.session,
            claimed_context=claimant.context,
            claimed_pid=claimant.pid,
            claimed_started=claimant.started,
            claimed_at=self.claimed_at if self.is_held_by(claimant) else at,
            transcript=claimant.transcript or self.transcript,
        )

    def released(self) -> "ChannelHandoff":
        """Active again, as if nobody had claimed it."""
        return replace(
            self,
            status=Status.ACTIVE,
            claimed_by=None,
            claimed_context=None,
            claimed_pid=None,
            claimed_started=None,
            claimed_at=None,
            transcript=None,
        )

    def consumed(self, by: SessionId, at: float) -> "ChannelHandoff":
        return replace(self, status=Status.CONSUMED, consumed_by=by, consumed_at=at, ended_at=at)

    def ended(self, status: Status, at: float) -> "ChannelHandoff":
        return replace(self, status=status, ended_at=at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a handoff was not given, or not changed; the words say what to do."""

    words: str


def judged(
    verdicts: Iterable[tuple[ChannelHandoff, bool]], waiting: Collection[str], now: float
) -> Iterator[ChannelHandoff]:
    """What becomes of claims whose process is gone; each with whether its transcript has it.

    ``waiting`` are the channels in which one is active. They come newest first: of two that are
    free again, the newer one waits.
    """
    filled = set(waiting)
    for held, was_taken in verdicts:
        if was_taken and held.claimed_by is not None:
            yield held.consumed(held.claimed_by, now)
        elif held.channel in filled:
            yield held.ended(Status.SUPERSEDED, now)
        else:
            filled.add(held.channel)
            yield held.released()
