"""What may stand in the way of typing, done to an agent of the scripted world."""

from collections.abc import Callable

from sm.core.terminal import Obstacle, Sign
from tests.engine.agent import Agent


def gone(agent: Agent) -> None:
    agent.gone = True


def dead(agent: Agent) -> None:
    agent.dead = True


def stopped(agent: Agent) -> None:
    agent.stopped = True


def background(agent: Agent) -> None:
    agent.foreground = False


def copy_mode(agent: Agent) -> None:
    agent.in_mode, agent.leaves_mode = True, False


def dialog(agent: Agent) -> None:
    agent.sign = Sign.DIALOG


def busy(agent: Agent) -> None:
    agent.sign = Sign.BUSY


OBSTACLES: list[tuple[Callable[[Agent], None], Obstacle]] = [
    (gone, Obstacle.PANE_GONE),
    (dead, Obstacle.AGENT_GONE),
    (stopped, Obstacle.STOPPED),
    (background, Obstacle.NOT_FOREGROUND),
    (copy_mode, Obstacle.COPY_MODE),
    (dialog, Obstacle.DIALOG),
]
"""In the order in which they are named when several stand in the way."""
