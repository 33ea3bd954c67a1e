"""Finding the agent in a pane, taking it over, and letting it go again."""

from typing import Any

import pytest

from sm.core.adoption import Process
from sm.core.ids import ContextId, HookId, SessionId
from sm.core.state import State
from sm.core.terminal import AgentStatus, Sign
from sm.engine.engine import Engine
from sm.engine.naming import RefusedError
from sm.engine.sessions import NewAdoption
from tests.engine.agent import STARTED, Agent
from tests.engine.rig import ADA, BOB, FlakyStore, Rig, said

pytestmark = pytest.mark.anyio
STRANGER = SessionId("stranger")


def stranger(rig: Rig, name: str = STRANGER) -> Agent:
    """An agent that somebody else started."""
    agent = rig.world.add(SessionId(name))
    agent.status = AgentStatus(sign=Sign.PROMPT, at=0.0, detail="idle")
    return agent


def wanted(there: Agent | None = None, /, **changes: Any) -> NewAdoption:
    pane = there.pane.id if there is not None else "%77"
    plain: dict[str, Any] = {"id": ADA, "pane": pane, "socket": None, "name": "ada", "agent": None}
    return NewAdoption(**{**plain, **changes})


async def adopt(rig: Rig, engine: Engine) -> Agent:
    agent = stranger(rig)
    await engine.sessions.adopt(wanted(agent))
    return agent


async def refusal(engine: Engine, request: NewAdoption) -> str:
    with pytest.raises(RefusedError) as refused:
        await engine.sessions.adopt(request)
    return str(refused.value)


async def test_an_agent_that_runs_becomes_a_session(rig: Rig) -> None:
    """It is tagged, not started; its own file says what it does."""
    async with rig.running() as engine:
        agent = stranger(rig)

        session = await engine.sessions.adopt(wanted(agent))

        assert (session.state, session.pane) == (State.IDLE, agent.pane)
        assert (session.agent, session.arguments) == ("scripted", ("--fast",))
        assert session.context.transcript == "/transcripts/stranger"
        assert rig.world.calls == ["take ada"]
        assert rig.folders.adopted == {ADA}


async def test_the_same_request_again_is_the_same_session(rig: Rig) -> None:
    """A caller whose answer was lost asks again."""
    async with rig.running() as engine:
        agent = await adopt(rig, engine)

        assert (await engine.sessions.adopt(wanted(agent))).id == ADA
        assert rig.world.calls == ["take ada"]


async def test_one_without_a_file_is_judged_by_its_screen(rig: Rig) -> None:
    """Before its first turn it may not say anything of itself."""
    async with rig.running() as engine:
        agent = stranger(rig)
        agent.status = None

        assert (await engine.sessions.adopt(wanted(agent))).state is State.IDLE


async def test_what_is_not_there_is_refused(rig: Rig) -> None:
    """With what was found in its place."""
    async with rig.running() as engine:
        assert (await refusal(engine, wanted())).startswith("There is no pane '%77' on sm's own")
        assert "on /tmp/x or on sm's own" in await refusal(engine, wanted(socket="/tmp/x"))
        agent = stranger(rig, "other")
        assert await refusal(engine, wanted(agent)) == (
            "No agent that sm knows runs in pane %1 of tmux session other: other (process 101)."
        )
        assert "does not recognise a running 'cat'" in await refusal(
            engine, wanted(agent, agent="cat")
        )
        agent.die()
        assert "has ended" in await refusal(engine, wanted(agent))
        rig.world.silent = True
        assert "(no answer)" in await refusal(engine, wanted(agent))


async def test_a_pane_is_one_session(rig: Rig) -> None:
    """Until that is over; a tag that was left behind is removed."""
    async with rig.running() as engine:
        agent = await adopt(rig, engine)
        again = wanted(agent, id=BOB, name="bob")
        assert "is already session ada" in await refusal(engine, again)
        await engine.sessions.release("ada", by="a test")
        agent.owner = SessionId("lost")

        assert (await engine.sessions.adopt(again)).state is State.IDLE
        assert agent.owner == BOB


async def test_a_started_session_is_not_adopted_again(rig: Rig) -> None:
    """By its process, should its pane have lost its tag."""
    async with rig.running() as engine:
        started = await rig.start(engine, STRANGER)

        told = await refusal(engine, wanted(started))

        assert "is already session stranger" in told


