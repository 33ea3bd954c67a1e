"""Recoveries as people ask for them, and sessions of killed runs."""

import errno
from dataclasses import replace
from pathlib import Path

import pytest

from sm.core.crash import Cause, Manner, RecoveryRules, RecoveryState
from sm.core.events import RecoveryRequested
from sm.core.ids import RecoveryId, SessionId
from sm.core.message import MessageState
from sm.core.state import Session, State
from sm.engine.engine import Engine
from sm.engine.naming import RefusedError
from sm.engine.recoveries import Past
from tests.core.samples import message
from tests.engine.agent import Agent
from tests.engine.rig import ADA, BOB, TERMS, DiskFullError, FlakyStore, Rig, new

ID = RecoveryId("r1")
NOTHING = Past(messages=(), handoffs=())


async def died(rig: Rig, engine: Engine, agent: Agent) -> Session:
    agent.die(status=9)
    await engine.watch.inspect(agent.session)
    return engine.session(agent.session)


async def ask(engine: Engine, *, environment: dict[str, str] | None = None) -> Session:
    return await engine.recoveries.request(
        "ada", by="you", recovery_id=ID, manner=Manner.FRESH, environment=environment
    )


async def test_what_can_be_brought_back_is_listed_the_last_one_first(rig: Rig) -> None:
    async with rig.running() as engine:
        for name in (ADA, BOB):
            await died(rig, engine, await rig.start(engine, name))

        assert [s.name for s in engine.recoveries.recoverable()] == ["ada", "bob"]
        assert await engine.recoveries.lines() == {ADA: 0, BOB: 0}


async def test_the_same_request_again_is_the_same_recovery(rig: Rig) -> None:
    """A caller whose connection broke asks once more."""
    async with rig.running() as engine:
        await died(rig, engine, await rig.start(engine))

        first = await ask(engine)
        again = await ask(engine)

        assert len(first.recoveries) == len(again.recoveries) == 1


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("running", "ada is idle: there is nothing to bring back."),
        ("killed", "ada was ended on purpose."),
        ("off", "Recovery is switched off: set recovery.enabled = true."),
    ],
)
async def test_what_cannot_be_brought_back_says_why(rig: Rig, state: str, words: str) -> None:
    if state == "off":
        rig.recovery_terms = replace(TERMS, rules=RecoveryRules(enabled=False))
    async with rig.running() as engine:
        agent = await rig.start(engine)
        if state == "killed":
            await engine.sessions.kill("ada", by="you")
        if state == "off":
            await died(rig, engine, agent)

        with pytest.raises(RefusedError) as refused:
            await ask(engine)

        assert str(refused.value).startswith(words)


async def test_no_second_session_comes_to_life_under_one_name(rig: Rig) -> None:
    """A run took the name while nobody could tell it that it was taken."""
    async with rig.running() as engine:
        await died(rig, engine, await rig.start(engine))
        rig.runs["0a1b2c3d"] = "ada"

        with pytest.raises(RefusedError, match=f"A run is called ada, too.* sm rename {ADA} NAME"):
            await ask(engine)


async def test_nothing_is_offered_that_would_be_refused(rig: Rig) -> None:
    rig.recovery_terms = replace(TERMS, rules=RecoveryRules(enabled=False))
    async with rig.running() as engine:
        await died(rig, engine, await rig.start(engine))

        with pytest.raises(RefusedError, match="Recovery is switched off"):
            engine.recoveries.recoverable()


