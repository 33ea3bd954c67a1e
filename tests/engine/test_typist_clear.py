"""The command for a fresh context, and the first prompt there: typed once, and nowhere else."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from sm.core import envelope
from sm.core.effects import ClearContext, EraseCommand, PasteText, PressEnter
from sm.core.events import (
    ClearRefused,
    ClearTyped,
    CommandErased,
    EnterPressed,
    Event,
    TextPasted,
    TypingRefused,
)
from sm.core.ids import PromptId, SessionId
from sm.core.passage import HandoffState
from sm.core.state import Context, Session, Turn
from sm.core.terminal import Obstacle, Sign, View
from sm.engine.ports import Dialect
from sm.engine.typist import DRAWN_WITHIN, SHOWN_WITHIN, Typist
from tests.core.samples import ADA, CLEAR_MARK, CLEARING, NOON, PROMPTING, passing, wake
from tests.engine.agent import PASTED, Agent
from tests.engine.dialects import ScriptedDialect, ScriptedDialects
from tests.engine.folders import Inboxes
from tests.engine.obstacles import (
    OBSTACLES,
    busy,
)
from tests.engine.timelapse import LoopClock
from tests.engine.world import ProcessTable, World

CLEAR = ClearContext(mark=CLEAR_MARK, number=1)
AGAIN = ClearContext(mark=CLEAR_MARK, number=2)
TYPED = ClearTyped(mark=CLEAR_MARK, evidence="/clear, Enter 1")


class SlowDialect(ScriptedDialect):
    """Its agent draws a new context to its end only after a while."""

    def is_fresh(self, view: View) -> bool:
        return asyncio.get_running_loop().time() >= 0.5


class SlowDialects(ScriptedDialects):
    def named(self, agent: str) -> Dialect:
        return SlowDialect(self.world, agent, proves=True)


class Desk:
    """ada about to clear her context, and the typist in front of her."""

    def __init__(self, session: Session = CLEARING) -> None:
        self.world = World(LoopClock().now)
        self.agent: Agent = self.world.add(ADA)
        self.agent.waits = True
        context = Context(id=self.agent.context, transcript=self.agent.transcript)
        self.session = replace(session, agent="scripted", pane=self.agent.pane, context=context)
        self.dialects = ScriptedDialects(self.world)
        self.looks: list[Callable[[], None]] = []
        """What happens at the next times the session is asked for."""

    @property
    def typist(self) -> Typist:
        processes = ProcessTable(self.world)
        inbox, clock = Inboxes(), LoopClock()
        return Typist(self.world, self.dialects, processes, inbox, self.current, clock)

    def current(self, _: SessionId) -> Session:
        if self.looks:
            self.looks.pop(0)()
        return self.session

    async def clear(self, effect: ClearContext = CLEAR) -> Event:
        return await self.typist.clear(ADA, effect)

    def moves_to(self, state: HandoffState) -> None:
        self.session = replace(
            self.session, handoffs=(replace(passing(self.session), state=state),)
        )

    def prompted(self) -> None:
        self.session = replace(self.session, turn=Turn(prompt=PromptId("P1"), started_at=NOON))


@pytest.fixture
async def desk() -> Desk:
    return Desk()


def no(obstacle: Obstacle, draft: str = "") -> ClearRefused:
    return ClearRefused(mark=CLEAR_MARK, obstacle=obstacle, draft=draft)


# --- the command ---------------------------------------------------------------------------


async def test_the_command_is_typed_seen_and_sent_off(desk: Desk) -> None:
    assert await desk.clear() == TYPED

    assert (desk.agent.contexts, desk.agent.box, desk.agent.wrongs) == (2, "", [])
    assert desk.world.calls == [f"paste {CLEAR_MARK}", f"Enter {CLEAR_MARK}.1"]


async def test_a_clear_asked_for_again_is_recognised(desk: Desk) -> None:
    """The daemon died after it: the marks beside the pane say how far it came."""
    desk.agent.waits = False
    await desk.clear()
    assert await desk.clear() == ClearTyped(mark=CLEAR_MARK, evidence="Enter was already pressed")

    assert desk.agent.contexts == 2


async def test_a_command_that_was_pasted_before_a_crash_is_only_sent_off(desk: Desk) -> None:
    desk.agent.paste(CLEAR_MARK, "/clear")

    assert await desk.clear() == TYPED
    assert desk.world.calls == [f"Enter {CLEAR_MARK}.1"]


async def test_an_agent_that_says_it_has_another_context_is_not_cleared_again(desk: Desk) -> None:
    """Its report may be late; its own state file is proof enough."""
    desk.agent.clear()

    outcome = await desk.clear(AGAIN)

    assert isinstance(outcome, ClearTyped)
    assert outcome.status is not None
    assert outcome.status.context == desk.agent.context
    assert desk.world.calls == []


def unreadable(agent: Agent) -> None:
    agent.drawn = Sign.UNKNOWN
    agent.waits = False


@pytest.mark.parametrize(
    ("cause", "obstacle"),
    [
        *OBSTACLES,
        (busy, Obstacle.BUSY),
        (unreadable, Obstacle.NO_BOX),
    ],
)
async def test_no_command_is_typed_past_an_obstacle(
    desk: Desk, cause: Callable[[Agent], None], obstacle: Obstacle
) -> None:
    cause(desk.agent)

    assert await desk.clear() == no(obstacle)
    assert (desk.world.calls, desk.agent.box, desk.agent.wrongs) == ([], "", [])


async def test_a_silent_tmux_is_said_to_be_silent(desk: Desk) -> None:
    desk.world.silent = True
    assert await desk.clear() == no(Obstacle.UNREACHABLE)

    desk.world.silent, desk.world.hang = False, "after"
    desk.agent.paste(CLEAR_MARK, "/clear")
    desk.agent.waits = False
    assert await desk.clear() == no(Obstacle.UNREACHABLE)
    assert isinstance(await desk.clear(), ClearTyped), "it was carried out all the same"
    assert desk.agent.contexts == 2


async def test_a_screen_that_is_just_being_drawn_is_waited_for(desk: Desk) -> None:
    """ada reported her turn's end a moment before her box shows it."""
    busy(desk.agent)
    loop = asyncio.get_running_loop()
    loop.call_later(DRAWN_WITHIN / 2, desk.agent.rest)

    assert await desk.clear() == TYPED
    assert desk.agent.wrongs == []


