"""What may stand in the way of typing, done to an agent of the scripted world."""

from sm.core.terminal import Sign
from tests.engine.world import Agent


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
