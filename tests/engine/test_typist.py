"""The hands at the keyboard: they look before they type, and type nothing twice."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sm.core import envelope
from sm.core.effects import InterruptTurn, PasteText, PressEnter, RingBell, SeekMessage
from sm.core.events import (
    BellRung,
    EnterPressed,
    Event,
    MessageSought,
    TextPasted,
    TurnInterrupted,
    TypingRefused,
)
from sm.core.ids import PromptId, SessionId
from sm.core.message import Route
from sm.core.state import Attempt, Context, Session, Step, Turn
from sm.core.terminal import NoteState, Obstacle, Place, Sign
from sm.engine.typist import LOOK_EVERY, SHOWN_WITHIN, Typist
from tests.core.samples import ADA, GENERIC, HELLO, IDLE, MARK, NOON
from tests.engine.agent import PASTED, Agent
from tests.engine.dialects import ScriptedDialects
from tests.engine.folders import Inboxes
from tests.engine.obstacles import (
    OBSTACLES,
    busy,
    dead,
    dialog,
    gone,
)
from tests.engine.timelapse import LoopClock
from tests.engine.world import ProcessTable, World

PASTE = PasteText(mark=MARK, message=HELLO.id)
ENTER = PressEnter(mark=MARK, message=HELLO.id, number=1)
RING = RingBell(mark=MARK, message=HELLO.id)
SEEK = SeekMessage(mark=MARK, message=HELLO.id)
INTERRUPT = InterruptTurn(mark=MARK, prompt=PromptId("P0"))
TEXT = envelope.wrap(HELLO.id, HELLO.sender_name, HELLO.text)


class Desk:
    """ada with HELLO in hand, and the typist in front of her."""

    def __init__(self) -> None:
        self.world = World(LoopClock().now)
        self.agent: Agent = self.world.add(ADA)
        self.session: Session = replace(IDLE, agent="scripted", pane=self.agent.pane).with_message(
            HELLO
        )
        self.session = replace(
            self.session,
            attempt=Attempt(
                message=HELLO.id, number=1, route=Route.PASTE, step=Step.PASTING, since=NOON
            ),
            context=Context(transcript=self.agent.transcript),
        )
        dialects, processes = ScriptedDialects(self.world), ProcessTable(self.world)
        self.inbox = Inboxes()
        self.typist = Typist(self.world, dialects, processes, self.inbox, self.current, LoopClock())

    def current(self, _: SessionId) -> Session:
        return self.session

    def at(self, step: Step, **changes: Any) -> None:
        """HELLO was given by another route."""
        assert self.session.attempt is not None
        attempt = replace(self.session.attempt, step=step, **changes)
        self.session = replace(self.session, attempt=attempt)

    def prompted(self) -> None:
        """A person's turn is running."""
        self.agent.box = "a person's words"
        self.agent.submit()
        self.session = replace(self.session, turn=Turn(prompt=PromptId("P0"), started_at=NOON))


@pytest.fixture
async def desk() -> Desk:
    return Desk()


def no(obstacle: Obstacle) -> TypingRefused:
    return TypingRefused(mark=MARK, obstacle=obstacle)


# --- pasting -------------------------------------------------------------------------------


async def test_an_empty_box_gets_the_message_in_its_envelope(desk: Desk) -> None:
    """With its id at the fixed place, and the mark left beside the pane."""
    assert await desk.typist.paste(ADA, PASTE) == TextPasted(mark=MARK)

    assert (desk.agent.box, desk.agent.marks[PASTED]) == (TEXT, MARK)


async def test_a_paste_asked_for_again_is_recognised(desk: Desk) -> None:
    """The daemon died after it: the mark beside the pane says that it was done."""
    await desk.typist.paste(ADA, PASTE)

    assert await desk.typist.paste(ADA, PASTE) == TextPasted(mark=MARK)
    assert (desk.agent.box, desk.world.calls) == (TEXT, [f"paste {MARK}"])


