"""Carries out effects, one after another per session, and posts each outcome as an event."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Protocol, assert_never

from sm.core.effects import (
    CaptureArtifacts,
    CheckPane,
    ClearContext,
    EraseCommand,
    FileHandoff,
    InterruptTurn,
    KillAgent,
    LaunchAgent,
    LetGoPane,
    PasteText,
    PressEnter,
    QueueNotice,
    ReadActivity,
    ReadUsage,
    RecoverAgent,
    RelaunchAgent,
    RenameTmux,
    RingBell,
    SeekMessage,
    TakePane,
    TellPerson,
)
from sm.core.events import (
    AgentKilled,
    EffectFailed,
    Event,
    MessageQueued,
    NoticeDropped,
    NoticeQueued,
    TmuxRenamed,
)
from sm.core.ids import SessionId
from sm.core.journal import PendingEffect
from sm.core.state import Session, State
from sm.engine.archivist import Archivist
from sm.engine.cleaning import in_brief
from sm.engine.filing import Filing
from sm.engine.launcher import Launcher
from sm.engine.loop import Loop, UnknownSessionError
from sm.engine.ports import Terminal
from sm.engine.reader import Reader
from sm.engine.recoverer import Recoverer
from sm.engine.telling import EVERYBODY, Telling
from sm.engine.typist import Typist

RETRY_AFTER = 1.0
"""An outcome that could not be committed is tried again after this."""


class Log(Protocol):
    def warning(self, event: str, **keys: object) -> object: ...


class Actor:
    """One worker for each session with something to do, and one for the person. None waits for
    another."""

    def __init__(
        self,
        terminal: Terminal,
        typist: Typist,
        launcher: Launcher,
        reader: Reader,
        archivist: Archivist,
        filing: Filing,
        recoverer: Recoverer,
        telling: Telling,
        log: Log,
        redact: Callable[[str], str],
    ) -> None:
        self._redact = redact
        self._terminal = terminal
        self._typist = typist
        self._reader = reader
        self._archivist = archivist
        self._filing = filing
        self._recoverer = recoverer
        self._telling = telling
        self._launcher = launcher
        self._log = log
        self._waiting: dict[SessionId, asyncio.Queue[PendingEffect]] = {}
        self._tasks: asyncio.TaskGroup | None = None
        self._early: list[PendingEffect] = []
        self._loop: Loop | None = None

    def bind(self, loop: Loop) -> None:
        """The loop and its actor need each other; the loop comes second."""
        self._loop = loop

    @property
    def loop(self) -> Loop:
        assert self._loop is not None, "bind() comes before the first effect"
        return self._loop

    async def run(self) -> None:
        """Work until cancelled; what was submitted before is done first."""
        async with asyncio.TaskGroup() as self._tasks:
            early, self._early = self._early, []
            for pending in early:
                self.submit(pending)
            await asyncio.Event().wait()

    def submit(self, pending: PendingEffect) -> None:
        if self._tasks is None:
            self._early.append(pending)
            return
        # The person is told one thing after another, and no agent waits for that.
        lane = EVERYBODY if isinstance(pending.effect, TellPerson) else pending.session
        queue = self._waiting.get(lane)
        if queue is None:
            queue = self._waiting[lane] = asyncio.Queue()
            self._tasks.create_task(self._work(lane, queue))
        queue.put_nowait(pending)

    async def _work(self, lane: SessionId, queue: asyncio.Queue[PendingEffect]) -> None:
        while not queue.empty():
            pending = queue.get_nowait()
            # Again before anything else: effects of a session never overtake each other.
            while not await self._carry_out(pending):
                await asyncio.sleep(RETRY_AFTER)
        del self._waiting[lane]

    async def _carry_out(self, pending: PendingEffect) -> bool:
        """Do it and commit the outcome; False when the outcome could not be committed."""
        try:
            pending = await self._without_secrets(pending)
            outcome = await self._outcome(pending)
        except Exception as error:  # noqa: BLE001 - an effect must not take the daemon down
            kind = type(pending.effect).__name__
            self._log.warning("An effect failed", effect=kind, session=pending.session,
                              exc_info=error)  # fmt: skip
            outcome = EffectFailed(effect=kind, error=f"{type(error).__name__}: {error}")
        try:
            await self._commit(pending, outcome)
        except UnknownSessionError:
            return True
        except Exception as error:  # noqa: BLE001 - the disk may be full now and not later
            self._log.warning("An outcome could not be stored", session=pending.session,
                              error=str(error))  # fmt: skip
            return False
        return True

    async def _without_secrets(self, pending: PendingEffect) -> PendingEffect:
        """A notice quotes what one agent said last, and another's model is given it."""
        if not isinstance(pending.effect, QueueNotice):
            return pending
        message, longest = pending.effect.message, pending.effect.longest
        shortened = partial(in_brief, limit=longest or 0, redact=self._redact)
        clean = self._redact if longest is None else shortened
        message = replace(message, text=await asyncio.to_thread(clean, message.text))
        return replace(pending, effect=replace(pending.effect, message=message))

    async def _commit(self, pending: PendingEffect, outcome: Event) -> None:
        if isinstance(pending.effect, QueueNotice) and isinstance(outcome, NoticeQueued):
            # Posted in one breath, the two events share one transaction.
            queued = MessageQueued(message=pending.effect.message)
            sent = self.loop.post(pending.effect.to, queued)
            told = self.loop.post(pending.session, outcome, finished=pending.id)
            await asyncio.gather(sent, told)
        else:
            await self.loop.post(pending.session, outcome, finished=pending.id)

    async def _outcome(self, pending: PendingEffect) -> Event:
        effect, session_id = pending.effect, pending.session
        match effect:
            case LaunchAgent():
                return await self._launcher.launch(self.loop.session(session_id))
            case RelaunchAgent():
                return await self._launcher.relaunch(self.loop.session(session_id), effect)
            case RecoverAgent():
                return await self._recoverer.recover(self.loop.session(session_id), effect)
            case TakePane():
                return await self._launcher.adopter.take(self.loop.session(session_id))
            case LetGoPane():
                return await self._launcher.adopter.let_go(self.loop.session(session_id))
            case CheckPane():
                return await self._launcher.check(self.loop.session(session_id))
            case KillAgent():
                return await self._kill(session_id)
            case RenameTmux():
                return await self._rename(self.loop.session(session_id), effect.name)
            case PasteText():
                return await self._typist.paste(session_id, effect)
            case PressEnter():
                return await self._typist.enter(session_id, effect)
            case RingBell():
                return await self._typist.ring(session_id, effect)
            case ReadUsage():
                return await self._reader.usage(self.loop.session(session_id))
            case ReadActivity():
                return await self._reader.activity(self.loop.session(session_id))
            case SeekMessage():
                return await self._typist.seek(session_id, effect)
            case InterruptTurn():
                return await self._typist.interrupt(session_id, effect)
            case CaptureArtifacts():
                return await self._archivist.capture(self.loop.session(session_id), effect)
            case FileHandoff():
                return await self._filing.file(self.loop.session(session_id), effect)
            case ClearContext():
                return await self._typist.clear(session_id, effect)
            case EraseCommand():
                return await self._typist.erase(session_id, effect)
            case QueueNotice():
                return self._notice(effect)
            case TellPerson():
                return await self._telling.tell(self.loop.session(session_id), effect)
            case _:
                assert_never(effect)

    async def _kill(self, session_id: SessionId) -> Event:
        session = self.loop.session(session_id)
        if session.adopted:
            return await self._launcher.adopter.end(session)
        await self._terminal.kill(session_id)
        self._launcher.forget(session_id)
        what = "its agent" if session.wrapped else "its tmux session"
        return AgentKilled(evidence=f"{what} was ended")

    async def _rename(self, session: Session, name: str) -> Event:
        if session.pane is None:
            return EffectFailed(effect="RenameTmux", error="there is no pane")
        real = await self._terminal.rename(session.pane.id, name)
        return TmuxRenamed(pane=replace(session.pane, session=real))

    def _notice(self, effect: QueueNotice) -> Event:
        try:
            receiver = self.loop.session(effect.to)
        except UnknownSessionError:
            return NoticeDropped(reason="the receiver is not known")
        if receiver.state is State.ENDED:
            return NoticeDropped(reason="the receiver has ended")
        return NoticeQueued(message=effect.message.id)
