"""Effects carried out in order, each outcome an event, nothing lost to an error."""

import asyncio
import shutil
import tempfile
import weakref
from dataclasses import replace
from pathlib import Path

import pytest

from sm.core.effects import (
    CheckPane,
    Effect,
    KillAgent,
    LaunchAgent,
    QueueNotice,
    RenameTmux,
    TellPerson,
)
from sm.core.events import AgentStarted, EffectFailed, PersonTold, TmuxRenamed
from sm.core.ids import MessageId, SessionId
from sm.core.journal import PendingEffect
from sm.core.message import Message
from sm.core.state import Session, State
from sm.engine.actor import RETRY_AFTER, Actor
from sm.engine.launcher import Launcher
from sm.engine.loop import Loop
from sm.engine.reader import Reader
from sm.engine.recollection import Recollection
from sm.engine.recoverer import Recoverer
from sm.engine.telling import Telling
from sm.engine.typist import Typist
from tests.engine.dialects import ScriptedDialects
from tests.engine.folders import Inboxes, NoFolders
from tests.engine.rig import (
    ADA,
    BOB,
    FlakyStore,
    Log,
    archivist_of,
    at_work,
    filing_of,
    person_of,
    requested,
)
from tests.engine.timelapse import NOON, LoopClock
from tests.engine.world import ProcessTable, World


class Stage:
    """A loop and its actor in a small world."""

    def __init__(self, store: FlakyStore) -> None:
        self.store, self.log, self.folders = store, Log(), NoFolders()
        self.world = World(LoopClock().now)
        processes = ProcessTable(self.world)
        dialects = ScriptedDialects(self.world)
        typist = Typist(self.world, dialects, processes, Inboxes(), self.session, LoopClock())
        launcher = Launcher(
            self.world, processes, self.folders, dialects, lambda _: None, LoopClock()
        )
        reader = Reader(dialects, LoopClock())
        kept = Path("/nowhere")
        archivist, filing = archivist_of(self.world, kept), filing_of(self.world, kept)
        recollection = Recollection(drafts=archivist.drafts, log=lambda *_: [])
        recoverer = Recoverer(
            self.world, processes, dialects, launcher, recollection, LoopClock(),
            at_once=4, session=self.session, sessions=lambda: self.loop.sessions,
            next_commit=lambda: self.loop.next_commit(), message=store.message,
            events=store.last_events, keep_crash=self.keep_crash, filing=filing, name=str,
        )  # fmt: skip
        self.kept = Path(tempfile.mkdtemp())
        weakref.finalize(self, shutil.rmtree, self.kept)
        self.person = person_of(self.world, self.kept, self.log)
        telling = Telling(self.person, LoopClock())
        self.actor = Actor(
            self.world, typist, launcher, reader, archivist, filing, recoverer, telling, self.log,
            lambda text: text.replace("hunter2", "[redacted]"),
        )  # fmt: skip
        self.loop = Loop(store, LoopClock(), self.actor.submit)
        self.loop.start_timers()
        self.actor.bind(self.loop)

    def session(self, session_id: SessionId) -> Session:
        return self.loop.session(session_id)

    async def keep_crash(self, session: Session) -> None:
        """There are no snapshots."""

    async def start(self, *sessions: SessionId) -> None:
        for session in sessions:
            await self.loop.post(session, requested(session))
        await asyncio.sleep(0.1)


@pytest.fixture
async def stage(flaky: FlakyStore) -> Stage:
    return Stage(flaky)


def notice(to: SessionId, words: str = "bob stopped") -> QueueNotice:
    text = Message(
        id=MessageId("0123456789ab"), to=to, sender_name="sm", text=words, queued_at=NOON
    )
    return QueueNotice(to=to, message=text)


def asked(number: int, effect: Effect, *, by: SessionId = ADA) -> PendingEffect:
    return PendingEffect(id=1000 + number, session=by, effect=effect)