async def test_a_message_is_not_pasted_after_its_deadline(desk: Desk) -> None:
    """tmux could not be reached until then. One that was pasted stays so."""
    desk.session = desk.session.with_message(replace(HELLO, expires_at=NOON))

    assert await desk.typist.paste(ADA, PASTE) == no(Obstacle.TOO_LATE)
    assert desk.agent.box == ""

    desk.agent.marks[PASTED] = MARK
    assert await desk.typist.paste(ADA, PASTE) == TextPasted(mark=MARK)


async def test_no_note_is_left_after_the_deadline(desk: Desk) -> None:
    """The daemon died before it was. One that was left stays so."""
    desk.session = desk.session.with_message(replace(HELLO, expires_at=NOON))
    desk.at(Step.RINGING)

    assert await desk.typist.ring(ADA, RING) == no(Obstacle.TOO_LATE)
    assert desk.inbox.look(ADA, MARK) is NoteState.NEVER

    desk.inbox.leave(ADA, MARK, TEXT)
    assert await desk.typist.ring(ADA, RING) == BellRung(mark=MARK)


def unreadable(agent: Agent) -> None:
    agent.sign = Sign.UNKNOWN


def draft(agent: Agent) -> None:
    agent.box = "a person's words"


@pytest.mark.parametrize(
    ("cause", "obstacle"),
    [
        *OBSTACLES,
        (busy, Obstacle.BUSY),
        (unreadable, Obstacle.NO_BOX),
        (draft, Obstacle.DRAFT),
    ],
)
async def test_nothing_is_pasted_past_an_obstacle(
    desk: Desk, cause: Callable[[Agent], None], obstacle: Obstacle
) -> None:
    """Each has its name, and the pane stays untouched."""
    cause(desk.agent)

    refused = await desk.typist.paste(ADA, PASTE)

    assert isinstance(refused, TypingRefused)
    assert refused.obstacle is obstacle
    assert desk.world.calls == []


async def test_of_several_obstacles_the_deepest_is_named(desk: Desk) -> None:
    """A dead agent's dialog is not worth answering."""
    draft(desk.agent)
    for cause, obstacle in reversed(OBSTACLES):
        cause(desk.agent)
        refused = await desk.typist.paste(ADA, PASTE)
        assert isinstance(refused, TypingRefused)
        assert refused.obstacle is obstacle


async def test_a_reused_pid_is_not_the_agent(desk: Desk) -> None:
    """The process with ada's number started at another time: she is gone."""
    desk.session = replace(desk.session, pane=replace(desk.agent.pane, started=6))

    assert await desk.typist.paste(ADA, PASTE) == no(Obstacle.AGENT_GONE)


async def test_copy_mode_is_left_before_pasting(desk: Desk) -> None:
    """A person scrolled up; the text goes to the agent, not to copy mode."""
    desk.agent.in_mode = True

    assert await desk.typist.paste(ADA, PASTE) == TextPasted(mark=MARK)
    assert desk.agent.box == TEXT


async def test_a_paste_nobody_waits_for_any_more_is_not_made(desk: Desk) -> None:
    """ada reported the message, or another try began: the old effect does nothing."""
    desk.session = replace(desk.session, attempt=None)

    assert await desk.typist.paste(ADA, PASTE) == no(Obstacle.PANE_GONE)
    assert desk.world.calls == []


@pytest.mark.parametrize("effect", [PASTE, ENTER, INTERRUPT])
async def test_a_silent_tmux_is_unreachable_not_gone(desk: Desk, effect: object) -> None:
    """Nothing is known, and that is what is said."""
    if effect is INTERRUPT:
        desk.prompted()
    desk.world.silent = True

    assert await outcome(desk, effect) == no(Obstacle.UNREACHABLE)


async def outcome(desk: Desk, effect: object) -> Event:
    match effect:
        case PasteText():
            return await desk.typist.paste(ADA, effect)
        case PressEnter():
            return await desk.typist.enter(ADA, effect)
        case InterruptTurn():
            return await desk.typist.interrupt(ADA, effect)
        case _:
            raise AssertionError(effect)


# --- Enter ---------------------------------------------------------------------------------


