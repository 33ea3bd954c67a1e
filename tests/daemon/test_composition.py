"""The engine put together, as both the daemon and a wrapped agent have it."""

from pathlib import Path

import pytest

from sm.adapters.archive.render import render
from sm.adapters.channels.book import ChannelBook
from sm.adapters.pty.terminal import PtyTerminal
from sm.adapters.store import open_store
from sm.adapters.system import ProcessTable
from sm.core.ids import SessionId
from sm.core.message import Route
from sm.daemon.composition import allowed_routes, compose
from sm.engine.naming import RefusedError
from sm.engine.sessions import NewSession
from sm.log import structlog
from sm.settings.config import Delivery, HandoffSettings, Settings, registry
from sm.settings.home import Home

ADA = SessionId("ada00001")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_all_routes_are_allowed_unless_the_configuration_says_otherwise() -> None:
    routes = allowed_routes(Settings(delivery=Delivery(routes={"claude": ["paste"]})))

    assert list(routes("claude")) == [Route.PASTE]
    assert list(routes("demo")) == list(Route)


def test_an_agent_may_be_left_without_any_route() -> None:
    """Its messages wait for a person, who asked for that."""
    assert list(allowed_routes(Settings(delivery=Delivery(routes={"demo": []})))("demo")) == []


async def test_a_session_has_the_rules_of_the_configuration(tmp_path: Path) -> None:
    """What an unattended agent is given: its time, its rest, and how often it may begin anew."""
    settings = Settings(handoff=HandoffSettings(deadline="7s", cooldown="3s"))
    home = Home(tmp_path / "sm", tmp_path / "config.toml", tmp_path / "run", is_default=False)
    home.make()
    store = await open_store(home.store)
    processes = ProcessTable()
    engine = compose(
        home,
        settings,
        store=store,
        terminal=PtyTerminal(started=processes.started, render=render),
        processes=processes,
        routes=allowed_routes(settings),
        hook_url=lambda _: None,
        run_name=lambda _: None,
        run_names=dict,
        log=structlog.get_logger(),
        channels=ChannelBook(home.channels, registry(settings), None),
        restarts=4,
    )
    try:
        async with engine.running("1"):
            session = await engine.sessions.new(_asked("demo"))
            with pytest.raises(RefusedError, match="sm new --agent cat"):
                await engine.sessions.new(_asked("cat", SessionId("bob00001")))
    finally:
        await store.close()

    rules = session.walkaway
    assert rules is not None
    assert (rules.deadline, rules.cooldown, rules.limit) == (7.0, 3.0, 4)
    assert (session.wrapped, session.name) == (True, "ada00001-name")


def _asked(agent: str, session: SessionId = ADA) -> NewSession:
    return NewSession(
        id=session,
        name=f"{session}-name",
        agent=agent,
        arguments=(),
        cwd="/",
        parent=None,
        environment={"PATH": "/usr/bin:/bin", "HOME": "/"},
        prompt=None,
        auto_handoff=True,
        wrapped=True,
    )