# --- a person's draft ----------------------------------------------------------------------


async def test_a_draft_is_told_and_left_alone(desk: Desk) -> None:
    desk.agent.box = "buy milk"

    assert await desk.clear() == no(Obstacle.DRAFT, "buy milk")
    assert (desk.agent.box, desk.world.calls) == ("buy milk", [])


async def test_a_draft_that_still_stands_there_is_put_aside_and_comes_back(desk: Desk) -> None:
    desk.agent.box = "buy milk"

    assert await desk.clear(replace(CLEAR, stash="buy milk")) == TYPED

    assert (desk.agent.box, desk.agent.contexts, desk.agent.wrongs) == ("buy milk", 2, [])


async def test_a_draft_that_somebody_goes_on_with_is_left_alone(desk: Desk) -> None:
    desk.agent.box = "buy milk and"

    outcome = await desk.clear(replace(CLEAR, stash="buy milk"))

    assert outcome == no(Obstacle.DRAFT, "buy milk and")
    assert desk.agent.box == "buy milk and"


async def test_an_agent_that_cannot_put_a_draft_aside_keeps_it(desk: Desk) -> None:
    class Stubborn(ScriptedDialects):
        def named(self, agent: str) -> Dialect:
            return ScriptedDialect(self.world, agent, proves=True, stash_key=None)

    desk.dialects = Stubborn(desk.world)
    desk.agent.box = "buy milk"

    outcome = await desk.clear(replace(CLEAR, stash="buy milk"))

    assert (outcome, desk.world.calls) == (no(Obstacle.DRAFT, "buy milk"), [])


# --- a swallowed Enter ---------------------------------------------------------------------


async def test_one_more_enter_is_pressed_where_the_command_still_stands(desk: Desk) -> None:
    desk.agent.swallows = 1
    assert await desk.clear() == TYPED
    assert (desk.agent.box, desk.agent.contexts) == ("/clear", 1)

    assert await desk.clear(AGAIN) == ClearTyped(mark=CLEAR_MARK, evidence="/clear, Enter 2")
    assert desk.agent.contexts == 2


async def test_no_enter_is_pressed_at_an_empty_box(desk: Desk) -> None:
    """The command is gone, and no new context is known of: it was swallowed."""
    desk.agent.marks[PASTED] = CLEAR_MARK

    assert await desk.clear(AGAIN) == no(Obstacle.NOT_SHOWN)
    assert desk.world.calls == []


async def test_a_command_that_never_shows_is_not_sent_off(desk: Desk) -> None:
    desk.agent.marks[PASTED] = CLEAR_MARK
    began = asyncio.get_running_loop().time()

    assert await desk.clear() == no(Obstacle.NOT_SHOWN)
    assert asyncio.get_running_loop().time() - began == pytest.approx(SHOWN_WITHIN, abs=0.1)


# --- meanwhile -----------------------------------------------------------------------------


