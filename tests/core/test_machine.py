"""Every message arrives exactly once, whatever the agent, the person, tmux and the daemon do.

The core and the real typist run against a simulated tmux and agent. Hooks come late, twice and
out of order; Enters are swallowed; a person types, clears, answers and interrupts; tmux falls
silent; the daemon dies between doing something and noting it down. The agent waits for answers
that are lost or come too late, takes notes and dies with them in hand, calls tools side by side,
writes its transcript a moment later and begins a new one.
"""

import os
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sm.core import envelope
from sm.core.crash import Manner
from sm.core.delivery import MISSES_ALLOWED
from sm.core.effects import (
    CheckPane,
    Effect,
    InterruptTurn,
    PasteText,
    PressEnter,
    ReadActivity,
    ReadUsage,
    RecoverAgent,
    RingBell,
    SeekMessage,
    TellPerson,
)
from sm.core.events import (
    AgentRecovered,
    AgentStarted,
    DaemonStarted,
    Event,
    MessageCancelled,
    MessageQueued,
    PersonTold,
    RecoveryRequested,
    ScreenSeen,
    SessionRequested,
    StatusSeen,
    TerminalLost,
    TimerFired,
)
from sm.core.ids import ContextId, MessageId, RecoveryId, SessionId
from sm.core.launch import PaneLaunch, TerminalUnreachableError
from sm.core.message import TYPING, Message, MessageState, Mode, Route, Way
from sm.core.reports import ContextStarted, HookEvent, ToolEnded, ToolStarted
from sm.core.session import advance, create
from sm.core.state import Attempt, Session
from sm.core.terminal import AgentStatus, Screen, Sign
from sm.engine.launcher import Launcher
from sm.engine.reader import Reader
from sm.engine.typist import Typist
from sm.engine.watch import SETTLED, WATCHED
from tests.engine.agent import Agent
from tests.engine.dialects import ScriptedDialects
from tests.engine.folders import Inboxes, NoFolders
from tests.engine.timelapse import NOON, TimelapseLoop
from tests.engine.world import ProcessTable, World

ADA = SessionId("ada")
DRAFT = "a person's words"
TAKEN = (MessageState.ACCEPTED, MessageState.DONE)
MODES = st.lists(st.sampled_from(Mode), max_size=3)
ALL = tuple(Way(route=route) for route in Route)
WAYS = (
    ALL,
    ALL,
    # Nothing fits through a tool result: urgent ones ring.
    (Way(route=Route.TOOL_RESULT, limit=9), *(w for w in ALL if w.route is not Route.TOOL_RESULT)),
    (Way(route=Route.STOP_REPLY), Way(route=Route.TOOL_RESULT), *TYPING),
    (Way(route=Route.DOORBELL), *TYPING),
    (Way(route=Route.DOORBELL), Way(route=Route.PASTE)),
    TYPING,
)
"""What the agent offers and the configuration leaves on."""
PATIENCE = 5.0
"""How long the agent waits for an answer."""
MOMENT = 0.05
"""Nothing in this world happens at the same instant as something else."""


