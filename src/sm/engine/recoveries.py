"""Recoveries as people ask for them: what can be brought back, how, and the request itself."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sm.core.crash import Cause, Crash, Manner, RecoveryRules
from sm.core.events import RecoveryRequested, SessionInherited
from sm.core.ids import RecoveryId, SessionId
from sm.core.launch import LaunchFailedError
from sm.core.message import Message, Way
from sm.core.passage import Handoff
from sm.core.recovery import is_recoverable
from sm.core.state import Session, State
from sm.engine import naming
from sm.engine.loop import Loop
from sm.engine.naming import RefusedError
from sm.engine.ports import Clock
from sm.engine.recoverer import Plan, Recoverer, RecoveryImpossibleError


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryTerms:
    """What the configuration says about bringing sessions back."""

    rules: RecoveryRules
    at_once: int
    max_lines: int
    budget: float
    """In percent of the agent's window."""
    template: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What a session has behind it that it does not carry along."""

    messages: tuple[Message, ...]
    handoffs: tuple[Handoff, ...]


class Environments(Protocol):
    """What agents are started with, as far as it is kept."""

    def environment(self, session: SessionId) -> dict[str, str]:
        """Raises FileNotFoundError where it is not kept, and OSError where it cannot be read."""

    def lend(self, session: SessionId, environment: Mapping[str, str]) -> None:
        """Keep one in the place of one that was not kept."""

    def forget_unkept(self, session: SessionId) -> None:
        """Remove it, unless environments are kept until their sessions end."""

    def with_sm(self, environment: Mapping[str, str]) -> dict[str, str]: ...


class Recoveries:
    def __init__(
        self,
        loop: Loop,
        recoverer: Recoverer,
        environments: Environments,
        clock: Clock,
        *,
        terms: RecoveryTerms,
        identity: Callable[[SessionId], Mapping[str, str]],
        clean: Callable[[Mapping[str, str]], dict[str, str]],
        raw_log: Callable[[SessionId], str],
        ways: Callable[[str], tuple[Way, ...]],
        learn: Callable[[Collection[str]], Awaitable[None]],
        names_elsewhere: Callable[[SessionId], Collection[str]],
    ) -> None:
        self._loop = loop
        self._recoverer = recoverer
        self._environments = environments
        self._clock = clock
        self._terms = terms
        self._identity = identity
        self._clean = clean
        self._raw_log = raw_log
        self._ways = ways
        self._learn = learn
        """Has the channels of folders looked up."""
        self._names_elsewhere = names_elsewhere

    def recoverable(self) -> list[Session]:
        """Every session whose agent died unasked, the one that died last first. Raises
        RefusedError where none of them would be brought back."""
        self._refuse_switched_off()
        found = [s for s in self._loop.sessions if is_recoverable(s) and not s.adopted]
        return sorted(found, key=lambda s: -s.state_since)

    async def lines(self) -> dict[SessionId, int]:
        """How much each of them has shown, roughly."""
        paths = {session.id: Path(self._raw_log(session.id)) for session in self.recoverable()}
        return await asyncio.to_thread(lambda: {one: _lines(path) for one, path in paths.items()})

    async def request(
        self,
        reference: str,
        *,
        by: str,
        recovery_id: RecoveryId,
        manner: Manner | None,
        environment: Mapping[str, str] | None,
    ) -> Session:
        """Have a session brought back. The same id again is the same request, sent again.

        Returns when that is stored; what became of it, the session tells.
        """
        session = naming.find(reference, self._loop.sessions)
        is_kept = await asyncio.to_thread(self._is_kept, session)
        # From here to the post nothing is waited for: nobody else asks meanwhile.
        known = await self._loop.stored(
            lambda: _has(self._loop.session(session.id), recovery_id) or None
        )
        session = self._loop.session(session.id)
        if known is not None:
            return session
        self._refuse_impossible(session)
        if not is_kept:
            self._lend(session, environment)
        try:
            return await self._loop.post(
                session.id, RecoveryRequested(id=recovery_id, by=by, manner=manner)
            )
        except Exception:
            # Whatever kept it from being stored: lent for this one try.
            if not is_kept:
                self._environments.forget_unkept(session.id)
            raise

    async def plan(
        self,
        reference: str,
        manner: Manner | None,
        environment: Mapping[str, str] | None = None,
    ) -> tuple[Session, Plan, tuple[str, ...]]:
        """How a session would be brought back, and the command line without secrets; nothing is
        done. ``environment``: what whoever asks would lend."""
        session = naming.find(reference, self._loop.sessions)
        self._refuse_impossible(session, may_run=True)
        crash = None if session.exit is None else session.crash
        crash = crash or _supposed(session, self._clock.now())
        is_kept = await asyncio.to_thread(self._is_kept, session)
        if not is_kept and environment is None:
            raise RefusedError(f"{session.name}: {_NOT_KEPT}")
        lent = None if is_kept else self._fit(session.id, environment or {})
        try:
            plan = await self._recoverer.plan(session, crash, manner, environment=lent)
            return session, plan, await asyncio.to_thread(self._recoverer.shown, plan.line)
        except (LaunchFailedError, RecoveryImpossibleError, OSError) as error:
            raise RefusedError(f"{session.name}: {error}") from None

    async def inherit(self, left: Session, past: Past, *, evidence: str) -> Session | None:
        """Make a session ours whose wrapper is gone; None if it was ours already. Raises OSError
        where it cannot be told that it is ours: with the wrapper's own identity, nobody would hear
        its agent."""
        await self._learn({left.cwd})
        known = any(session.id == left.id for session in self._loop.sessions)
        if known:
            return None
        sessions, elsewhere = self._loop.sessions, self._names_elsewhere(left.id)
        is_over = left.exit is not None and left.exit.intended
        name = left.name
        if not is_over and name in {*naming.taken(sessions), *elsewhere}:
            name = naming.free_name(name, sessions, elsewhere)
        event = SessionInherited(
            session=left,
            name=name,
            evidence=evidence,
            ways=self._ways(left.agent),
            rescue=self._terms.rules,
            messages=past.messages,
            handoffs=past.handoffs,
        )
        self._environments.forget_unkept(left.id)
        self._own(left.id)
        return await self._loop.post(left.id, event)

    def _own(self, session: SessionId) -> None:
        """What its agent was started with names the wrapper: from now on it is to name us."""
        try:
            environment = self._environments.environment(session)
        except FileNotFoundError:
            # Not kept: whoever brings it back lends theirs.
            return
        self._lent(session, environment)

    def _refuse_switched_off(self) -> None:
        if not self._terms.rules.enabled:
            raise RefusedError("Recovery is switched off: set recovery.enabled = true.")

    def _refuse_impossible(self, session: Session, *, may_run: bool = False) -> None:
        self._refuse_switched_off()
        if session.adopted:
            raise RefusedError(
                f"{session.name} was adopted, so how it was started is not known. Start its agent"
                f" again yourself, and adopt it: sm adopt"
            )
        if session.state is State.ENDED:
            raise RefusedError(
                f"{session.name} was ended on purpose. Start a new session with: sm new"
            )
        if session.name in self._names_elsewhere(session.id):
            # It began while we did not run, and could not be told.
            raise RefusedError(
                f"A run is called {session.name}, too. Give this one another name first: sm rename"
                f" {session.id} NAME"
            )
        if session.recovery is not None:
            raise RefusedError(
                f"{session.name} is already being brought back. See: sm show {session.name}"
            )
        if session.exit is None and not may_run:
            raise RefusedError(
                f"{session.name} is {session.state.value}: there is nothing to bring back."
            )

    def _lend(self, session: Session, environment: Mapping[str, str] | None) -> None:
        """Where the agent's own environment is not kept, that of whoever asks has to do."""
        if environment is None:
            raise RefusedError(f"{session.name}: {_NOT_KEPT}")
        self._lent(session.id, environment)

    def _is_kept(self, session: Session) -> bool:
        try:
            self._environments.environment(session.id)
        except FileNotFoundError:
            return False
        except OSError as error:
            # It may well be there: another is not to be put in its place.
            why = f"the environment it was started with cannot be read ({error.strerror})"
            raise RefusedError(f"{session.name}: {why}. Try again.") from None
        return True

    def _lent(self, session: SessionId, environment: Mapping[str, str]) -> None:
        self._environments.lend(session, self._fit(session, environment))

    def _fit(self, session: SessionId, environment: Mapping[str, str]) -> dict[str, str]:
        """Somebody's environment, with the session's own identity in the place of theirs."""
        fit = self._environments.with_sm(self._clean(environment))
        return {**fit, **self._identity(session)}


def _supposed(session: Session, now: float) -> Crash:
    """As if it died now."""
    return Crash(
        at=now,
        cause=Cause.UNKNOWN,
        words="nothing yet: this is what it would be told if its agent died now",
        busy=session.turn is not None,
        dialog=session.dialog,
    )


COUNTED = 4_000_000
_NOT_KEPT = (
    "the environment it was started with is not there: it was not kept"
    " (recovery.keep_environment = false), or its folder was deleted. Bring it back from a"
    " terminal, which lends its own: sm recover"
)


def _lines(log: Path) -> int:
    """Counted at the end of a long log, and reckoned from that."""
    try:
        size = log.stat().st_size
        with log.open("rb") as file:
            file.seek(max(size - COUNTED, 0))
            found = file.read(COUNTED).count(b"\n")
    except OSError:
        return 0
    return found if size <= COUNTED else found * size // COUNTED


def _has(session: Session, recovery: RecoveryId) -> bool:
    return any(one.id == recovery for one in session.recoveries)
