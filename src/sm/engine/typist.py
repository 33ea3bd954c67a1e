"""The hands at the keyboard: looks, then types, then looks again.

Every step can be asked for again after a crash. tmux itself keeps the mark of the last paste and
the last Enter beside the pane, so a repeat is recognised even though we forgot.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sm.core import envelope
from sm.core.effects import (
    ClearContext,
    EraseCommand,
    InterruptTurn,
    PasteText,
    PressEnter,
    RingBell,
    SeekMessage,
)
from sm.core.events import (
    BellRung,
    ClearRefused,
    ClearTyped,
    CommandErased,
    EnterPressed,
    Event,
    MessageSought,
    TextPasted,
    TurnInterrupted,
    TypingRefused,
)
from sm.core.ids import SessionId
from sm.core.launch import TerminalUnreachableError
from sm.core.passage import HandoffState
from sm.core.state import Attempt, Session, Step
from sm.core.terminal import (
    AgentStatus,
    NoteState,
    Obstacle,
    Pane,
    Place,
    Record,
    Screen,
    Sign,
    View,
)
from sm.core.waiting import is_overdue
from sm.engine.looking import look_at
from sm.engine.ports import Clock, Dialects, Inbox, Processes, Terminal

LOOK_EVERY = 0.02
OPENING = 24
"""So much of a text tells whether it stands at the beginning of the box."""
SHOWN_WITHIN = 3.0
"""How long a pasted text may take to appear in the agent's box."""
UNPROVED_GAP = 0.3
"""Between paste and Enter, for an agent whose box we cannot read."""
STASHED_WITHIN = 1.0
DRAWN_WITHIN = 1.0
"""An agent reports a turn's end, or a new context, a moment before its screen shows it."""
ENTERED, INTERRUPTED, STASHED = "@sm_entered", "@sm_interrupted", "@sm_stashed"
ERASED = "@sm_erased"