def _comes_first(message: Message) -> bool:
    """What a new context, or an agent that was brought back, is told before anything else."""
    return message.handoff is not None or message.recovery is not None


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
            self.world, ScriptedDialects(self.world), processes, self.inbox, self.committed,
            MachineClock(lambda: self.time),
        )  # fmt: skip
        self.reader = Reader(ScriptedDialects(self.world), MachineClock(lambda: self.time))
        self.launcher = Launcher(
            self.world,
            processes,
            NoFolders(),
            ScriptedDialects(self.world),
            lambda _: None,
            MachineClock(lambda: self.time),
        )
        self.pending: list[Effect] = []
        self.told: list[HookEvent] = []
        self.sent: dict[MessageId, Message] = {}
        """Every message, as it was last seen."""
        self.mortal = False
        self.ways: tuple[Way, ...] = TYPING
        self.agent.waits = True
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
        before = self.session.attempt
        self.session, asked = advance(self.session, event, self.time)
        self.pending += asked
        self.nothing_is_begun_too_late(before)
        self.sent |= {message.id: message for message in self.session.messages}

    def nothing_is_begun_too_late(self, before: Attempt | None) -> None:
        """No timer is needed for that."""
        attempt = self.session.attempt
        message = self.session.message(attempt.message) if attempt is not None else None
        is_new = attempt is not None and (before is None or before.mark != attempt.mark)
        if is_new and message is not None and message.expires_at is not None:
            assert self.time < message.expires_at, message

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
            case ReadActivity():
                return await self.reader.activity(self.session)
            case RingBell():
                return await self.typist.ring(ADA, effect)
            case RecoverAgent():
                return await self.recovered(effect)
            case TellPerson(words=words):
                return PersonTold(words=words, evidence="listed")
            case _:
                raise AssertionError(f"nobody asked for {effect}")

    async def recovered(self, effect: RecoverAgent) -> Event:
        """As the recoverer does it: another process than the one that died was started before."""
        known = self.session.pane
        try:
            pane = await self.world.find(ADA)
            if pane is None or known is None or pane.pid == known.pid:
                launch = PaneLaunch(
                    session=ADA, tmux_session="ada", cwd="/", argv=(), raw_log="", sizes_log=""
                )
                pane = await self.world.relaunch(launch)
        except TerminalUnreachableError as error:
            return TerminalLost(reason=str(error))
        manner = Manner.FRESH if self.world.forgets else Manner.RESUME
        return AgentRecovered(
            recovery=effect.recovery, pane=pane, manner=manner, context=self.agent.context,
            told="what happened" if self.session.crash and self.session.crash.busy else "",
            evidence="started",
        )  # fmt: skip

    def carry_out(self) -> Event:
        self.time += MOMENT
        return self.loop.run_until_complete(self.outcome(self.pending[0]))

    def take_in(self, event: HookEvent, *, answered: bool = True) -> None:
        """What the engine does with one report."""
        if isinstance(event, ContextStarted) and event.hook.answerable:
            event = replace(event, bell=self.session.allows(Route.DOORBELL))
        self.post(event)
        text = self.answer_to(event) if answered else ""
        if not answered:
            self.post(DaemonStarted(version="1", ways=self.ways))
        if isinstance(event, ContextStarted):
            self.agent.watches = event.bell and answered
        self.agent.answered(event, text)

    def answer_to(self, event: HookEvent) -> str:
        attempt = self.session.attempt
        if attempt is None or attempt.hook != event.hook.id:
            return ""
        message = self.sent[attempt.message]
        return envelope.wrap(message.id, message.sender_name, message.text)

    # --- what may happen -----------------------------------------------------------------

    @initialize(
        mortal=st.sampled_from([False, False, False, True]),
        told=st.booleans(),
        sent=MODES,
        ways=st.sampled_from(WAYS),
    )
    def begin(self, mortal: bool, told: bool, sent: list[Mode], ways: tuple[Way, ...]) -> None:
        self.mortal, self.ways = mortal, ways
        self.post(DaemonStarted(version="1", ways=ways))
        if told:
            self.a_hook_arrives(0, answered=True)
        else:
            self.the_watch_looks(at_file=False)
        for mode in sent:
            self.send(mode)

    @rule(mode=st.sampled_from(Mode), lasts=st.sampled_from([None, None, 1.0, 5.0]))
    def send(self, mode: Mode, lasts: float | None = None) -> None:
        message_id = MessageId(f"{len(self.sent) + 1:012x}")
        self.post(
            MessageQueued(
                message=Message(
                    id=message_id, to=ADA, sender_name="you", text=f"text of {message_id}",
                    mode=mode, queued_at=self.time,
                    expires_at=None if lasts is None else self.time + lasts,
                )
            )
        )  # fmt: skip

    @precondition(lambda self: len(self.session.messages) > 2)
    @rule(back=st.integers(1, 3))
    def cancel(self, back: int) -> None:
        self.post(MessageCancelled(message=list(self.sent)[-min(back, len(self.sent))]))

    @precondition(lambda self: self.agent.hooks)
    @rule(at=st.sampled_from([0, 0, 0, 1, 2, 3]), answered=st.sampled_from([True, True, False]))
    def a_hook_arrives(self, at: int, answered: bool) -> None:
        """It is taken in; the daemon may die after that and before the answer."""
        hook = self.agent.hooks.pop(min(at, len(self.agent.hooks) - 1))
        if not isinstance(hook, ContextStarted):
            self.told.append(hook)
        self.take_in(hook, answered=answered)

    @precondition(lambda self: self.agent.awaiting)
    @rule(spooled=st.booleans())
    def the_hook_gives_up(self, spooled: bool) -> None:
        """Its report is spooled, or still on its way: an answer comes too late."""
        waited = list(self.agent.awaiting)
        self.agent.lose_patience()
        if spooled:
            self.agent.hooks = [
                replace(e, hook=replace(e.hook, answerable=False)) if e in waited else e
                for e in self.agent.hooks
            ]

    @precondition(lambda self: self.agent.hooks)
    @rule()
    def tool_hooks_are_lost(self) -> None:
        """The agent posts them itself, and nobody listens."""
        lost = [e for e in self.agent.hooks if isinstance(e, ToolStarted | ToolEnded)]
        self.agent.hooks = [e for e in self.agent.hooks if e not in lost]
        for event in lost:
            self.agent.answered(event)

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
        self.post(DaemonStarted(version="1", ways=self.ways))

    @rule(seconds=st.sampled_from([0.6, 2.1, 16.0]))
    def time_passes(self, seconds: float) -> None:
        self.time += seconds
        if any(self.time - event.hook.at > PATIENCE for event in self.agent.awaiting):
            self.agent.lose_patience()
        for timer in self.session.timers:
            if timer.due <= self.time:
                self.post(TimerFired(key=timer.key))

    @rule(seconds=st.sampled_from([1.1, 5.1]))
    def the_daemon_is_away(self, seconds: float) -> None:
        """What is due meanwhile rings later than anything else it then hears of."""
        self.time += seconds
        if any(self.time - event.hook.at > PATIENCE for event in self.agent.awaiting):
            self.agent.lose_patience()
        self.post(DaemonStarted(version="1", ways=self.ways))

    @precondition(lambda self: self.session.attempt is not None)
    @rule()
    def hooks_are_late_for_long(self) -> None:
        """Everything goes on, only the agent is not heard."""
        for _ in range(MISSES_ALLOWED + 1):
            self.effects_run(3)
            self.time_passes(4.1)

    @precondition(lambda self: self.session.alive and self.session.state in WATCHED)
    @rule(at_file=st.booleans())
    def the_watch_looks(self, at_file: bool) -> None:
        """At what the agent says of itself, or at its screen."""
        if self.agent.dead:
            self.post(self.loop.run_until_complete(self.launcher.check(self.session)))
        elif at_file and self.session.context.transcript is not None:
            status = AgentStatus(sign=self.agent.sign, at=self.agent.since, detail="so")
            if self.time - status.at >= SETTLED:
                self.post(StatusSeen(status=status))
        else:
            screen = Screen(sign=self.agent.sign, draft=self.agent.box, has_box=True)
            self.post(ScreenSeen(screen=screen))

    # --- the agent and the person --------------------------------------------------------

    def is_(self, sign: Sign) -> bool:
        return self.agent.sign is sign and not self.agent.dead

    def is_at_work(self) -> bool:
        return self.is_(Sign.BUSY) and not self.agent.awaiting

    @precondition(lambda self: self.is_at_work())
    @rule(how=st.sampled_from(["tool", "tool", "end", "stop", "stop", "fail", "silently", "ask"]))
    def the_agent_goes_on(self, how: str) -> None:
        self.time += MOMENT
        match how:
            case "stop" | "end" if self.agent.running:
                self.agent.end_tool()
            case "tool" | "end":
                self.agent.use_tool()
            case "stop":
                self.agent.finish()
            case "fail":
                self.agent.fail()
            case "ask":
                self.agent.ask()
            case _:
                self.agent.rest()

    @precondition(lambda self: self.is_at_work())
    @rule(tools=st.sampled_from([1, 1, 2]), heard=st.sampled_from([True, True, False]))
    def urgent_news_comes_while_tools_run(self, tools: int, heard: bool) -> None:
        for _ in range(tools):
            self.the_agent_goes_on("tool")
        while heard and self.agent.hooks:
            self.a_hook_arrives(0, answered=True)
        self.send(Mode.URGENT)
        if self.is_(Sign.BUSY) and self.agent.running:
            self.one_more_tool_ends()

    @precondition(lambda self: self.is_(Sign.PROMPT) and not self.agent.box)
    @rule()
    def a_person_prompts(self) -> None:
        self.time += MOMENT
        self.agent.box = DRAFT
        self.agent.submit()

    @precondition(lambda self: self.is_(Sign.BUSY) and self.agent.running)
    @rule()
    def one_more_tool_ends(self) -> None:
        """Side by side with others, whose reports may still wait for an answer."""
        self.time += MOMENT
        self.agent.end_tool()

    @precondition(lambda self: self.is_(Sign.BUSY) and not self.agent.kept_going)
    @rule()
    def somebodys_hook_will_keep_it_going(self) -> None:
        self.agent.kept_going = 1

    @precondition(lambda self: self.inbox.waiting() and not self.agent.dead and self.agent.watches)
    @rule()
    def a_note_is_taken(self) -> None:
        self.time += MOMENT
        self.agent.take_note(self.inbox.take(*self.inbox.waiting()[0]))

    @precondition(lambda self: self.is_(Sign.PROMPT) and self.agent.notes)
    @rule()
    def the_agent_wakes(self) -> None:
        self.time += MOMENT
        self.agent.read_note()

    @precondition(lambda self: self.is_(Sign.PROMPT) and not self.agent.box)
    @precondition(lambda self: self.session.context.transcript is not None)
    @rule(answered=st.sampled_from([True, True, False]))
    def a_person_clears_the_context(self, answered: bool) -> None:
        """The client waits for its report; older ones may still be on their way."""
        self.time += MOMENT
        started = self.agent.clear()
        self.time += MOMENT
        self.take_in(started, answered=answered)

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

    @precondition(lambda self: self.session.exit is not None and self.session.recovery is None)
    @rule(fresh=st.booleans())
    def somebody_wants_it_back(self, fresh: bool) -> None:
        self.world.forgets = fresh
        number = len(self.session.recoveries) + 1
        asked = RecoveryId(f"{self.agent.revivals}-{number}")
        self.post(RecoveryRequested(id=asked, by="you"))

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
        assert self.agent.wrongs == [], self.agent.wrongs

    @invariant()
    def every_message_arrives_at_most_once_and_whole(self) -> None:
        received = self.agent.received
        assert len(received) == len(set(received)), received
        texts = [envelope.unwrap(prompt) for prompt in self.agent.got]
        enveloped = [self.sent[m] for m in received if self.sent[m].handoff is None]
        assert [text for text in texts if text] == [message.text for message in enveloped]

    @invariant()
    def messages_of_one_mode_keep_their_order(self) -> None:
        for mode in Mode:
            messages = [self.sent[m] for m in self.agent.received]
            arrived = [m.number for m in messages if m.mode is mode and not _comes_first(m)]
            assert arrived == sorted(arrived)

    @invariant()
    def what_is_claimed_is_true(self) -> None:
        received = set(self.agent.received)
        for message in self.sent.values():
            if message.state in TAKEN:
                assert message.id in received, message
            if message.state in (MessageState.CANCELLED, MessageState.EXPIRED):
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
        """Closed; of a dead agent, what it never took is kept for another one."""
        received = set(self.agent.received)
        for message in self.sent.values():
            ends = {MessageState.DONE, MessageState.CANCELLED, MessageState.EXPIRED}
            if self.agent.dead:
                ends |= {MessageState.REFUSED}
            if self.agent.dead and message.id not in received:
                ends |= {MessageState.QUEUED}
                ends -= {MessageState.DONE}
            assert message.state in ends, message

    def settle(self) -> None:
        self.agent.swallows, self.agent.kept_going, self.world.hang = 0, 0, None
        if self.is_(Sign.DIALOG):
            self.agent.answer()
        self.agent.box = self.agent.stash = ""
        for _ in range(40 + 15 * len(self.sent)):
            self.one_quiet_round(16.0)
            if self.is_settled():
                return

    def is_settled(self) -> bool:
        return not any(m.is_open for m in self.sent.values()) and not self.pending

    def one_quiet_round(self, seconds: float) -> None:
        while self.agent.hooks:
            self.a_hook_arrives(0, answered=True)
        while self.pending:
            self.effects_run(1)
        while self.inbox.waiting() and self.agent.watches and not self.agent.dead:
            self.a_note_is_taken()
        if self.is_(Sign.PROMPT) and self.agent.notes:
            self.the_agent_wakes()
        elif self.is_at_work():
            self.the_agent_goes_on("stop")
        if self.session.alive and (self.agent.dead or self.session.state in WATCHED):
            self.the_watch_looks(at_file=self.time % 1 < 0.5)
        self.time_passes(seconds)


_PROVING = os.environ.get("HYPOTHESIS_PROFILE") == "prove"
Exchange.TestCase.settings = settings(
    max_examples=20_000 if _PROVING else 600, stateful_step_count=80 if _PROVING else 50
)
TestExchange = pytest.mark.timeout(3600 if _PROVING else 120)(Exchange.TestCase)
