"""Runs that are over: what only a living one needs goes, and its session becomes the daemon's.

Of one that was killed, or whose agent was, as crashed: an agent ends with its wrapper, and a
wrapper with its agent; nobody else would bring it back. Of one that ended by itself, as ended:
nobody else would show what it was.
"""

import asyncio
import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sm.adapters.folders import SessionFolders
from sm.adapters.notify.book import NoticeBook
from sm.adapters.store import StoreError, open_store
from sm.api.runs import Run, ended_runs, home_of_run, note_past, runs, write_run
from sm.core.crash import RecoveryState
from sm.core.ids import SessionId
from sm.core.journal import NotStoredError
from sm.core.recovery import ASK_AGAIN, TIMER
from sm.core.state import Exit, Session
from sm.engine.engine import Engine
from sm.engine.recoveries import Past
from sm.settings.home import Home

Started = Callable[[int], int | None]
PAST = 1000
"""So many of a session's closed messages and handoffs come with it."""


def killed(home: Home, started: Started) -> list[Run]:
    """Every run whose wrapper is gone without having said that it is over."""
    return [run for run in runs(home) if started(run["pid"]) != run["started"]]


def left_behind(home: Home, started: Started) -> list[Run]:
    """Every run that is over and not yet the daemon's, whether it has said so or not."""
    # One that says so has still to close its store.
    over = [run for run in ended_runs(home) if started(run["pid"]) != run["started"]]
    return [*killed(home, started), *over]


def tidy_runs(home: Home, started: Started) -> list[str]:
    """Take away the sockets of killed runs, at which others would ask in vain; their ids."""
    gone = killed(home, started)
    for run in gone:
        # On a full disk, the next one does it.
        with contextlib.suppress(OSError):
            Path(run["socket"]).unlink(missing_ok=True)
    return [run["id"] for run in gone]


async def inherit_runs(
    home: Home, engine: Engine, started: Started, now: float, *, within: float = math.inf
) -> tuple[list[str], dict[str, str]]:
    """Make the sessions of runs the daemon's own: of killed ones, crashed as they are, and these
    ones' ids; of those that ended, as ended. And why others could not be. Those are left as they
    are: a full disk or a locked store may pass. What is not done ``within`` so many seconds is left
    for the next time."""
    done: list[str] = []
    failed: dict[str, str] = {}
    deadline = time.monotonic() + within
    # Asked every two seconds, on disks that may be slow: nobody else is to wait for it.
    for run in await asyncio.to_thread(left_behind, home, started):
        if time.monotonic() > deadline:
            break
        try:
            if run["ended_at"] is not None:
                await _put_by(home, engine, run, now)
            elif await _inherit(home, engine, run, started, now):
                done.append(run["id"])
        except (StoreError, NotStoredError, OSError) as error:
            failed[run["id"]] = str(error)
    return done, failed


async def _inherit(home: Home, engine: Engine, run: Run, started: Started, now: float) -> bool:
    own = home_of_run(home, run["id"])
    session_id = SessionId(run["id"])
    left, past = await _left(own, session_id)
    if left is not None and _agent_lives(left, started):
        # Its leader is just ending it.
        return False
    is_crash = left is not None and (left.exit is None or not left.exit.intended)
    if left is not None and is_crash and not left.kill_requested:
        folders = SessionFolders(home)
        folders.inherit(session_id, SessionFolders(own).folder(session_id))
        if run["code"] is not None:
            left = let_be(left, now)
        words = f"its sm run (process {run['pid']}) was killed"
        await engine.recoveries.inherit(left, past, evidence=words)
        await asyncio.to_thread(_take_spool, own, home)
        await engine.notices.take(await asyncio.to_thread(NoticeBook(own.notices).all))
    else:
        SessionFolders(own).forget_environment(session_id)
    # Last: until then it is found again.
    with contextlib.suppress(OSError):
        Path(run["socket"]).unlink(missing_ok=True)
        write_run(own, {**run, "ended_at": now})
        note_past(own)
    return True


async def _put_by(home: Home, engine: Engine, run: Run, now: float) -> None:
    """A run that ended by itself: what it was can still be looked at."""
    own, session_id = home_of_run(home, run["id"]), SessionId(run["id"])
    left, past = await _left(own, session_id)
    SessionFolders(own).forget_environment(session_id)
    if left is not None:
        SessionFolders(home).inherit(session_id, SessionFolders(own).folder(session_id))
        await engine.recoveries.inherit(closed(left, run["code"], now), past, evidence="it ended")
    note_past(own)


def closed(session: Session, code: int | None, now: float) -> Session:
    """Of a run that said that it is over: nothing of it is to come back."""
    known = session.exit or Exit(status=code, signal=None, intended=True)
    return replace(let_be(session, now), exit=replace(known, intended=True))


def let_be(session: Session, now: float) -> Session:
    """Of a run that ended by itself: whoever left it waits for no agent that comes by itself."""
    session = session.with_timer(TIMER, None).with_timer(ASK_AGAIN, None)
    if session.recovery is None:
        return session
    over = session.recovery.moved(RecoveryState.FAILED, now, "its sm run was left")
    return session.with_recovery(over)


async def _left(own: Home, session_id: SessionId) -> tuple[Session | None, Past]:
    """What a run's own store says of its session."""
    if not own.store.exists():
        return None, Past(messages=(), handoffs=())
    store = await open_store(own.store)
    try:
        session = next((s for s in await store.sessions() if s.id == session_id), None)
        messages = await store.messages(to=session_id, limit=PAST)
        handoffs = await store.handoffs(session=session_id, limit=PAST)
    finally:
        await store.close()
    return session, Past(
        messages=tuple(m for m in messages if not m.is_open),
        handoffs=tuple(h for h in handoffs if not h.is_open),
    )


def _agent_lives(session: Session, started: Started) -> bool:
    pane = session.pane
    return pane is not None and started(pane.pid) == pane.started


def _take_spool(own: Home, home: Home) -> None:
    """What its agent reported last, when nobody listened any more."""
    for path in sorted(own.spool.glob("*.hook")):
        home.spool.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(OSError):
            path.replace(home.spool / path.name)