async def test_of_several_the_one_with_the_terminal_is_meant(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One was put into the background; two in front cannot be told apart."""
    front: list[bool] = [True, False]

    def tree(pid: int) -> list[Process]:
        return [
            Process(
                pid=pid + n, parent=1, started=STARTED, name=f"stranger{n}", command=("x",),
                environment={}, foreground=foreground,
            )
            for n, foreground in enumerate(front)
        ]  # fmt: skip

    monkeypatch.setattr(type(rig.processes), "tree", lambda _self, pid: tree(pid))
    async with rig.running() as engine:
        agent = stranger(rig)
        front[:] = [True, True]
        assert "several agents" in await refusal(engine, wanted(agent))
        front[:] = [True, False]

        session = await engine.sessions.adopt(wanted(agent))

        assert session.pane is not None
        assert session.pane.pid == agent.pane.pid


async def test_messages_are_typed_and_proved_by_its_record(rig: Rig) -> None:
    """Not one hook comes: its transcript shows that the model was given the message."""
    async with rig.running() as engine:
        agent = await adopt(rig, engine)
        await engine.mail.send(said(1))
        assert await engine.loop.wait_until(lambda: len(agent.got) == 1, 60)
        agent.hooks.clear()
        agent.status = AgentStatus(sign=Sign.PROMPT, at=0.0, detail="idle")
        agent.sign = Sign.PROMPT

        done = await engine.loop.wait_until(lambda: not engine.session(ADA).messages, 60)
        message = await engine.mail.message(said(1).id)

        assert (done, message.state.value) == (True, "done"), message
        assert "transcript" in str(message.receipts)
        assert (len(agent.got), agent.wrongs) == (1, [])


async def test_a_turn_that_a_person_begins_is_noticed_while_idle(rig: Rig) -> None:
    """No hook tells of it; its own file does."""
    async with rig.running() as engine:
        agent = await adopt(rig, engine)
        agent.status = AgentStatus(sign=Sign.BUSY, at=engine.clock.now(), detail="busy")

        assert await engine.loop.wait_until(lambda: engine.session(ADA).state is State.WORKING, 10)


async def test_an_idle_one_costs_no_commits(rig: Rig, flaky: FlakyStore) -> None:
    """It is looked at again and again; that is no news."""
    async with rig.running() as engine:
        await adopt(rig, engine)
        await engine.loop.wait_until(lambda: False, 5)
        before = len(flaky.batches)

        await engine.loop.wait_until(lambda: False, 60)

        assert len(flaky.batches) == before


async def test_ending_it_ends_its_process_and_no_tmux_session(rig: Rig) -> None:
    """What else runs there is not ours."""
    async with rig.running() as engine:
        agent = await adopt(rig, engine)

        session = await engine.sessions.kill("ada", by="a test")

        assert session.state is State.ENDED
        assert agent.dead
        assert "kill ada" not in rig.world.calls
        assert rig.folders.adopted == set()


async def test_letting_go_leaves_it_running(rig: Rig) -> None:
    """Without a tag and without the mark that makes installed hooks call us."""
    async with rig.running() as engine:
        agent = await adopt(rig, engine)

        session = await engine.sessions.release("ada", by="a test")

        assert (session.state, agent.dead, agent.owner) == (State.ENDED, False, None)
        assert rig.folders.adopted == set()


async def test_only_an_adopted_session_can_be_let_go(rig: Rig) -> None:
    """An agent that sm started would be lost."""
    async with rig.running() as engine:
        await rig.start(engine)

        with pytest.raises(RefusedError, match="was started by sm"):
            await engine.sessions.release("ada", by="a test")


@pytest.mark.parametrize(("leaves", "state"), [(True, State.ENDED), (False, State.CRASHED)])
async def test_its_end_is_judged_by_what_it_leaves_behind(
    rig: Rig, leaves: bool, state: State
) -> None:
    """Nobody knows its exit code; a client that takes its leave removes its own file."""
    async with rig.running() as engine:
        agent = await adopt(rig, engine)
        agent.status = None if leaves else agent.status
        agent.die()

        await engine.watch.inspect(ADA)

        assert engine.session(ADA).state is state
        assert await engine.loop.wait_until(lambda: "release ada" in rig.world.calls, 10)
        assert rig.folders.adopted == set()


async def test_after_a_restart_it_is_there_again(rig: Rig) -> None:
    """Its mark is set again, too."""
    async with rig.running() as engine:
        agent = await adopt(rig, engine)
    rig.folders.adopted.clear()

    async with rig.running() as engine:
        await engine.mail.send(said(1))
        assert await engine.loop.wait_until(lambda: len(agent.got) == 1, 60)

    assert rig.folders.adopted == {ADA}


# --- hooks that name no session ----------------------------------------------------------------


async def stray(engine: Engine, payload: str) -> bytes:
    return await engine.reports.take_stray(
        payload.encode(), hook=HookId(f"hook of {payload}"), at=engine.clock.now()
    )


async def test_an_adopted_agent_is_not_taught_what_it_cannot_do(rig: Rig) -> None:
    """It has no token to hand over with."""
    rig.teaches = True
    async with rig.running() as engine:
        agent = await adopt(rig, engine)
        agent.waits = True
        agent.hooks = [agent.clear()]

        answer = await engine.reports.take(
            ADA, b"stranger 0", hook=HookId("h"), at=engine.clock.now(), answerable=True
        )

        assert (engine.session(ADA).context.number, answer) == (2, b"")


async def test_a_hook_of_an_adopted_client_is_taken_in(rig: Rig) -> None:
    """By the client's own id; from then on its hooks are routes."""
    async with rig.running() as engine:
        agent = await adopt(rig, engine)
        agent.use_tool()

        await stray(engine, "stranger 0")

        assert engine.session(ADA).state is State.WORKING
        assert engine.session(ADA).heard


async def test_a_hook_of_any_other_client_changes_nothing(rig: Rig, flaky: FlakyStore) -> None:
    """One nobody adopted, a nested one, or no hook at all."""
    async with rig.running() as engine:
        await adopt(rig, engine)
        other = rig.world.add(SessionId("nested"))
        other.use_tool()
        await engine.loop.wait_until(lambda: False, 5)
        before = len(flaky.batches)

        assert await stray(engine, "nested 0") == b""
        assert await stray(engine, "noise") == b""

        assert len(flaky.batches) == before


async def test_a_hook_after_a_clear_is_known_by_the_clients_own_file(rig: Rig) -> None:
    """The new id is news to us; the file of the very process says whose it is."""
    async with rig.running() as engine:
        agent = await adopt(rig, engine)
        new = rig.world.add(SessionId("cleared"))
        new.use_tool()
        agent.status = AgentStatus(
            sign=Sign.PROMPT, at=0.0, detail="idle", context=ContextId("context of cleared"),
            transcript="/transcripts/cleared",
        )  # fmt: skip

        await stray(engine, "cleared 0")

        session = engine.session(ADA)
        assert (session.state, session.context.number) == (State.WORKING, 2)
        assert session.context.transcript == "/transcripts/cleared"