async def test_enter_is_pressed_when_the_text_stands_in_the_box(desk: Desk) -> None:
    """The model gets exactly what was sent."""
    await desk.typist.paste(ADA, PASTE)

    assert await desk.typist.enter(ADA, ENTER) == EnterPressed(mark=MARK, evidence="Enter 1")
    assert desk.agent.got == [TEXT]


async def test_enter_waits_until_the_text_is_shown(desk: Desk) -> None:
    """A slow agent draws its box a second later; the Enter comes after that."""
    pressing = asyncio.create_task(desk.typist.enter(ADA, ENTER))
    await asyncio.sleep(1)
    assert desk.world.calls == []

    desk.agent.box = TEXT
    await pressing
    assert desk.agent.got == [TEXT]


async def test_text_that_never_appears_gets_no_enter(desk: Desk) -> None:
    """The box was cleared: after a while it is said that the text is not there."""
    before = asyncio.get_running_loop().time()

    assert await desk.typist.enter(ADA, ENTER) == no(Obstacle.NOT_SHOWN)
    assert asyncio.get_running_loop().time() - before == pytest.approx(SHOWN_WITHIN)


async def test_text_seen_at_one_look_only_gets_no_enter(desk: Desk) -> None:
    """The agent may still be taking the paste in; an Enter in the same read is swallowed."""
    pressing = asyncio.create_task(desk.typist.enter(ADA, ENTER))
    await asyncio.sleep(1.5 * LOOK_EVERY)
    desk.agent.box = TEXT
    await asyncio.sleep(LOOK_EVERY)
    desk.agent.box = ""

    assert await pressing == no(Obstacle.NOT_SHOWN)


async def test_a_persons_words_beside_the_message_get_no_enter(desk: Desk) -> None:
    """Whoever typed there decides what becomes of it."""
    desk.agent.box = TEXT + "a person's words"

    assert await desk.typist.enter(ADA, ENTER) == no(Obstacle.NOT_SHOWN)
    assert desk.agent.got == []


@pytest.mark.parametrize(("cause", "obstacle"), [*OBSTACLES, (busy, Obstacle.BUSY)])
async def test_no_enter_is_pressed_past_an_obstacle(
    desk: Desk, cause: Callable[[Agent], None], obstacle: Obstacle
) -> None:
    """An Enter into a dialog approves a tool; into a shell it runs the text."""
    desk.agent.box = TEXT
    cause(desk.agent)

    assert await desk.typist.enter(ADA, ENTER) == no(obstacle)
    assert desk.world.calls == []


async def test_an_enter_asked_for_again_is_recognised(desk: Desk) -> None:
    """It was pressed and swallowed; the same one is not pressed twice, the next one is."""
    desk.agent.box, desk.agent.swallows = TEXT, 1
    await desk.typist.enter(ADA, ENTER)

    again = await desk.typist.enter(ADA, ENTER)
    assert again == EnterPressed(mark=MARK, evidence="Enter was already pressed")
    assert desk.agent.got == []
    await desk.typist.enter(ADA, replace(ENTER, number=2))
    assert desk.agent.got == [TEXT]


async def test_an_enter_for_a_message_already_reported_is_not_pressed(desk: Desk) -> None:
    """A person was faster."""
    desk.session = replace(desk.session, attempt=None)

    done = await desk.typist.enter(ADA, ENTER)

    assert done == EnterPressed(mark=MARK, evidence="the agent already reported it")
    assert desk.world.calls == []


async def test_an_agent_whose_box_cannot_be_read_gets_enter_after_a_moment(desk: Desk) -> None:
    """A generic program: whatever its screen shows."""
    desk.session = replace(desk.session, agent=GENERIC.agent, proves=False, pane=desk.agent.pane)
    desk.agent.box = TEXT

    await desk.typist.enter(ADA, ENTER)
    assert desk.agent.got == [TEXT]


# --- Escape --------------------------------------------------------------------------------


async def test_a_running_turn_is_interrupted_once(desk: Desk) -> None:
    """Asked for again, the Escape is recognised by its mark: a second one opens a menu."""
    desk.prompted()
    desk.agent.shown = True

    for _ in range(2):
        assert await desk.typist.interrupt(ADA, INTERRUPT) == TurnInterrupted(mark=MARK)
    assert desk.world.calls == [f"Escape {MARK}"]