async def test_an_environment_that_was_not_kept_is_lent(rig: Rig) -> None:
    """By whoever asks, cleaned of what belongs to them, with the session's own identity."""
    async with rig.running() as engine:
        await died(rig, engine, await rig.start(engine))
        del rig.folders.prepared[ADA]

        with pytest.raises(RefusedError, match="keep_environment"):
            await ask(engine)
        with pytest.raises(RefusedError, match="keep_environment"):
            await engine.recoveries.plan("ada", None)
        _, plan, _ = await engine.recoveries.plan("ada", None, {"HOME": "/you", "CLAUDECODE": "1"})
        assert plan.environment == {"HOME": "/you", "SM_SESSION": "ada"}
        assert ADA not in rig.folders.prepared
        await ask(engine, environment={"HOME": "/home/you", "CLAUDECODE": "1"})
        done = (RecoveryState.STARTED, RecoveryState.DONE)
        assert await engine.loop.wait_until(
            lambda: engine.session(ADA).recoveries[-1].state in done, 60
        )

        assert rig.folders.prepared[ADA] == {"HOME": "/home/you", "SM_SESSION": "ada"}


async def test_an_environment_that_cannot_be_read_is_not_taken_for_one_that_is_not_kept(
    rig: Rig,
) -> None:
    """It is there: nobody else's is put in its place."""
    async with rig.running() as engine:
        await died(rig, engine, await rig.start(engine))
        kept = rig.folders.prepared[ADA]
        rig.folders.trouble = OSError(errno.EMFILE, "Too many open files")
        words = r"cannot be read \(Too many open files\)\. Try again\."

        with pytest.raises(RefusedError, match=words):
            await engine.recoveries.plan("ada", None)
        with pytest.raises(RefusedError, match=words):
            await ask(engine, environment={"HOME": "/home/you"})

        assert rig.folders.prepared[ADA] == kept


async def test_what_was_lent_for_nothing_is_not_kept(rig: Rig) -> None:
    """The recovery failed before the agent was started, which would have taken it away."""
    rig.folders.keeps = False
    async with rig.running() as engine:
        await died(rig, engine, await rig.start(engine))
        del rig.folders.prepared[ADA]
        rig.world.refuses_launch = True

        await ask(engine, environment={"HOME": "/home/you"})
        assert await engine.loop.wait_until(
            lambda: engine.session(ADA).recoveries[-1].state is RecoveryState.FAILED, 60
        )

        assert ADA not in rig.folders.prepared


async def test_what_was_lent_for_a_request_that_was_not_stored_is_not_kept(
    rig: Rig, flaky: FlakyStore
) -> None:
    """Nobody would remove it; and the next one to ask lends theirs."""
    rig.folders.keeps = False
    async with rig.running() as engine:
        await died(rig, engine, await rig.start(engine))
        del rig.folders.prepared[ADA]
        flaky.failures, flaky.failing = 1, RecoveryRequested

        with pytest.raises(DiskFullError):
            await ask(engine, environment={"TOKEN": "old"})
        assert ADA not in rig.folders.prepared

        await ask(engine, environment={"TOKEN": "new"})
        assert rig.folders.prepared[ADA]["TOKEN"] == "new"


async def test_a_plan_does_nothing(rig: Rig) -> None:
    """Also of a session that is well: so that one can see beforehand."""
    async with rig.running() as engine:
        await rig.start(engine)
        before = engine.session(ADA)

        session, plan, command = await engine.recoveries.plan("ada", None)

        assert session == engine.session(ADA) == before
        assert plan.manner is Manner.FRESH
        assert command == plan.line.argv
    assert rig.world.calls == ["launch ada"]


async def test_a_plan_of_a_session_that_runs_supposes_that_it_died_now(rig: Rig) -> None:
    """The living agent is not told to its successor as something left running."""
    async with rig.running() as engine:
        await rig.start(engine)

        _, plan, _ = await engine.recoveries.plan("ada", Manner.FRESH)

        assert "Still running" not in plan.recollected.prompt
        assert "this is what it would be told if its agent died now" in plan.recollected.prompt
        assert plan.told == ""


async def test_a_plan_is_refused_where_the_recovery_would_fail(rig: Rig) -> None:
    """In the words it would fail with: its folder is gone, say."""
    async with rig.running() as engine:
        await died(rig, engine, await rig.start(engine))
        rig.world.refuses_launch = True

        with pytest.raises(RefusedError, match="ada: /shop is not a folder"):
            await engine.recoveries.plan("ada", None)


