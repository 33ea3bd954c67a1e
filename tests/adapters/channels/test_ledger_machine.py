"""Any sequence of operations on a real ledger: only legal steps, and at most one in waiting."""

import json
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sm.adapters.channels.ledger import Ledger
from sm.core.channel import ChannelHandoff, Refusal, Status, is_over, may_become
from sm.core.ids import HandoffId, SessionId
from tests.adapters.channels.samples import HOUR, NOON, claimant, left

CHANNELS = st.sampled_from(["api", "web"])
SESSIONS = st.sampled_from([SessionId("0a1b2c3d"), SessionId("b0b00000"), SessionId("ca700000")])
ANY = st.integers(min_value=0, max_value=30)


class LedgerMachine(RuleBasedStateMachine):
    """Two processes that take turns, as two connections."""

    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp())
        self.folder = self.base / "channels"
        self.ledgers = [Ledger(self.folder), Ledger(self.folder)]
        self.now = NOON
        self.before: dict[HandoffId, ChannelHandoff] = {}

    def teardown(self) -> None:
        for ledger in self.ledgers:
            ledger.close()
        shutil.rmtree(self.base)

    @property
    def ledger(self) -> Ledger:
        self.now += 1
        self.ledgers.reverse()
        return self.ledgers[0]

    def _some(self, number: int) -> HandoffId:
        names = list(self.before) or [HandoffId("HO-1")]
        return names[number % len(names)]

    @rule(channel=CHANNELS, session=SESSIONS)
    def leave(self, channel: str, session: SessionId) -> None:
        new = left(self.base, self.now + 1, channel=channel, session=session)
        made = self.ledger.create(new)
        assert made.status is Status.ACTIVE
        assert self.ledgers[1].create(new) == made

    @rule(number=ANY, session=SESSIONS)
    def claim(self, number: int, session: SessionId) -> None:
        name = self._some(number)
        was = self.before.get(name)
        answer = self.ledger.claim(name, claimant(session), now=self.now, expiry=HOUR)
        is_mine = was is not None and was.is_held_by(claimant(session))
        is_free = was is not None and was.status is Status.ACTIVE
        is_old = was is not None and was.is_too_old(self.now, HOUR)
        assert isinstance(answer, ChannelHandoff) == ((is_free and not is_old) or is_mine)

    @rule(channel=CHANNELS, session=SESSIONS, explicitly=st.booleans())
    def claim_from(self, channel: str, session: SessionId, explicitly: bool) -> None:
        answer = self.ledger.claim_from(
            channel, claimant(session), now=self.now, expiry=HOUR, explicitly=explicitly
        )
        if isinstance(answer, ChannelHandoff):
            assert explicitly or answer.is_for(session) or self._was_held(answer, session)

    def _was_held(self, answer: ChannelHandoff, session: SessionId) -> bool:
        return self.before[answer.id].is_held_by(claimant(session))

    @rule(number=ANY, session=SESSIONS)
    def consume(self, number: int, session: SessionId) -> None:
        answer = self.ledger.consume(self._some(number), session, self.now)
        assert isinstance(answer, Refusal) or answer.status is Status.CONSUMED

    @rule(channel=CHANNELS)
    def clear(self, channel: str) -> None:
        self.ledger.clear(channel=channel, at=self.now)
        assert self.ledgers[1].current(channel) is None

    @rule(number=ANY)
    def clear_one(self, number: int) -> None:
        self.ledger.clear(handoff=self._some(number), at=self.now)

    @rule(later=st.sampled_from([1.0, HOUR]))
    def expire(self, later: float) -> None:
        self.now += later
        self.ledger.expire(self.now, HOUR)

    @rule(dead=st.booleans(), taken=st.booleans())
    def release(self, dead: bool, taken: bool) -> None:
        self.ledger.release_stale(lambda *_: not dead, lambda *_: taken, now=self.now)
        if dead:
            assert all(h.status is not Status.CLAIMED for h in self.ledgers[1].history())

    @invariant()
    def every_step_was_legal(self) -> None:
        after = {handoff.id: handoff for handoff in self.ledgers[1].history()}
        assert list(after)[: len(self.before)] == list(self.before)
        for name, was in self.before.items():
            now = after[name]
            assert now.status is was.status or may_become(was.status, now.status)
            assert now == was or not is_over(was.status)
        self.before = after

    @invariant()
    def exports_follow(self) -> None:
        for channel in {handoff.channel for handoff in self.before.values()}:
            rows = [h for h in self.before.values() if h.channel == channel]
            active = [h for h in rows if h.status is Status.ACTIVE]
            assert len(active) <= 1
            manifest = json.loads((self.folder / f"{channel}.manifest.json").read_text())
            current = manifest["current"]
            shown = (active or rows)[-1]
            assert (current["id"], current["status"]) == (shown.id, shown.status)
            assert (self.folder / f"{channel}-CURRENT.md").exists() == bool(active)


TestLedger = LedgerMachine.TestCase
TestLedger.settings = settings(
    max_examples=25,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