@pytest.mark.parametrize(
    ("cause", "obstacle"),
    [*OBSTACLES, (draft, Obstacle.TURN_OVER), (lambda _: None, Obstacle.TURN_OVER)],
)
async def test_escape_is_pressed_into_nothing_but_a_running_turn(
    desk: Desk, cause: Callable[[Agent], None], obstacle: Obstacle
) -> None:
    """At an idle prompt or in a dialog it means something else."""
    desk.prompted()
    desk.agent.sign = Sign.PROMPT
    cause(desk.agent)

    assert await desk.typist.interrupt(ADA, INTERRUPT) == no(obstacle)
    assert desk.world.calls == []


@pytest.mark.parametrize("turn", [None, Turn(prompt=PromptId("P1"), started_at=NOON)])
async def test_another_turn_is_not_interrupted(desk: Desk, turn: Turn | None) -> None:
    """The turn that was to be interrupted is over; the next one has done nothing wrong."""
    desk.prompted()
    desk.session = replace(desk.session, turn=turn)

    assert await desk.typist.interrupt(ADA, INTERRUPT) == no(Obstacle.TURN_OVER)
    assert desk.world.calls == []


@pytest.mark.parametrize("effect", [PASTE, INTERRUPT])
async def test_without_a_pane_nothing_is_typed(desk: Desk, effect: object) -> None:
    """The agent is not launched yet."""
    desk.session = replace(desk.session, pane=None)

    assert await outcome(desk, effect) == no(Obstacle.PANE_GONE)


# --- seeking -------------------------------------------------------------------------------


def taken(agent: Agent) -> None:
    agent.give(TEXT)
    agent.box = TEXT


def in_the_box(agent: Agent) -> None:
    agent.box = TEXT


def in_the_box_while_busy(agent: Agent) -> None:
    agent.box, agent.sign = TEXT, Sign.BUSY


@pytest.mark.parametrize(
    ("cause", "place", "evidence"),
    [
        (taken, Place.TRANSCRIPT, "it is in the agent's own transcript, given by paste"),
        (in_the_box, Place.BOX, "it stands in the prompt box"),
        (in_the_box_while_busy, Place.BOX, "it stands in the prompt box"),
        (lambda _: None, Place.NOWHERE, "the prompt box is empty"),
        (draft, Place.NOWHERE, "the prompt box holds other text"),
        (dead, Place.NOWHERE, "the agent's process has ended"),
        (gone, Place.NOWHERE, "the agent's process has ended"),
        (dialog, Place.CANNOT_LOOK, "the screen shows: dialog"),
        (busy, Place.CANNOT_LOOK, "the screen shows: busy"),
        (unreadable, Place.CANNOT_LOOK, "the screen shows: unknown"),
    ],
)
async def test_a_message_is_looked_for_in_the_record_then_in_the_box(
    desk: Desk, cause: Callable[[Agent], None], place: Place, evidence: str
) -> None:
    """Nowhere is said only of a prompt one can see, or of an agent that is no more."""
    cause(desk.agent)
    await asyncio.sleep(1)

    sought = await desk.typist.seek(ADA, SEEK)

    assert sought == MessageSought(mark=MARK, place=place, evidence=evidence)


async def test_a_silent_tmux_hides_the_box_but_not_the_record(desk: Desk) -> None:
    """The transcript is a file; it is asked first."""
    desk.world.silent = True
    sought = await desk.typist.seek(ADA, SEEK)
    assert sought == MessageSought(
        mark=MARK, place=Place.CANNOT_LOOK, evidence="tmux cannot be reached"
    )

    desk.agent.give(TEXT)
    await asyncio.sleep(1)
    sought = await desk.typist.seek(ADA, SEEK)
    assert isinstance(sought, MessageSought)
    assert sought.place is Place.TRANSCRIPT