async def carry_out(stage: Stage, *effects: Effect) -> None:
    """Ask for effects of ada as the core would, and let them come to their end."""
    for number, effect in enumerate(effects):
        stage.actor.submit(asked(number, effect))
    await asyncio.sleep(30)


async def test_an_outcome_is_committed_as_an_event(stage: Stage) -> None:
    """The launch was asked for, done, and its outcome ends it."""
    async with at_work(stage.loop.run(), stage.actor.run()):
        await stage.start(ADA)

    assert stage.store.batches[1:] == [[AgentStarted(pane=stage.world.agent().pane)]]
    assert await stage.store.pending() == []


async def test_effects_of_one_session_run_one_after_another(stage: Stage) -> None:
    """ada's rename waits for the look that hangs; bob's does not wait for ada."""
    async with at_work(stage.loop.run(), stage.actor.run()):
        await stage.start(ADA, BOB)
        stage.world.calls.clear()
        stuck = stage.world.agent("ada").stuck = asyncio.Event()
        stage.actor.submit(asked(1, CheckPane()))
        stage.actor.submit(asked(2, RenameTmux(name="grace")))
        stage.actor.submit(asked(3, RenameTmux(name="rob"), by=BOB))
        await asyncio.sleep(5)
        assert stage.world.calls == ["rename rob"]

        stuck.set()
        await asyncio.sleep(1)
        assert stage.world.calls == ["rename rob", "rename grace"]


async def test_an_effect_whose_outcome_could_not_be_stored_runs_again(stage: Stage) -> None:
    """Before anything else of its session: the launch, then the kill."""
    async with at_work(stage.loop.run(), stage.actor.run()):
        await stage.loop.post(ADA, requested())
        stage.store.failures = 2
        stage.actor.submit(asked(1, KillAgent()))
        await asyncio.sleep(3 * RETRY_AFTER)

    assert stage.world.calls == ["launch ada", "kill ada"], "the pane was found, not made again"
    assert stage.store.kinds[1:] == [["AgentStarted"], ["AgentKilled"]]
    assert stage.log.lines == ["An outcome could not be stored"] * 2


async def test_an_error_nobody_foresaw_is_an_outcome(stage: Stage) -> None:
    """The daemon lives on, the log has the trace, and the session decides what comes next."""
    async with at_work(stage.loop.run(), stage.actor.run()):
        await stage.start(ADA)
        stage.world.silent = True
        stage.actor.submit(asked(1, KillAgent()))
        await asyncio.sleep(1)
        failed = EffectFailed(effect="KillAgent", error="TerminalUnreachableError: no answer")
        assert stage.store.batches[-1] == [failed]
        assert stage.log.lines == ["An effect failed"]

        stage.world.silent = False
        await asyncio.sleep(30)
    assert stage.loop.session(ADA).state is State.ENDED


async def test_what_was_submitted_before_the_start_is_done_first(stage: Stage) -> None:
    """Effects of the last daemon come before those of this one, in their order."""
    async with at_work(stage.loop.run()):
        await stage.loop.post(ADA, requested())
        stage.actor.submit(asked(1, RenameTmux(name="one")))
        stage.actor.submit(asked(2, RenameTmux(name="two")))
        async with at_work(stage.actor.run()):
            await asyncio.sleep(1)

    assert stage.world.calls == ["launch ada", "rename one", "rename two"]


async def test_a_rename_tells_the_name_tmux_gave(stage: Stage) -> None:
    """The pane carries it from now on."""
    async with at_work(stage.loop.run(), stage.actor.run()):
        await stage.start(ADA)
        await carry_out(stage, RenameTmux(name="grace"))

    [renamed] = stage.store.batches[-1]
    assert isinstance(renamed, TmuxRenamed)
    assert renamed.pane.session == "grace"


