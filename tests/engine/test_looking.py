"""A look goes to the session's own pane, also after tmux began to count anew."""

from sm.core.state import State
from sm.engine.engine import Engine
from tests.engine.rig import ADA, BOB, Rig, new


async def restart_tmux(rig: Rig, engine: Engine) -> None:
    """ada is gone with the server; bob is the first in the next one."""
    del rig.world.agents[ADA]
    await rig.start(engine, BOB)


async def test_a_session_without_a_pane_shows_nothing(rig: Rig) -> None:
    rig.world.refuses_launch = True
    async with rig.running() as engine:
        session = await engine.sessions.new(new())

        assert await engine.look(session) is None


async def test_the_pane_of_a_dead_server_shows_nobody_elses_screen(rig: Rig) -> None:
    """The same id belongs to another session there; the old pane is gone."""
    async with rig.running() as engine:
        await rig.start(engine)
        assert await engine.look(engine.session(ADA)) is not None

        await restart_tmux(rig, engine)

        ada, bob = engine.session(ADA), engine.session(BOB)
        assert ada.pane is not None
        assert bob.pane is not None
        assert ada.pane.id == bob.pane.id
        assert await engine.look(ada) is None
        assert await engine.look(bob) is not None


async def test_an_agent_of_a_dead_server_is_found_gone_although_its_pane_id_lives(rig: Rig) -> None:
    """Even if a process with its number lives: the pane is somebody else's."""
    async with rig.running() as engine:
        await rig.start(engine)
        await restart_tmux(rig, engine)

        await engine.watch.inspect(ADA)

        assert engine.session(ADA).state is State.CRASHED
        assert engine.session(BOB).state is State.IDLE