# --- killed runs ---------------------------------------------------------------------------


def left(session: Session) -> Session:
    """As a wrapper stored it last."""
    assert session.pane is not None
    pane = replace(session.pane, pid=999_999, started=1)
    return replace(session, id=SessionId("run1"), name="run", wrapped=True, pane=pane)


async def test_a_killed_run_becomes_a_crashed_session(rig: Rig) -> None:
    """With its past, under its own name; from here on one like others."""
    async with rig.running() as engine:
        await rig.start(engine)
        past = replace(message(7), to=SessionId("run1"), state=MessageState.DONE)

        run = await engine.recoveries.inherit(
            left(engine.session(ADA)), Past(messages=(past,), handoffs=()), evidence="it was killed"
        )

        assert run is not None
        assert (run.name, run.state, run.wrapped) == ("run", State.CRASHED, False)
        assert run.crash is not None
        assert run.crash.cause is Cause.WRAPPER
        assert await engine.mail.message(past.id) == past
        again = await engine.recoveries.inherit(run, NOTHING, evidence="it was killed")
        assert again is None, "it is ours already"


@pytest.mark.parametrize("keeps", [True, False])
async def test_a_killed_runs_environment_is_kept_only_where_it_is_to_be(
    rig: Rig, keeps: bool
) -> None:
    """What a run had to keep for its own restarts, nobody needs to keep for its daemon."""
    run = SessionId("run1")
    rig.folders.keeps = keeps
    async with rig.running() as engine:
        await rig.start(engine)
        rig.folders.lend(run, {"HOME": "/home/you", "SM_SESSION": "the wrapper's"})

        await engine.recoveries.inherit(
            left(engine.session(ADA)), NOTHING, evidence="it was killed"
        )

        mine = {"HOME": "/home/you", "SM_SESSION": "run1"}
        assert rig.folders.prepared.get(run) == (mine if keeps else None)


async def test_a_killed_run_is_not_ours_before_its_agent_would_report_to_us(rig: Rig) -> None:
    """The disk is full: with the wrapper's identity it would be brought back for nobody."""
    run = SessionId("run1")
    async with rig.running() as engine:
        await rig.start(engine)
        rig.folders.lend(run, {"HOME": "/home/you", "SM_SESSION": "the wrapper's"})
        killed = left(engine.session(ADA))
        rig.folders.full = True
        with pytest.raises(OSError, match="No space left"):
            await engine.recoveries.inherit(killed, NOTHING, evidence="it was killed")
        rig.folders.full = False
        rig.folders.trouble = OSError(errno.EMFILE, "Too many open files")
        with pytest.raises(OSError, match="Too many open files"):
            await engine.recoveries.inherit(killed, NOTHING, evidence="it was killed")
        rig.folders.trouble = None

        again = await engine.recoveries.inherit(killed, NOTHING, evidence="it was killed")

        assert again is not None
        assert rig.folders.prepared[run]["SM_SESSION"] == "run1"


async def test_a_name_that_is_taken_is_not_given_twice(rig: Rig) -> None:
    async with rig.running() as engine:
        await engine.sessions.new(new(SessionId("run")))
        await rig.start(engine)

        run = await engine.recoveries.inherit(
            left(engine.session(ADA)), NOTHING, evidence="it was killed"
        )

        assert run is not None
        assert run.name != "run"


async def test_how_long_a_log_is_is_reckoned_from_its_end(rig: Rig, tmp_path: Path) -> None:
    """A gigabyte is not read for a number in a list."""
    from sm.engine.recoveries import COUNTED, _lines

    log = tmp_path / "raw.log"
    log.write_bytes(b"a line\n" * 1000)
    assert _lines(log) == 1000
    log.write_bytes(b"1234567\n" * (COUNTED // 4))
    assert _lines(log) == COUNTED // 4
    assert _lines(tmp_path / "none") == 0
