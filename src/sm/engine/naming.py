"""Names people give to sessions, finding what they mean, and how they are told no."""

import re
from collections.abc import Collection, Iterable

from sm.core.state import Session, State

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
SHORTEST_PREFIX = 4
_LOOKS_LIKE_ID = re.compile(r"[0-9a-f]{8}")


class NameRefusedError(ValueError):
    """The name cannot be used; the message says why."""


class RefusedError(Exception):
    """It was understood and will not be done; the message says why and what to do."""


class NotFoundError(LookupError):
    """Nothing fits what was asked for; the message says what to do."""


def check_name(name: str, sessions: Iterable[Session], elsewhere: Collection[str] = ()) -> str:
    """The name, if a session may have it from now on. ``elsewhere``: names that are taken there."""
    if _NAME.fullmatch(name) is None:
        raise NameRefusedError(
            f"{name!r} is not a usable name: 1 to 40 letters, digits, '-' or '_', "
            "beginning with a letter or digit."
        )
    if looks_like_id(name):
        raise NameRefusedError(f"{name!r} looks like a session id. Choose another name.")
    if name in elsewhere or name in taken(sessions):
        raise NameRefusedError(f"{name} is taken. Choose another name, or: sm kill {name}")
    return name


def taken(sessions: Iterable[Session]) -> set[str]:
    """The names that no other session may have. One that crashed has its own: it may come back."""
    return {s.name for s in sessions if s.state is not State.ENDED}


def free_name(stem: str, sessions: Iterable[Session], elsewhere: Collection[str] = ()) -> str:
    """``stem-N`` with the lowest free number."""
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", stem).strip("-_")[:30] or "session"
    names = {*taken(sessions), *elsewhere}
    return next(name for n in range(1, len(names) + 2) if (name := f"{stem}-{n}") not in names)


def find(reference: str, sessions: Iterable[Session]) -> Session:
    """The session meant by an id, a unique id prefix, or a name; living ones first."""
    known = list(sessions)
    living = [s for s in known if s.state is not State.ENDED]
    for group in (living, known):
        for fits in (_has_id, _has_name, _has_prefix):
            found = [s for s in group if fits(s, reference)]
            if len(found) == 1 or (found and fits is _has_name):
                return found[-1]
            if found:
                names = ", ".join(f"{s.id} ({s.name})" for s in found)
                raise NotFoundError(f"{reference!r} fits several sessions: {names}.")
    raise NotFoundError(f"There is no session {reference!r}{_hint(reference)}. See: sm ls --all")


def _hint(reference: str) -> str:
    if re.fullmatch(r"[0-9a-f]+", reference) is None or len(reference) >= SHORTEST_PREFIX:
        return ""
    return f"; the beginning of an id needs {SHORTEST_PREFIX} digits at least"


def looks_like_id(reference: str) -> bool:
    """Whether it may be some session's id, of this home or of another."""
    return _LOOKS_LIKE_ID.fullmatch(reference) is not None


def _has_id(session: Session, reference: str) -> bool:
    return session.id == reference


def _has_name(session: Session, reference: str) -> bool:
    return session.name == reference


def _has_prefix(session: Session, reference: str) -> bool:
    # Four digits at least: one typing error must not end a stranger.
    return len(reference) >= SHORTEST_PREFIX and session.id.startswith(reference)
