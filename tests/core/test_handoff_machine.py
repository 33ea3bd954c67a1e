"""A handoff passes to the next context once or not at all, whatever happens around it.

The world of ``test_machine`` with one thing more: the agent asks to hand over. Whoever looks sees
that its first prompt comes only into a later context and only once, that no other message comes
before it, and that in the end all is as it should be.
"""

import os

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from sm.core import envelope
from sm.core.effects import (
    CaptureArtifacts,
    ClearContext,
    Effect,
    EraseCommand,
    FileHandoff,
    RecoverAgent,
)
from sm.core.events import (
    ArtifactsCaptured,
    DaemonStarted,
    EffectFailed,
    Event,
    HandoffCancelled,
    HandoffFiled,
    HandoffRequested,
    ScreenSeen,
)
from sm.core.ids import HandoffId, MessageId
from sm.core.message import TYPING, Mode
from sm.core.passage import Handoff, HandoffState
from sm.core.reports import ContextStarted
from sm.core.state import Step
from sm.core.terminal import Screen, Sign
from tests.core.test_machine import ADA, Exchange


class Rotation(Exchange):
    def __init__(self) -> None:
        self.passages: dict[HandoffId, Handoff] = {}
        """Every handoff, as it was last seen."""
        self.left: dict[HandoffId, int] = {}
        """The agent's context at the time each was asked for."""
        self.allowed: set[MessageId] = set()
        """What was in hand when the last one was asked for."""
        self.looked = 0
        """How many of the model's prompts were checked."""
        self.cleared: set[HandoffId] = set()
        """Those whose command was taken."""
        self.capture_fails = False
        self.overtakes = True
        """The report of a new context comes before the typist's own word."""
        super().__init__()

    # --- the engine ----------------------------------------------------------------------

    def post(self, event: Event) -> None:
        self.nothing_comes_between()
        super().post(event)
        self.passages |= {handoff.id: handoff for handoff in self.session.handoffs}

    async def outcome(self, effect: Effect) -> Event:
        match effect:
            case CaptureArtifacts() if self.capture_fails:
                return EffectFailed(effect="CaptureArtifacts", error="OSError: no space left")
            case CaptureArtifacts():
                return ArtifactsCaptured(
                    handoff=effect.handoff, document=None, dump="/dump.txt", artifacts=None,
                    evidence="captured",
                )  # fmt: skip
            case FileHandoff(handoff=handoff, status=status):
                return HandoffFiled(handoff=handoff, status=status, evidence="filed")
            case ClearContext():
                return await self.typist.clear(ADA, effect)
            case EraseCommand():
                return await self.typist.erase(ADA, effect)
            case _:
                return await super().outcome(effect)

    def carry_out(self) -> Event:
        effect, contexts, passing = self.pending[0], self.agent.contexts, self.session.handoff
        outcome = super().carry_out()
        if self.agent.contexts > contexts and not isinstance(effect, RecoverAgent):
            assert isinstance(effect, ClearContext), effect
            assert passing is not None, "a handoff that is over was carried out"
            assert effect.mark.startswith(passing.id)
            self.cleared.add(passing.id)
        if self.overtakes:
            self.the_new_context_is_reported()
        return outcome

    def the_new_context_is_reported(self) -> None:
        """The client stands still for it: before anything of the new context comes."""
        for event in [e for e in self.agent.hooks if isinstance(e, ContextStarted)]:
            self.agent.hooks.remove(event)
            self.take_in(event)

    # --- what may happen -----------------------------------------------------------------

    @precondition(lambda self: not self.agent.dead and self.session.alive)
    @rule(patience=st.sampled_from([True, True, True, False]))
    def the_agent_hands_over(self, patience: bool) -> None:
        """In its turn; now and then a script of its own asks while it is idle."""
        if patience and not self.is_at_work():
            return
        handoff = HandoffId(f"{len(self.passages) + 1:012x}")
        asked = Handoff(
            id=handoff, session=ADA, requested_at=self.time, source="/doc.md",
            document="/kept/doc.md", log="/raw.log",
        )  # fmt: skip
        self.left[handoff] = self.agent.contexts
        self.post(HandoffRequested(handoff=asked))
        if self.session.handoff is not None and self.session.handoff.id == handoff:
            in_hand = self.session.attempt
            is_given = in_hand is not None and in_hand.step is not Step.INTERRUPTING
            self.allowed = {in_hand.message} if in_hand is not None and is_given else set()

    @precondition(lambda self: self.is_at_work())
    @rule()
    def the_agent_hands_over_and_stops(self) -> None:
        self.the_agent_hands_over(patience=True)
        while self.agent.running:
            self.one_more_tool_ends()
            self.one_quiet_round(0.1)
        if self.is_at_work():
            self.the_agent_goes_on("stop")

    @precondition(lambda self: self.is_at_work() and not self.session.attempt)
    @rule()
    def it_hands_over_while_it_is_to_be_interrupted(self) -> None:
        """Where no gentler route is switched on."""
        self.ways = TYPING
        self.post(DaemonStarted(version="1", ways=TYPING))
        self.the_agent_goes_on("tool")
        while self.agent.hooks:
            self.a_hook_arrives(0, answered=True)
        self.send(Mode.URGENT)
        self.the_agent_hands_over(patience=True)

    @precondition(lambda self: any(isinstance(e, ClearContext) for e in self.pending[:1]))
    @rule(sign=st.sampled_from([Sign.BUSY, Sign.DIALOG]))
    def it_shows_something_else_while_it_clears(self, sign: Sign) -> None:
        """And reports its new context only then."""
        self.overtakes = False
        self.effects_run(1)
        self.post(ScreenSeen(screen=Screen(sign=sign, has_box=True)))

    @precondition(lambda self: self.passages)
    @rule(back=st.integers(1, 2))
    def a_person_withdraws_it(self, back: int) -> None:
        handoff = list(self.passages)[-min(back, len(self.passages))]
        self.post(HandoffCancelled(id=handoff, by="you"))

    @precondition(lambda self: self.session.handoff is not None)
    @rule()
    def it_is_carried_on(self) -> None:
        """Effects and reports, step by step."""
        while self.agent.hooks:
            self.a_hook_arrives(0, answered=True)
        self.effects_run(3)

    @rule(fails=st.booleans(), overtakes=st.booleans())
    def the_disk_and_the_wire_change(self, fails: bool, overtakes: bool) -> None:
        self.capture_fails, self.overtakes = fails, overtakes

    @precondition(lambda self: self.is_(Sign.BUSY))
    @rule(task=st.sampled_from([(), ("npm test",)]))
    def something_runs_in_the_background(self, task: tuple[str, ...]) -> None:
        self.agent.tasks = task

    # --- what must hold ------------------------------------------------------------------

    @invariant()
    def nothing_comes_between(self) -> None:
        """While a handoff is under way the model is given its prompt and nothing else of ours."""
        passing = self.session.handoff
        news, self.looked = self.agent.got[self.looked :], len(self.agent.got)
        if passing is None:
            return
        for prompt in news:
            given = envelope.message_in(prompt)
            assert given in {None, passing.message, *self.allowed}, prompt

    @invariant()
    def its_prompt_comes_into_a_later_context_and_once(self) -> None:
        prompts = {m.id: m.handoff for m in self.sent.values() if m.handoff is not None}
        for transcript, lines in self.agent.transcripts.items():
            number = int(transcript.partition(".")[2] or 1)
            for line in lines:
                given = envelope.message_in(line.given)
                handoff = prompts.get(given) if given is not None else None
                if handoff is not None:
                    assert number > self.left[handoff], line
        assert len(prompts) == len(set(prompts.values()))

    @invariant()
    def one_is_open_at_most(self) -> None:
        assert sum(handoff.is_open for handoff in self.session.handoffs) <= 1

    def is_settled(self) -> bool:
        return super().is_settled() and self.session.handoff is None

    def every_message_has_come_to_its_end(self) -> None:
        super().every_message_has_come_to_its_end()
        assert not any(handoff.is_open for handoff in self.passages.values()), self.passages
        assert self.session.timer("handoff") is None
        received = set(self.agent.received)
        for handoff in self.passages.values():
            if handoff.state is HandoffState.DONE:
                assert handoff.message in received, handoff
            if handoff.id in self.cleared:
                assert not handoff.steps[-1].evidence.startswith("somebody else"), handoff

    def settle(self) -> None:
        self.overtakes = True
        super().settle()


_PROVING = os.environ.get("HYPOTHESIS_PROFILE") == "prove"
Rotation.TestCase.settings = settings(
    max_examples=20_000 if _PROVING else 300, stateful_step_count=80 if _PROVING else 50
)
TestRotation = pytest.mark.timeout(3600 if _PROVING else 120)(Rotation.TestCase)
