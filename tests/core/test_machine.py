"""Every message arrives exactly once, whatever the agent, the person, tmux and the daemon do.

The core and the real typist run against a simulated tmux and agent. Hooks come late, twice and
out of order; Enters are swallowed; a person types, clears, answers and interrupts; tmux falls
silent; the daemon dies between doing something and noting it down.
"""

import os
from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sm.core import envelope
from sm.core.delivery import MISSES_ALLOWED
from sm.core.effects import (
    CheckPane,
    Effect,
    InterruptTurn,
    PasteText,
    PressEnter,
    ReadUsage,
    RingBell,
    SeekMessage,
)
from sm.core.events import (
    AgentStarted,
    DaemonStarted,
    Event,
    HookEvent,
    MessageCancelled,
    MessageQueued,
    ScreenSeen,
    SessionRequested,
    TimerFired,
)
from sm.core.ids import ContextId, MessageId, SessionId
from sm.core.message import Message, MessageState, Mode
from sm.core.session import advance, create
from sm.core.state import Session
from sm.core.terminal import Screen, Sign
from sm.engine.launcher import Launcher
from sm.engine.reader import Reader
from sm.engine.typist import Typist
from sm.engine.watch import WATCHED
from tests.engine.timelapse import NOON, TimelapseLoop
from tests.engine.world import Agent, Inboxes, NoFolders, ProcessTable, ScriptedDialects, World

ADA = SessionId("ada")
DRAFT = "a person's words"
TAKEN = (MessageState.ACCEPTED, MessageState.DONE)
MODES = st.lists(st.sampled_from(Mode), max_size=3)
MOMENT = 0.05
"""Nothing in this world happens at the same instant as something else."""