async def test_without_a_pane_there_is_nothing_to_rename(stage: Stage) -> None:
    """The agent could not be started."""
    stage.world.refuses_launch = True
    async with at_work(stage.loop.run(), stage.actor.run()):
        await stage.start(ADA)
        await carry_out(stage, RenameTmux(name="grace"))

    assert stage.store.batches[-1] == [EffectFailed(effect="RenameTmux", error="there is no pane")]


async def test_a_killed_session_needs_its_environment_no_more(stage: Stage) -> None:
    """Its tmux session is ended and the caller's environment forgotten."""
    async with at_work(stage.loop.run(), stage.actor.run()):
        await stage.start(ADA)
        await carry_out(stage, KillAgent())

    assert stage.loop.session(ADA).state is State.ENDED
    assert stage.folders.forgotten == [ADA]


async def test_a_notice_and_its_receipt_share_one_commit(stage: Stage) -> None:
    """It stands in bob's queue exactly if ada's effect is over."""
    async with at_work(stage.loop.run(), stage.actor.run()):
        await stage.start(ADA, BOB)
        stage.store.failures = 1
        await carry_out(stage, notice(BOB))

    assert stage.store.kinds[-1] == ["MessageQueued", "NoticeQueued"]
    assert [m.text for m in stage.loop.session(BOB).messages] == ["bob stopped"]


async def test_a_notice_tells_no_secret_of_one_agent_to_another(stage: Stage) -> None:
    """It quotes what the agent said last."""
    async with at_work(stage.loop.run(), stage.actor.run()):
        await stage.start(ADA, BOB)
        await carry_out(stage, notice(BOB, "ada stopped: the password is hunter2"))

    told = [message.text for message in stage.loop.session(BOB).messages]
    assert told == ["ada stopped: the password is [redacted]"]


@pytest.mark.parametrize("before", range(160, 215))
async def test_a_notice_is_shortened_only_when_it_has_no_secret(stage: Stage, before: int) -> None:
    """Wherever the words end: what the cut would leave of a secret is not recognised."""
    words = f"ada stopped: {'w' * (before - 14)} hunter2 and more, in many words"
    async with at_work(stage.loop.run(), stage.actor.run()):
        await stage.start(ADA, BOB)
        await carry_out(stage, replace(notice(BOB, words), longest=200))

    [told] = [message.text for message in stage.loop.session(BOB).messages]
    assert "hunt" not in told
    assert len(told) <= 200


async def test_a_notice_to_nobody_is_dropped(stage: Stage) -> None:
    """The receiver is not known, or has ended: said in the record, and that is all."""
    async with at_work(stage.loop.run(), stage.actor.run()):
        await stage.start(ADA, BOB)
        await carry_out(stage, notice(SessionId("nobody")), KillAgent(), notice(ADA))

    reasons = [getattr(e, "reason", "") for batch in stage.store.batches[-3:] for e in batch]
    assert reasons == ["the receiver is not known", "", "the receiver has ended"]


async def test_the_person_is_told_once_whoever_asks_how_often(stage: Stage) -> None:
    """What was done is an event, for the timeline; asked for again, it was told before."""
    words = "ada crashed 5 times"
    async with at_work(stage.loop.run(), stage.actor.run()):
        await stage.start(ADA)
        await carry_out(stage, TellPerson(words=words), TellPerson(words=words))

    assert stage.store.batches[-2:] == [
        [PersonTold(words=words, evidence="listed, shown on 1 terminal")],
        [PersonTold(words=words, evidence="was told before")],
    ]
    assert [(n.session, n.words) for n in await stage.person.all()] == [(ADA, words)]
    assert stage.world.calls.count(f"tell {words}") == 1


async def test_an_effect_of_an_unknown_session_is_left(stage: Stage) -> None:
    """Its session was never stored; nothing can be told of it."""
    async with at_work(stage.loop.run(), stage.actor.run()):
        await carry_out(stage, LaunchAgent())
        await stage.start(BOB)

    assert stage.store.kinds == [["SessionRequested"], ["AgentStarted"]]
