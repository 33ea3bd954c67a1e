"""Starting, naming and ending sessions, answered when it is on the disk."""

import asyncio
from dataclasses import replace

import pytest

from sm.core.ids import SessionId
from sm.core.monitor import is_watching
from sm.core.state import USUAL, Session, State
from sm.engine.naming import NameRefusedError, NotFoundError, RefusedError
from sm.engine.sessions import LAUNCH_WITHIN
from tests.engine.rig import ADA, BOB, FlakyStore, Rig, new


async def test_a_new_session_is_there_when_the_call_returns(rig: Rig, flaky: FlakyStore) -> None:
    """Stored, launched, and given its first prompt as a message."""
    async with rig.running() as engine:
        session = await engine.sessions.new(new(prompt="hello"))

        assert session.pane == rig.world.agent().pane
        assert [m.text for m in session.messages] == ["hello"]
    assert flaky.kinds[0] == ["SessionRequested", "MessageQueued"]


async def test_the_same_request_again_is_the_same_session(rig: Rig) -> None:
    """A caller who was not answered asks once more."""
    async with rig.running() as engine:
        first = await engine.sessions.new(new())

        assert (await engine.sessions.new(new())).created_at == first.created_at
    assert rig.world.calls == ["launch ada"]


async def test_the_same_request_at_the_same_time_is_the_same_session(rig: Rig) -> None:
    """A caller who was not answered asks again while the first is still looked at."""
    async with rig.running() as engine:
        asked = [engine.sessions.new(new(prompt="hello")) for _ in range(3)]

        ids = {session.id for session in await asyncio.gather(*asked)}
        assert ids == {ADA}
        assert [m.text for m in engine.session(ADA).messages] == ["hello"]
    assert rig.world.calls.count("launch ada") == 1


async def test_sessions_that_begin_at_the_same_time_have_names_of_their_own(rig: Rig) -> None:
    """Three with a name that is found for them, and of two that ask for one, the first."""
    async with rig.running() as engine:
        asked = [engine.sessions.new(new(SessionId(f"s{n}"), name=None)) for n in range(3)]
        names = {session.name for session in await asyncio.gather(*asked)}
        assert names == {"scripted-1", "scripted-2", "scripted-3"}

        twice = [engine.sessions.new(new(SessionId(f"t{n}"), name="twin")) for n in range(2)]
        told = await asyncio.gather(*twice, return_exceptions=True)
        assert [isinstance(one, NameRefusedError) for one in told] == [False, True]
        assert set(rig.folders.prepared) == {session.id for session in engine.loop.sessions}


async def test_a_name_that_is_taken_while_a_session_is_prepared_is_nobody_elses(rig: Rig) -> None:
    """Another session is given it meanwhile: then it is refused, and nothing is left of it."""
    async with rig.running() as engine:
        await rig.start(engine)
        asked = engine.sessions.new(new(BOB, name="eve")), engine.sessions.rename("ada", "eve")

        refused, renamed = await asyncio.gather(*asked, return_exceptions=True)

        assert isinstance(refused, NameRefusedError)
        assert isinstance(renamed, Session)
        assert list(rig.folders.prepared) == [ADA]


async def test_a_session_gets_the_callers_environment_without_the_callers_identity(
    rig: Rig,
) -> None:
    """What marks the caller's own agent stays out; who the new one is goes in."""
    environment = {"PATH": "/bin", "CLAUDECODE": "1", "SM_SESSION": "the caller"}
    async with rig.running() as engine:
        await engine.sessions.new(new(environment=environment))

    assert rig.folders.prepared[ADA] == {"PATH": "/bin", "SM_SESSION": "ada"}


async def test_a_session_without_a_name_is_given_one(rig: Rig) -> None:
    """After its agent, with a number; a taken name is refused."""
    async with rig.running() as engine:
        assert (await engine.sessions.new(new(name=None))).name == "scripted-1"
        with pytest.raises(NameRefusedError):
            await engine.sessions.new(new(BOB, name="scripted-1"))


