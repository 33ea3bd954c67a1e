"""A demo agent in a private tmux for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .rig import Demo, Server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    tmux = Server()
    tmux.start()
    yield tmux
    tmux.stop()


@pytest.fixture
def demo(server: Server, tmp_path: Path) -> Iterator[Demo]:
    agent = Demo(server, tmp_path)
    yield agent
    if agent.pane:
        server("kill-session", "-t", agent.pane)
