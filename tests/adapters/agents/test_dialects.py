"""Which dialect a person gets for what they write after --agent."""

import subprocess
import sys

import pytest

from sm.adapters.agents import Dialects
from sm.engine.ports import Dialect
from sm.engine.ports import Dialects as DialectsPort


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("claude", "claude"),
        ("demo", "demo"),
        ("generic", "generic"),
        ("aider --yes", "generic"),
        ("/usr/bin/claude", "generic"),
        ("", "generic"),
    ],
)
def test_an_agent_has_the_dialect_of_its_name(agent: str, name: str) -> None:
    port: DialectsPort = Dialects()
    dialect: Dialect = port.named(agent)

    assert dialect.name == name
    assert dialect.proves is (name != "generic")


def test_a_dialect_is_made_once() -> None:
    dialects = Dialects()

    assert dialects.named("demo") is dialects.named("demo")


def test_naming_the_dialects_loads_none_of_them() -> None:
    """The hook stub and the demo agent live in this package and must start quickly."""
    code = "import sys, sm.adapters.agents; print('msgspec' in sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)

    assert done.stdout == "False\n"


def test_a_new_agent_has_nothing_of_who_and_where_its_caller_is() -> None:
    """A run has a home of its own; whoever it starts is not to speak to it."""
    theirs = {
        "CLAUDE_SESSION_MANAGER_ID": "0a1b2c3d", "SM_CONFIG": "/c", "SM_HOME": "/runs/0a1b2c3d",
        "SM_SESSION_TOKEN": "t", "TMUX": "1",
    }  # fmt: skip

    assert Dialects().clean({**theirs, "HOME": "/home/you"}) == {"HOME": "/home/you"}