async def test_a_dead_agents_box_is_not_asked_for(desk: Desk) -> None:
    """The whole tmux server died with ada: her record is all there is, and it is enough."""
    desk.world.silent = True
    dead(desk.agent)

    sought = await desk.typist.seek(ADA, SEEK)

    assert sought == MessageSought(
        mark=MARK, place=Place.NOWHERE, evidence="the agent's process has ended"
    )


@pytest.mark.parametrize("cause", [lambda _: None, dead, gone])
async def test_without_a_transcript_an_empty_box_proves_nothing(
    desk: Desk, cause: Callable[[Agent], None]
) -> None:
    """ada may have taken the message: as long as her record is not known, it is not lost."""
    desk.session = replace(desk.session, context=Context())
    cause(desk.agent)
    await asyncio.sleep(1)

    sought = await desk.typist.seek(ADA, SEEK)

    assert isinstance(sought, MessageSought)
    assert sought.place is Place.CANNOT_LOOK


async def test_a_dead_agent_without_any_record_has_lost_the_message(desk: Desk) -> None:
    """A generic agent keeps none: there is nothing more to be learnt."""
    desk.session = replace(desk.session, context=Context(), proves=False, agent="cat")
    dead(desk.agent)

    sought = await desk.typist.seek(ADA, SEEK)

    assert isinstance(sought, MessageSought)
    assert sought.place is Place.NOWHERE


# --- what the agent says of itself ---------------------------------------------------------


async def test_a_dialog_that_only_the_agent_tells_of_is_not_typed_into(desk: Desk) -> None:
    """Its screen may show a box all the same: an Enter would approve a tool."""
    desk.agent.waits, desk.agent.sign = True, Sign.DIALOG
    desk.agent.drawn = Sign.PROMPT

    assert await desk.typist.paste(ADA, PASTE) == no(Obstacle.DIALOG)
    assert desk.world.calls == []


# --- a draft put aside ---------------------------------------------------------------------

DRAFT = "a person's words"
STASH = replace(PASTE, stash=DRAFT)


async def test_a_draft_is_put_aside_and_comes_back(desk: Desk) -> None:
    desk.agent.box = "a person's words"

    assert await desk.typist.paste(ADA, STASH) == TextPasted(mark=MARK)
    assert await desk.typist.enter(ADA, ENTER) == EnterPressed(mark=MARK, evidence="Enter 1")

    assert (desk.agent.got, desk.agent.box) == ([TEXT], "a person's words")
    assert desk.agent.wrongs == []


async def test_a_draft_is_left_alone_unless_that_was_asked_for(desk: Desk) -> None:
    desk.agent.box = DRAFT

    refused = TypingRefused(mark=MARK, obstacle=Obstacle.DRAFT, draft=DRAFT)
    assert await desk.typist.paste(ADA, PASTE) == refused
    assert desk.world.calls == []


async def test_a_draft_that_is_being_typed_is_left_alone(desk: Desk) -> None:
    """It is not what it was at the last try."""
    desk.agent.box = f"{DRAFT} and more"

    refused = await desk.typist.paste(ADA, STASH)

    assert refused == TypingRefused(mark=MARK, obstacle=Obstacle.DRAFT, draft=f"{DRAFT} and more")
    assert desk.agent.box == f"{DRAFT} and more"


# --- the bell ------------------------------------------------------------------------------


async def test_a_note_in_its_envelope_is_left_once(desk: Desk) -> None:
    """The daemon died after it, and the agent took it: it is not written again."""
    desk.at(Step.RINGING)
    assert await desk.typist.ring(ADA, RING) == BellRung(mark=MARK)
    assert desk.inbox.take(ADA, MARK) == TEXT

    assert await desk.typist.ring(ADA, RING) == BellRung(mark=MARK)
    assert desk.inbox.look(ADA, MARK) is NoteState.TAKEN


async def test_a_note_for_a_message_that_is_no_longer_in_hand_is_not_left(desk: Desk) -> None:
    desk.session = replace(desk.session, attempt=None)

    assert await desk.typist.ring(ADA, RING) == no(Obstacle.TURN_OVER)
    assert desk.inbox.look(ADA, MARK) is NoteState.NEVER