async def test_a_runs_name_is_taken_for_a_new_session_and_for_an_old_one(rig: Rig) -> None:
    """Until the run's session is ours itself."""
    rig.runs["0a1b2c3d"] = "ws"
    async with rig.running() as engine:
        with pytest.raises(NameRefusedError, match="ws is taken"):
            await engine.sessions.new(new(name="ws"))
        await engine.sessions.new(new())
        with pytest.raises(NameRefusedError, match="ws is taken"):
            await engine.sessions.rename("ada", "ws")

        rig.runs[ADA] = "ada"
        assert (await engine.sessions.rename("ada", "ada")).name == "ada"


async def test_an_agent_that_is_not_there_is_refused_before_anything_is_stored(rig: Rig) -> None:
    """The person hears what is missing."""
    async with rig.running() as engine:
        with pytest.raises(RefusedError, match="missing is not a program"):
            await engine.sessions.new(new(agent="missing"))

        assert list(engine.loop.sessions) == []


async def test_a_parent_is_found_by_its_name(rig: Rig) -> None:
    """A child knows who started it."""
    async with rig.running() as engine:
        await engine.sessions.new(new())
        child = await engine.sessions.new(new(BOB, parent="ada"))

        assert child.parent == ADA


async def test_a_parent_may_be_a_run(rig: Rig) -> None:
    """Its session is its own, and not ours to find; its agent begins sessions all the same."""
    rig.runs["0a1b2c3d"] = "run"
    async with rig.running() as engine:
        child = await engine.sessions.new(new(BOB, parent="0a1b2c3d"))

        assert child.parent == "0a1b2c3d"
        with pytest.raises(NotFoundError):
            await engine.sessions.new(new(parent="ffffffff"))


async def test_a_launch_that_fails_is_told_in_the_session(rig: Rig) -> None:
    """The call returns with a session that says what happened."""
    rig.world.refuses_launch = True
    async with rig.running() as engine:
        session = await engine.sessions.new(new())

        assert session.state is State.CRASHED
        assert session.verdict.says == "could not start: /shop is not a folder"


async def test_a_killed_session_has_ended_when_the_call_returns(rig: Rig) -> None:
    """Asked for again, it is what was asked for: nothing more is done."""
    async with rig.running() as engine:
        await rig.start(engine)

        assert (await engine.sessions.kill("ada", by="you")).state is State.ENDED
        assert (await engine.sessions.kill("ada", by="you")).state is State.ENDED
    assert rig.world.calls == ["launch ada", "kill ada"]


async def test_a_kill_that_tmux_does_not_answer_says_so(rig: Rig) -> None:
    """And can be asked for again."""
    async with rig.running() as engine:
        await rig.start(engine)
        rig.world.silent = True
        before = engine.clock.now()
        with pytest.raises(RefusedError, match="ada could not be ended yet"):
            await engine.sessions.kill("ada", by="you")
        assert engine.clock.now() - before == pytest.approx(LAUNCH_WITHIN)

        rig.world.silent = False
        assert (await engine.sessions.kill("ada", by="you")).state is State.ENDED


async def test_a_session_is_renamed_here_and_in_tmux(rig: Rig) -> None:
    """Its own name is not taken by itself."""
    async with rig.running() as engine:
        await rig.start(engine)
        assert (await engine.sessions.rename("ada", "ada")).name == "ada"
        assert (await engine.sessions.rename("ada", "grace")).name == "grace"
        await asyncio.sleep(1)

        assert rig.world.agent().tmux_name == "grace"
        assert engine.find("grace").id == ADA


async def test_an_opt_out_outlives_the_daemon_and_its_configuration(rig: Rig) -> None:
    """Thresholds are the configuration's, whether to be warned is the session's."""
    rig.thresholds = replace(USUAL, enabled=False)
    async with rig.running() as engine:
        await rig.start(engine, monitored=False)
        await rig.start(engine, BOB)

    rig.thresholds = replace(USUAL, tool_count=7)
    async with rig.running() as engine:
        ada, bob = engine.session(ADA), engine.session(BOB)
        assert ada.thresholds == bob.thresholds == rig.thresholds
        assert (is_watching(ada), is_watching(bob)) == (False, True)

        assert is_watching(await engine.sessions.monitor("ada", on=True))
        await engine.sessions.kill("ada", by="a test")
        with pytest.raises(RefusedError, match="ada has ended"):
            await engine.sessions.monitor(ADA, on=False)