async def test_for_a_handoff_that_is_over_nothing_is_typed(desk: Desk) -> None:
    for session in (
        replace(desk.session, handoffs=()),
        replace(desk.session, handoffs=(replace(passing(desk.session), tries=2),)),
        replace(desk.session, turn=Turn(prompt=None, started_at=NOON)),
        replace(desk.session, pane=None),
    ):
        desk.session = session
        assert await desk.clear() == no(Obstacle.TURN_OVER)
    assert desk.world.calls == []


async def test_a_context_reported_while_we_look_is_not_cleared(desk: Desk) -> None:
    """The command of an earlier try took effect."""
    desk.looks = [lambda: None, lambda: desk.moves_to(HandoffState.PROMPTING)]

    assert await desk.clear() == no(Obstacle.TURN_OVER)
    assert desk.world.calls == []


async def test_a_command_that_stands_in_the_box_is_sent_off_all_the_same(desk: Desk) -> None:
    """Left there, it would be in the way of the first prompt; a fresh context has no loss."""
    desk.agent.paste(CLEAR_MARK, "/clear")
    desk.moves_to(HandoffState.PROMPTING)

    assert await desk.clear() == TYPED
    assert desk.agent.box == ""


async def test_a_turn_that_begins_while_we_look_keeps_its_agent_from_enter(desk: Desk) -> None:
    desk.agent.paste(CLEAR_MARK, "/clear")
    desk.looks = [lambda: None, lambda: None, desk.prompted]

    assert await desk.clear() == no(Obstacle.TURN_OVER)
    assert desk.agent.contexts == 1


# --- the first prompt ----------------------------------------------------------------------

PASTE = PasteText(mark=f"{wake(PROMPTING).id}.1", message=wake(PROMPTING).id)
ENTER = PressEnter(mark=PASTE.mark, message=PASTE.message, number=1)


async def test_the_first_prompt_begins_with_its_own_words_and_proves_itself() -> None:
    desk = Desk(PROMPTING)

    assert await desk.typist.paste(ADA, PASTE) == TextPasted(mark=PASTE.mark)
    assert desk.agent.box == envelope.carry(wake(PROMPTING))
    assert await desk.typist.enter(ADA, ENTER) == EnterPressed(mark=PASTE.mark, evidence="Enter 1")
    assert desk.agent.received == [PASTE.message]


async def test_the_first_prompt_waits_until_the_context_is_drawn() -> None:
    """What is pasted while a client still draws is lost now and then."""
    desk = Desk(PROMPTING)
    desk.dialects = SlowDialects(desk.world)

    assert await desk.typist.paste(ADA, PASTE) == TextPasted(mark=PASTE.mark)
    assert asyncio.get_running_loop().time() == pytest.approx(0.5, abs=0.05)


async def test_a_screen_that_never_looks_fresh_holds_nothing_up_for_long() -> None:
    """A person typed, or another version draws otherwise: the usual rules decide."""

    class Odd(SlowDialects):
        def named(self, agent: str) -> Dialect:
            return NeverFresh(self.world, agent, proves=True)

    class NeverFresh(ScriptedDialect):
        def is_fresh(self, view: View) -> bool:
            return False

    desk = Desk(PROMPTING)
    desk.dialects = Odd(desk.world)
    desk.agent.box = "buy milk"

    outcome = await desk.typist.paste(ADA, PASTE)

    assert outcome == TypingRefused(mark=PASTE.mark, obstacle=Obstacle.DRAFT, draft="buy milk")
    assert asyncio.get_running_loop().time() == pytest.approx(DRAWN_WITHIN, abs=0.1)


@pytest.mark.parametrize("left", ["/clear", "/clear  [name]"])
async def test_what_is_left_of_our_own_command_is_erased_not_kept(left: str) -> None:
    """A person's Escape leaves it in the box; brought back later, an Enter there would clear."""
    desk = Desk(PROMPTING)
    desk.agent.box = left

    outcome = await desk.typist.paste(ADA, PASTE)

    assert outcome == TypingRefused(mark=PASTE.mark, obstacle=Obstacle.BUSY)
    assert (desk.agent.box, desk.agent.stash) == ("", "")
    assert await desk.typist.paste(ADA, PASTE) == TextPasted(mark=PASTE.mark)


async def test_nothing_is_erased_while_a_dialog_is_open() -> None:
    """A key would be an answer to it."""
    desk = Desk(PROMPTING)
    desk.agent.box, desk.agent.sign = "/clear", Sign.DIALOG

    outcome = await desk.typist.erase(ADA, EraseCommand(mark=CLEAR_MARK))

    assert outcome == CommandErased(mark=CLEAR_MARK, evidence="there was nothing to erase")
    assert desk.agent.box == "/clear"
    assert desk.agent.wrongs == []