async def sought(desk: Desk) -> Place:
    found = await desk.typist.seek(ADA, SEEK)
    assert isinstance(found, MessageSought)
    return found.place


async def test_a_note_that_nobody_took_is_taken_back(desk: Desk) -> None:
    """And found so again, should the daemon die before it is noted down."""
    desk.at(Step.RUNG)
    desk.inbox.leave(ADA, MARK, TEXT)

    assert await sought(desk) is Place.WITHDRAWN
    assert desk.inbox.look(ADA, MARK) is NoteState.WITHDRAWN
    assert await sought(desk) is Place.WITHDRAWN


async def test_a_note_that_was_taken_is_waited_for_while_its_agent_lives(desk: Desk) -> None:
    desk.at(Step.RUNG)
    desk.inbox.leave(ADA, MARK, TEXT)
    desk.inbox.take(ADA, MARK)
    assert await sought(desk) is Place.CANNOT_LOOK

    desk.agent.die()
    assert await sought(desk) is Place.NOWHERE


async def test_a_note_the_model_was_given_is_found_in_the_record(desk: Desk) -> None:
    """A moment after it was given; also when its agent died since."""
    desk.at(Step.RUNG)
    desk.inbox.leave(ADA, MARK, TEXT)
    desk.agent.take_note(desk.inbox.take(ADA, MARK))
    desk.agent.read_note()
    assert await sought(desk) is Place.CANNOT_LOOK

    await asyncio.sleep(1)
    desk.agent.die()
    assert await sought(desk) is Place.TRANSCRIPT


# --- answers -------------------------------------------------------------------------------


def answered(desk: Desk, **changes: Any) -> None:
    """HELLO was the answer to a report of a turn that runs."""
    desk.at(Step.REPLIED, prompt=PromptId("P0"), **changes)
    desk.session = replace(desk.session, turn=Turn(prompt=PromptId("P0"), started_at=NOON))


async def test_an_answer_is_looked_for_in_every_record_since(desk: Desk) -> None:
    """Two contexts were begun since; it stands in the one between."""
    answered(desk, transcripts=("/transcripts/ada", "/transcripts/ada.2"))
    desk.agent.contexts = 2
    desk.agent.give(TEXT)
    desk.session = replace(desk.session, context=Context(transcript="/transcripts/ada.3"))
    await asyncio.sleep(1)

    assert await sought(desk) is Place.TRANSCRIPT


async def test_an_answer_that_is_not_recorded_yet_is_waited_for(desk: Desk) -> None:
    answered(desk)

    assert await sought(desk) is Place.CANNOT_LOOK


async def test_an_answer_of_a_turn_that_is_over_is_nowhere(desk: Desk) -> None:
    answered(desk)
    desk.session = replace(desk.session, turn=None)
    assert await sought(desk) is Place.NOWHERE

    desk.session = replace(desk.session, turn=Turn(prompt=PromptId("P1"), started_at=NOON))
    assert await sought(desk) is Place.NOWHERE


async def test_an_answer_the_model_was_asked_again_without_is_nowhere(desk: Desk) -> None:
    """Its tool has ended, and the model called another one since."""
    desk.agent.waits = True
    desk.agent.use_tool()
    answered(desk, tool_use=desk.agent.running[0])
    await asyncio.sleep(1)
    assert await sought(desk) is Place.CANNOT_LOOK

    desk.agent.end_tool()
    desk.agent.lose_patience()
    desk.agent.use_tool()
    await asyncio.sleep(1)
    assert await sought(desk) is Place.NOWHERE


async def test_an_answer_that_died_with_its_agent_is_nowhere(desk: Desk) -> None:
    answered(desk)
    desk.agent.die()

    assert await sought(desk) is Place.NOWHERE


async def test_without_a_record_nothing_is_ever_called_lost(desk: Desk) -> None:
    """The agent keeps one, and we do not know which."""
    answered(desk)
    desk.session = replace(desk.session, context=Context())
    desk.agent.die()

    assert await sought(desk) is Place.CANNOT_LOOK
