"""A session nobody watches is handed over once or not at all, whatever happens around it.

The world of ``test_handoff_machine``, in which contexts fill up, the agent compacts by itself, and
sm hands over for it: in the middle of turns, with a disk that fails, beside handoffs of its own.
"""

import os
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from sm.core import walkaway
from sm.core.effects import CaptureArtifacts, Effect, RecoverAgent
from sm.core.events import ArtifactsCaptured, Event, MonitorSwitched, UsageSeen
from sm.core.ids import ContextId
from sm.core.passage import AUTO
from sm.core.reports import CompactionBegun, ContextCompacted, HookEvent
from sm.core.state import Step, Usage, WalkAway
from tests.core.test_handoff_machine import Rotation

RULES = WalkAway(deadline=10.0, cooldown=4.0)


class Unattended(Rotation):
    def __init__(self) -> None:
        self.held: set[tuple[ContextId | None, int]] = set()
        """The stretches in which a compaction was refused."""
        super().__init__()
        self.session = replace(self.session, walkaway=RULES)

    # --- the engine ----------------------------------------------------------------------

    def post(self, event: Event) -> None:
        super().post(event)
        taken = self.session.handoff
        if taken is not None and taken.id not in self.left:
            self.left[taken.id] = self.agent.contexts
            in_hand = self.session.attempt
            is_given = in_hand is not None and in_hand.step is not Step.INTERRUPTING
            self.allowed = {in_hand.message} if in_hand is not None and is_given else set()

    async def outcome(self, effect: Effect) -> Event:
        passing = self.session.handoff
        is_auto = passing is not None and passing.kind == AUTO
        if not isinstance(effect, CaptureArtifacts) or not is_auto or self.capture_fails:
            return await super().outcome(effect)
        return ArtifactsCaptured(
            handoff=effect.handoff, document="/kept/auto.md", dump=None, artifacts=None,
            evidence="from the record", log="/raw.log",
        )  # fmt: skip

    def carry_out(self) -> Event:
        effect, contexts, passing = self.pending[0], self.agent.contexts, self.session.handoff
        outcome = super().carry_out()
        if self.agent.contexts > contexts and not isinstance(effect, RecoverAgent):
            assert passing is not None
            assert passing.document, "cleared without a document"
        return outcome

    def take_in(self, event: HookEvent, *, answered: bool = True) -> None:
        """A turn that is cut ends without another word."""
        is_awaited = event in self.agent.awaiting
        super().take_in(event, answered=answered)
        if answered and is_awaited and walkaway.is_cut(self.session, event.hook):
            self.agent.rest()

    # --- what may happen -----------------------------------------------------------------

    @precondition(lambda self: self.session.alive and self.session.context.id is not None)
    @rule(tokens=st.sampled_from([90_000, 120_000, 180_000, 190_000]))
    def its_context_fills(self, tokens: int) -> None:
        usage = Usage(tokens=tokens, window=200_000, model="m", source="test", at=self.time)
        self.post(UsageSeen(context=self.session.context.id, usage=usage))

    @precondition(lambda self: self.is_at_work())
    @rule(again=st.booleans())
    def it_is_about_to_compact(self, again: bool) -> None:
        """Refused, it may try again at once."""
        for _ in range(1 + again):
            self.time += 0.01
            hook = replace(self.agent.hook("PreCompact"), answerable=True)
            context = self.session.context
            stretch = (context.id, context.compactions)
            self.post(CompactionBegun(hook=hook, trigger="auto"))
            if not walkaway.is_held(self.session, hook):
                done = self.agent.hook("PostCompact")
                self.post(ContextCompacted(hook=done, trigger="auto"))
                return
            assert stretch not in self.held, "refused twice"
            assert self.session.handoff is not None, "refused for nothing"
            self.held.add(stretch)

    @rule(on=st.sampled_from([True, True, False]))
    def the_monitor_is_switched(self, on: bool) -> None:
        self.post(MonitorSwitched(on=on))

    @rule()
    def nobody_is_there_for_long(self) -> None:
        for _ in range(4):
            self.one_quiet_round(5.1)

    # --- what must hold ------------------------------------------------------------------

    @invariant()
    def handoffs_keep_their_distance(self) -> None:
        ours = sorted(h.requested_at for h in self.passages.values() if h.kind == AUTO)
        assert all(b - a >= RULES.cooldown for a, b in pairwise(ours))

    def settle(self) -> None:
        self.capture_fails = False
        super().settle()


_PROVING = os.environ.get("HYPOTHESIS_PROFILE") == "prove"
Unattended.TestCase.settings = settings(
    max_examples=20_000 if _PROVING else 200, stateful_step_count=80 if _PROVING else 50
)
TestUnattended = pytest.mark.timeout(3600 if _PROVING else 120)(Unattended.TestCase)