class Typist:
    """Types for all sessions; asks for the session anew at every look, since it moves on."""

    def __init__(
        self,
        terminal: Terminal,
        dialects: Dialects,
        processes: Processes,
        inbox: Inbox,
        session: Callable[[SessionId], Session],
        clock: Clock,
    ) -> None:
        self._terminal = terminal
        self._dialects = dialects
        self._processes = processes
        self._inbox = inbox
        self._session = session
        self._clock = clock

    async def paste(self, session_id: SessionId, effect: PasteText) -> Event:
        session = self._session(session_id)
        message = session.message(effect.message)
        if session.pane is None or message is None or not _is_current(session, effect.mark):
            return TypingRefused(mark=effect.mark, obstacle=Obstacle.PANE_GONE)
        try:
            view = await self._uncovered(session, session.pane)
            if view is not None and view.pasted == effect.mark:
                return TextPasted(mark=effect.mark)
            if is_overdue(message, self._clock.now()):
                return TypingRefused(mark=effect.mark, obstacle=Obstacle.TOO_LATE)
            if message.handoff is not None:
                view = await self._drawn(session, session.pane)
            obstacle = self._obstacle(session, session.pane, view)
            draft = self._draft(session, view) if obstacle is Obstacle.DRAFT else ""
            if message.handoff is not None and self._is_command(session, draft):
                # An Escape left it there: nobody's words, and no draft to be brought back.
                await self._erase(session, session.pane, effect.mark)
                obstacle, draft = Obstacle.BUSY, ""
            if draft and draft == effect.stash:
                obstacle = await self._stash(session, session.pane, effect.mark)
            if obstacle is not None:
                return TypingRefused(mark=effect.mark, obstacle=obstacle, draft=draft)
            if not _is_current(self._session(session_id), effect.mark):
                # The agent reported it while we looked.
                return TypingRefused(mark=effect.mark, obstacle=Obstacle.TURN_OVER)
            text = envelope.carry(message)
            await self._terminal.paste(session.pane.id, effect.mark, text)
        except TerminalUnreachableError:
            return TypingRefused(mark=effect.mark, obstacle=Obstacle.UNREACHABLE)
        return TextPasted(mark=effect.mark)

    async def _drawn(self, session: Session, pane: Pane) -> View | None:
        """A look at a pane whose agent has just begun a context: drawn to its end, if soon.

        What is pasted while it still draws is lost now and then.
        """
        dialect = self._dialects.named(session.agent)
        deadline = asyncio.get_running_loop().time() + DRAWN_WITHIN
        while True:
            view = await self._uncovered(session, pane)
            is_late = asyncio.get_running_loop().time() > deadline
            if view is None or is_late or dialect.is_fresh(view):
                return view
            await asyncio.sleep(LOOK_EVERY)

    def _draft(self, session: Session, view: View | None) -> str:
        return "" if view is None else self._dialects.named(session.agent).read_screen(view).draft

    async def _stash(self, session: Session, pane: Pane, mark: str) -> Obstacle | None:
        """Put a person's draft aside, where the agent can; what still stands in the way."""
        key = self._dialects.named(session.agent).stash_key
        if key is None:
            return Obstacle.DRAFT
        await self._terminal.press(pane.id, key, option=STASHED, mark=mark)
        deadline = asyncio.get_running_loop().time() + STASHED_WITHIN
        while True:
            obstacle = self._obstacle(session, pane, await self._uncovered(session, pane))
            is_late = asyncio.get_running_loop().time() > deadline
            if obstacle is not Obstacle.DRAFT or is_late:
                return obstacle
            await asyncio.sleep(LOOK_EVERY)

    async def enter(self, session_id: SessionId, effect: PressEnter) -> Event:
        try:
            # Not wait_for: it swallows a cancellation that comes with the outcome.
            async with asyncio.timeout(SHOWN_WITHIN):
                return await self._enter(session_id, effect)
        except TimeoutError:
            return TypingRefused(mark=effect.mark, obstacle=Obstacle.NOT_SHOWN)
        except TerminalUnreachableError:
            return TypingRefused(mark=effect.mark, obstacle=Obstacle.UNREACHABLE)

    async def _enter(self, session_id: SessionId, effect: PressEnter) -> Event:
        shown = False
        while True:
            session = self._session(session_id)
            if session.pane is None or not _is_current(session, effect.mark):
                return EnterPressed(mark=effect.mark, evidence="the agent already reported it")
            view = await self._uncovered(session, session.pane)
            if view is not None and view.entered == effect.press:
                return EnterPressed(mark=effect.mark, evidence="Enter was already pressed")
            obstacle = self._obstacle(session, session.pane, view)
            if obstacle not in (None, Obstacle.DRAFT):
                return TypingRefused(mark=effect.mark, obstacle=obstacle)
            # Seen at two looks in a row: the agent has taken the whole paste in, so that the
            # Enter comes in a read of its own and is not swallowed.
            if view is not None and self._is_shown(session, view, effect):
                if shown and _is_current(self._session(session_id), effect.mark):
                    return await self._press_enter(session.pane, effect)
                shown = True
            await asyncio.sleep(LOOK_EVERY if session.proves else UNPROVED_GAP)

    def _is_shown(self, session: Session, view: View, effect: PressEnter) -> bool:
        if not session.proves:
            return True
        dialect, message = self._dialects.named(session.agent), session.message(effect.message)
        if message is None:
            return False
        opening = envelope.carry(message)[:OPENING]
        return dialect.box_holds_only(dialect.read_screen(view), effect.message, opening)

    async def _press_enter(self, pane: Pane, effect: PressEnter) -> Event:
        await self._terminal.press(pane.id, "Enter", option=ENTERED, mark=effect.press)
        return EnterPressed(mark=effect.mark, evidence=f"Enter {effect.number}")

    async def clear(self, session_id: SessionId, effect: ClearContext) -> Event:
        """Type the agent's own command for a fresh context, and send it off."""
        try:
            async with asyncio.timeout(SHOWN_WITHIN):
                return await self._clear(session_id, effect)
        except TimeoutError:
            return ClearRefused(mark=effect.mark, obstacle=Obstacle.NOT_SHOWN)
        except TerminalUnreachableError:
            return ClearRefused(mark=effect.mark, obstacle=Obstacle.UNREACHABLE)

    async def _clear(self, session_id: SessionId, effect: ClearContext) -> Event:
        drawn_by = asyncio.get_running_loop().time() + DRAWN_WITHIN
        shown = False
        while True:
            session = self._session(session_id)
            command = self._dialects.named(session.agent).clear_command
            if session.pane is None or command is None or not _is_clearing(session, effect.mark):
                return ClearRefused(mark=effect.mark, obstacle=Obstacle.TURN_OVER)
            status = self._elsewhere(session, session.pane)
            if status is not None and _is_awaited(session, effect.mark):
                evidence = "the agent already says it has another context"
                return ClearTyped(mark=effect.mark, evidence=evidence, status=status)
            view = await self._uncovered(session, session.pane)
            if view is not None and view.entered == effect.press:
                return ClearTyped(mark=effect.mark, evidence="Enter was already pressed")
            obstacle = self._obstacle(session, session.pane, view)
            draft = self._draft(session, view)
            is_drawing = asyncio.get_running_loop().time() < drawn_by
            if obstacle is Obstacle.DRAFT and self._is_command(session, draft):
                # Seen at two looks in a row, as with a message.
                if shown and _is_clearing(self._session(session_id), effect.mark):
                    return await self._send_off(session.pane, effect, command)
                shown = True
            elif obstacle is Obstacle.DRAFT and draft == effect.stash:
                obstacle = await self._stash(session, session.pane, effect.mark)
                if obstacle is Obstacle.DRAFT:
                    return ClearRefused(mark=effect.mark, obstacle=obstacle, draft=draft)
            elif obstacle not in (None, Obstacle.BUSY, Obstacle.NO_BOX):
                return ClearRefused(mark=effect.mark, obstacle=obstacle, draft=draft)
            elif obstacle is not None:
                if not is_drawing:
                    return ClearRefused(mark=effect.mark, obstacle=obstacle)
            elif not _is_awaited(self._session(session_id), effect.mark):
                # It reported its new context while we looked; what is in the box is sent off.
                return ClearRefused(mark=effect.mark, obstacle=Obstacle.TURN_OVER)
            elif view is not None and view.pasted != effect.mark:
                await self._terminal.paste(session.pane.id, effect.mark, command)
            elif effect.number > 1:
                return ClearRefused(mark=effect.mark, obstacle=Obstacle.NOT_SHOWN)
            await asyncio.sleep(LOOK_EVERY)

    def _elsewhere(self, session: Session, pane: Pane) -> AgentStatus | None:
        """What the agent says of itself, where that is of a context nobody has told us of."""
        status = self._status(session, pane)
        known = (None, session.context.id, *(past.id for past in session.lineage))
        return None if status is None or status.context in known else status

    async def erase(self, session_id: SessionId, effect: EraseCommand) -> Event:
        """Take the command to clear out of the box, if nothing else stands there."""
        session = self._session(session_id)
        dialect = self._dialects.named(session.agent)
        evidence = "there was nothing to erase"
        try:
            view = None if session.pane is None else await self._uncovered(session, session.pane)
            is_left = self._is_command(session, self._draft(session, view))
            if session.pane is not None and is_left and not self._is_asking(session, view):
                await self._erase(session, session.pane, effect.mark)
                evidence = f"{dialect.clear_command} was erased from the prompt box"
        except TerminalUnreachableError:
            evidence = Obstacle.UNREACHABLE.words
        return CommandErased(mark=effect.mark, evidence=evidence)

    def _is_asking(self, session: Session, view: View | None) -> bool:
        """Whether a dialog is open: a key would be an answer to it."""
        if view is None:
            return False
        return self._dialects.named(session.agent).read_screen(view).sign is Sign.DIALOG

    def _is_command(self, session: Session, draft: str) -> bool:
        """Whether a text is our own command to clear, perhaps with the agent's hint behind it."""
        command = self._dialects.named(session.agent).clear_command
        words = draft.split()
        return words[:1] == [command] and all(word.startswith("[") for word in words[1:])

    async def _erase(self, session: Session, pane: Pane, mark: str) -> None:
        key = self._dialects.named(session.agent).erase_key
        await self._terminal.press(pane.id, key, option=ERASED, mark=mark)

    async def _send_off(self, pane: Pane, effect: ClearContext, command: str) -> Event:
        await self._terminal.press(pane.id, "Enter", option=ENTERED, mark=effect.press)
        return ClearTyped(mark=effect.mark, evidence=f"{command}, Enter {effect.number}")

    async def interrupt(self, session_id: SessionId, effect: InterruptTurn) -> Event:
        session = self._session(session_id)
        if session.pane is None:
            return TypingRefused(mark=effect.mark, obstacle=Obstacle.PANE_GONE)
        is_over = session.turn is None or session.turn.prompt != effect.prompt
        if is_over or not _is_current(session, effect.mark):
            return TypingRefused(mark=effect.mark, obstacle=Obstacle.TURN_OVER)
        try:
            view = await self._uncovered(session, session.pane)
            if view is not None and view.interrupted == effect.mark:
                return TurnInterrupted(mark=effect.mark)
            obstacle = self._obstacle(session, session.pane, view)
            if obstacle is not Obstacle.BUSY:
                reason = Obstacle.TURN_OVER if obstacle in (None, Obstacle.DRAFT) else obstacle
                return TypingRefused(mark=effect.mark, obstacle=reason)
            await self._terminal.press(
                session.pane.id, "Escape", option=INTERRUPTED, mark=effect.mark
            )
        except TerminalUnreachableError:
            return TypingRefused(mark=effect.mark, obstacle=Obstacle.UNREACHABLE)
        return TurnInterrupted(mark=effect.mark)

    async def ring(self, session_id: SessionId, effect: RingBell) -> Event:
        session = self._session(session_id)
        message = session.message(effect.message)
        if message is None or not _is_current(session, effect.mark):
            return TypingRefused(mark=effect.mark, obstacle=Obstacle.TURN_OVER)
        if is_overdue(message, self._clock.now()):
            state = await asyncio.to_thread(self._inbox.look, session_id, effect.mark)
            if state is NoteState.NEVER:
                return TypingRefused(mark=effect.mark, obstacle=Obstacle.TOO_LATE)
        text = envelope.carry(message)
        await asyncio.to_thread(self._inbox.leave, session_id, effect.mark, text)
        return BellRung(mark=effect.mark)

    async def seek(self, session_id: SessionId, effect: SeekMessage) -> Event:
        """Where is a message that was given? The agent's own record is asked first."""
        session = self._session(session_id)
        attempt = session.attempt
        if attempt is None or attempt.mark != effect.mark:
            return self._found(effect, Place.CANNOT_LOOK, "it is no longer in hand")
        record = await self._search(session, attempt)
        if record is Record.HELD:
            return self._found(effect, Place.TRANSCRIPT, _in_record(attempt))
        if attempt.step is Step.REPLIED:
            return self._seek_reply(session, attempt, record, effect)
        if attempt.step is Step.RUNG:
            return await self._seek_note(session, effect)
        return await self._seek_typed(session, effect)

    async def _search(self, session: Session, attempt: Attempt) -> Record:
        """In every record the agent has kept since the message was given."""
        dialect = self._dialects.named(session.agent)
        verdict = Record.OPEN
        paths = [*attempt.transcripts, session.context.transcript]
        if session.pane is not None:
            # A person may have cleared the context, and the hook that tells it be late.
            status = self._status(session, session.pane)
            paths.append(status.transcript if status is not None else None)
        for path in dict.fromkeys(path for path in paths if path is not None):
            found = await asyncio.to_thread(dialect.search, Path(path), attempt)
            if found is Record.HELD:
                return found
            verdict = found if found is Record.PASSED else verdict
        return verdict

    def _seek_reply(
        self, session: Session, attempt: Attempt, record: Record, effect: SeekMessage
    ) -> Event:
        if not self._lives(session):
            return self._missed(effect, session, Obstacle.AGENT_GONE.words)
        if record is Record.PASSED:
            return self._missed(effect, session, "the model was asked again without it")
        turn = session.turn
        if turn is None or turn.prompt != attempt.prompt:
            return self._missed(effect, session, "the turn it was given in is over")
        return self._found(effect, Place.CANNOT_LOOK, "the agent has not recorded it yet")

    async def _seek_note(self, session: Session, effect: SeekMessage) -> Event:
        state = await asyncio.to_thread(self._inbox.look, session.id, effect.mark)
        if state is NoteState.TAKEN:
            if not self._lives(session):
                return self._missed(effect, session, Obstacle.AGENT_GONE.words)
            evidence = "the agent has taken the note and not yet given it to the model"
            return self._found(effect, Place.CANNOT_LOOK, evidence)
        withdrawn = await asyncio.to_thread(self._inbox.withdraw, session.id, effect.mark)
        if withdrawn or state is NoteState.NEVER:
            return self._found(effect, Place.WITHDRAWN, "nobody took the note from the inbox")
        return self._found(effect, Place.CANNOT_LOOK, "the agent is just taking the note")

    async def _seek_typed(self, session: Session, effect: SeekMessage) -> Event:
        dialect = self._dialects.named(session.agent)
        if not self._lives(session):
            # tmux may have died with it, and has no more to tell.
            return self._missed(effect, session, Obstacle.AGENT_GONE.words)
        try:
            view = await look_at(self._terminal, session)
        except TerminalUnreachableError:
            return self._found(effect, Place.CANNOT_LOOK, Obstacle.UNREACHABLE.words)
        if view is None or view.dead:
            return self._missed(effect, session, Obstacle.AGENT_GONE.words)
        screen = dialect.read_screen(view)
        if dialect.box_holds(screen, effect.message):
            return self._found(effect, Place.BOX, "it stands in the prompt box")
        if screen.sign is Sign.PROMPT:
            return self._missed(effect, session, _whereabouts(screen))
        return self._found(effect, Place.CANNOT_LOOK, f"the screen shows: {screen.sign.value}")

    def _missed(self, effect: SeekMessage, session: Session, evidence: str) -> MessageSought:
        """It is nowhere only if the agent keeps a record and we know which one lacks it."""
        if session.proves and session.context.transcript is None:
            return self._found(effect, Place.CANNOT_LOOK, "the agent has not named its transcript")
        return self._found(effect, Place.NOWHERE, evidence)

    @staticmethod
    def _found(effect: SeekMessage, place: Place, evidence: str) -> MessageSought:
        return MessageSought(mark=effect.mark, place=place, evidence=evidence)

    async def _uncovered(self, session: Session, pane: Pane) -> View | None:
        """A look at the pane, with copy mode left if that was possible."""
        view = await look_at(self._terminal, session)
        if view is None or not view.in_mode:
            return view
        await self._terminal.leave_mode(pane.id)
        return await look_at(self._terminal, session)

    def _lives(self, session: Session) -> bool:
        pane = session.pane
        return pane is not None and self._processes.started(pane.pid) == pane.started

    def _obstacle(self, session: Session, pane: Pane, view: View | None) -> Obstacle | None:
        """Why nothing must be typed now, or None."""
        if view is None:
            return Obstacle.PANE_GONE
        if view.dead or not self._lives(session):
            return Obstacle.AGENT_GONE
        if self._processes.is_stopped(pane.pid):
            return Obstacle.STOPPED
        if not self._processes.is_foreground(pane.pid):
            return Obstacle.NOT_FOREGROUND
        if view.in_mode:
            return Obstacle.COPY_MODE
        if not session.proves:
            return None
        screen = self._dialects.named(session.agent).read_screen(view)
        return _in_the_way(screen, self._status(session, pane))

    def _status(self, session: Session, pane: Pane) -> AgentStatus | None:
        """What the agent itself says: an Enter at a dialog would approve it."""
        transcript = session.context.transcript
        if transcript is None:
            return None
        dialect = self._dialects.named(session.agent)
        return dialect.read_status(pane.pid, pane.started, Path(transcript))