class MachineClock:
    """The machine's own time."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now


class Exchange(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.time = NOON
        self.world = World(lambda: self.time)
        self.agent: Agent = self.world.add(ADA)
        self.loop = TimelapseLoop()
        processes = ProcessTable(self.world)
        self.inbox = Inboxes()
        self.typist = Typist(
            self.world, ScriptedDialects(self.world), processes, self.inbox, self.committed
        )
        self.reader = Reader(ScriptedDialects(self.world), MachineClock(lambda: self.time))
        self.launcher = Launcher(self.world, processes, NoFolders(), ScriptedDialects(self.world))
        self.pending: list[Effect] = []
        self.told: list[HookEvent] = []
        self.sent: dict[MessageId, Message] = {}
        """Every message, as it was last seen."""
        self.mortal = False
        asked = SessionRequested(
            id=ADA, name="ada", agent="scripted", arguments=(), cwd="/", parent=None,
            proves=True, context=ContextId("context of ada"),
        )  # fmt: skip
        self.session: Session = create(asked, self.time)[0]
        self.post(AgentStarted(pane=self.agent.pane))
        self.agent.start()

    # --- the engine: commits, and effects that outlive it --------------------------------

    def committed(self, _: SessionId) -> Session:
        return self.session

    def post(self, event: Event) -> None:
        self.time += MOMENT
        self.session, asked = advance(self.session, event, self.time)
        self.pending += asked
        self.sent |= {message.id: message for message in self.session.messages}

    async def outcome(self, effect: Effect) -> Event:
        match effect:
            case PasteText():
                return await self.typist.paste(ADA, effect)
            case PressEnter():
                return await self.typist.enter(ADA, effect)
            case SeekMessage():
                return await self.typist.seek(ADA, effect)
            case InterruptTurn():
                return await self.typist.interrupt(ADA, effect)
            case CheckPane():
                return await self.launcher.check(self.session)
            case ReadUsage():
                return await self.reader.usage(self.session)
            case RingBell():
                return await self.typist.ring(ADA, effect)
            case _:
                raise AssertionError(f"nobody asked for {effect}")

    def carry_out(self) -> Event:
        self.time += MOMENT
        return self.loop.run_until_complete(self.outcome(self.pending[0]))

    # --- what may happen -----------------------------------------------------------------

    @initialize(mortal=st.sampled_from([False, False, False, True]), told=st.booleans(), sent=MODES)
    def begin(self, mortal: bool, told: bool, sent: list[Mode]) -> None:
        self.mortal = mortal
        if told:
            self.a_hook_arrives(0)
        else:
            self.the_watch_looks()
        for mode in sent:
            self.send(mode)

    @rule(mode=st.sampled_from(Mode))
    def send(self, mode: Mode) -> None:
        message_id = MessageId(f"{len(self.sent) + 1:012x}")
        self.post(
            MessageQueued(
                message=Message(
                    id=message_id, to=ADA, sender_name="you", text=f"text of {message_id}",
                    mode=mode, queued_at=self.time,
                )
            )
        )  # fmt: skip

    @precondition(lambda self: len(self.session.messages) > 2)
    @rule(back=st.integers(1, 3))
    def cancel(self, back: int) -> None:
        self.post(MessageCancelled(message=list(self.sent)[-min(back, len(self.sent))]))

    @precondition(lambda self: self.agent.hooks)
    @rule(at=st.sampled_from([0, 0, 0, 1, 2, 3]))
    def a_hook_arrives(self, at: int) -> None:
        hook = self.agent.hooks.pop(min(at, len(self.agent.hooks) - 1))
        self.told.append(hook)
        self.post(hook)

    @precondition(lambda self: self.told)
    @rule(back=st.integers(1, 4))
    def a_hook_arrives_again(self, back: int) -> None:
        self.post(self.told[-min(back, len(self.told))])

    @precondition(lambda self: self.pending)
    @rule(times=st.sampled_from([1, 2, 2, 3]))
    def effects_run(self, times: int) -> None:
        for _ in range(times):
            if self.pending:
                outcome = self.carry_out()
                self.pending.pop(0)
                self.post(outcome)

    @rule()
    def they_are_left_in_peace(self) -> None:
        """Nobody disturbs: what was begun is carried on."""
        self.undisturbed()
        self.one_quiet_round(2.1)

    @rule()
    def they_go_on_unheard(self) -> None:
        """The same, but no hook gets through."""
        self.undisturbed()
        self.effects_run(3)
        self.time_passes(2.1)

    def undisturbed(self) -> None:
        if self.is_(Sign.DIALOG):
            self.agent.answer()
        self.agent.box = self.agent.box.replace(DRAFT, "")

    @precondition(lambda self: self.pending)
    @rule(how=st.sampled_from(["after", "after", "before"]))
    def tmux_falls_silent(self, how: str) -> None:
        """One call is not answered, carried out or not."""
        self.world.hang = how
        self.effects_run(1)
        self.world.hang = None

    @precondition(lambda self: self.pending)
    @rule()
    def the_daemon_dies_after_an_effect(self) -> None:
        """Done, but the outcome was never committed: it is asked for again."""
        self.carry_out()
        self.post(DaemonStarted(version="1"))

    @rule(seconds=st.sampled_from([0.6, 2.1, 16.0]))
    def time_passes(self, seconds: float) -> None:
        self.time += seconds
        for timer in self.session.timers:
            if timer.due <= self.time:
                self.post(TimerFired(key=timer.key))

    @precondition(lambda self: self.session.attempt is not None)
    @rule()
    def hooks_are_late_for_long(self) -> None:
        """Everything goes on, only the agent is not heard."""
        for _ in range(MISSES_ALLOWED + 1):
            self.effects_run(3)
            self.time_passes(4.1)

    @precondition(lambda self: self.session.alive and self.session.state in WATCHED)
    @rule()
    def the_watch_looks(self) -> None:
        if self.agent.dead:
            self.post(self.loop.run_until_complete(self.launcher.check(self.session)))
        else:
            screen = Screen(sign=self.agent.sign, draft=self.agent.box, has_box=True)
            self.post(ScreenSeen(screen=screen))

    # --- the agent and the person --------------------------------------------------------

    def is_(self, sign: Sign) -> bool:
        return self.agent.sign is sign and not self.agent.dead

    @precondition(lambda self: self.is_(Sign.BUSY))
    @rule(how=st.sampled_from(["tool", "tool", "stop", "stop", "fail", "silently", "ask"]))
    def the_agent_goes_on(self, how: str) -> None:
        self.time += MOMENT
        match how:
            case "tool":
                self.agent.use_tool()
            case "stop":
                self.agent.finish()
            case "fail":
                self.agent.fail()
            case "ask":
                self.agent.ask()
            case _:
                self.agent.sign = Sign.PROMPT

    @precondition(lambda self: self.is_(Sign.PROMPT) and self.session.attempt is not None)
    @rule()
    def a_dialog_opens(self) -> None:
        self.agent.ask()

    @precondition(lambda self: self.is_(Sign.PROMPT) and not self.agent.swallows)
    @rule(times=st.sampled_from([1, 1, 4]))
    def enters_will_be_swallowed(self, times: int) -> None:
        self.agent.swallows = times

    @precondition(lambda self: self.mortal and self.agent.turns > 1 and not self.agent.dead)
    @rule(noticed=st.booleans())
    def the_agent_dies(self, noticed: bool) -> None:
        self.agent.die()
        if noticed:
            self.post(self.loop.run_until_complete(self.launcher.check(self.session)))

    @precondition(lambda self: self.is_(Sign.DIALOG))
    @rule()
    def a_person_answers(self) -> None:
        self.agent.answer()

    @precondition(lambda self: not self.is_(Sign.DIALOG) and DRAFT not in self.agent.box)
    @rule()
    def a_person_types(self) -> None:
        self.agent.box += DRAFT

    @precondition(lambda self: self.agent.box and not self.is_(Sign.DIALOG))
    @rule()
    def a_person_clears_the_box(self) -> None:
        self.agent.box = ""

    @precondition(lambda self: self.is_(Sign.PROMPT) and self.agent.box)
    @rule()
    def a_person_presses_enter(self) -> None:
        """Whatever stands there: a message with their own words beside it has arrived, too."""
        self.time += MOMENT
        self.agent.submit()

    # --- what must hold ------------------------------------------------------------------

    @invariant()
    def nothing_is_typed_where_it_must_not_be(self) -> None:
        assert self.agent.wrongs == []

    @invariant()
    def every_message_arrives_at_most_once_and_whole(self) -> None:
        received = self.agent.received
        assert len(received) == len(set(received)), received
        texts = [envelope.unwrap(prompt) for prompt in self.agent.got]
        assert [text for text in texts if text] == [f"text of {m}" for m in received]

    @invariant()
    def messages_of_one_mode_keep_their_order(self) -> None:
        for mode in Mode:
            arrived = [m for m in self.agent.received if self.sent[m].mode is mode]
            assert arrived == sorted(arrived)

    @invariant()
    def what_is_claimed_is_true(self) -> None:
        received = set(self.agent.received)
        for message in self.sent.values():
            if message.state in TAKEN:
                assert message.id in received, message
            if message.state is MessageState.CANCELLED:
                assert message.id not in received, message

    def teardown(self) -> None:
        """Leave them in peace, and everything comes to its end."""
        try:
            self.settle()
            self.every_message_has_come_to_its_end()
            self.nothing_is_typed_where_it_must_not_be()
            self.every_message_arrives_at_most_once_and_whole()
            self.messages_of_one_mode_keep_their_order()
            self.what_is_claimed_is_true()
        finally:
            self.loop.close()

    def every_message_has_come_to_its_end(self) -> None:
        """Done or withdrawn; of a dead agent's, what it never took is kept for another one."""
        received = set(self.agent.received)
        for message in self.sent.values():
            ends = {MessageState.DONE, MessageState.CANCELLED}
            if self.agent.dead:
                ends |= {MessageState.REFUSED}
            if self.agent.dead and message.id not in received:
                ends |= {MessageState.QUEUED}
                ends -= {MessageState.DONE}
            assert message.state in ends, message

    def settle(self) -> None:
        self.agent.swallows, self.world.hang = 0, None
        if self.is_(Sign.DIALOG):
            self.agent.answer()
        self.agent.box = ""
        for _ in range(40 + 15 * len(self.sent)):
            self.one_quiet_round(16.0)
            if not any(m.is_open for m in self.sent.values()) and not self.pending:
                return

    def one_quiet_round(self, seconds: float) -> None:
        while self.agent.hooks:
            self.a_hook_arrives(0)
        while self.pending:
            self.effects_run(1)
        if self.is_(Sign.BUSY) and not self.agent.hooks:
            self.the_agent_goes_on("stop")
        if self.session.alive and (self.agent.dead or self.session.state in WATCHED):
            self.the_watch_looks()
        self.time_passes(seconds)


_PROVING = os.environ.get("HYPOTHESIS_PROFILE") == "prove"
Exchange.TestCase.settings = settings(
    max_examples=20_000 if _PROVING else 600, stateful_step_count=80 if _PROVING else 50
)
TestExchange = pytest.mark.timeout(3600 if _PROVING else 120)(Exchange.TestCase)