def _in_the_way(screen: Screen, status: AgentStatus | None) -> Obstacle | None:
    """What the agent shows and says together: either one sees a dialog the other may miss."""
    if status is not None and status.sign is Sign.DIALOG:
        return Obstacle.DIALOG
    is_idle = status is not None and status.sign is Sign.PROMPT
    if screen.sign is Sign.UNKNOWN and screen.has_box and is_idle:
        # Its title tells nothing, as some people want it; its box and its own word do.
        screen = replace(screen, sign=Sign.PROMPT)
    match screen.sign:
        case Sign.DIALOG:
            return Obstacle.DIALOG
        case Sign.BUSY:
            return Obstacle.BUSY
        case Sign.UNKNOWN:
            return Obstacle.NO_BOX
        case Sign.PROMPT:
            return Obstacle.DRAFT if screen.draft else None


def _is_current(session: Session, mark: str) -> bool:
    return session.attempt is not None and session.attempt.mark == mark


def _is_clearing(session: Session, mark: str) -> bool:
    handoff = session.handoff
    return handoff is not None and handoff.mark == mark and session.turn is None


def _is_awaited(session: Session, mark: str) -> bool:
    handoff = session.handoff
    is_clearing = handoff is not None and handoff.state is HandoffState.CLEARING
    return is_clearing and _is_clearing(session, mark)


def _in_record(attempt: Attempt) -> str:
    return f"it is in the agent's own transcript, given by {attempt.route.value}"


def _whereabouts(screen: Screen) -> str:
    return "the prompt box holds other text" if screen.draft else "the prompt box is empty"
