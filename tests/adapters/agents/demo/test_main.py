"""Starting the demo agent."""

import os
import pty
import subprocess
import sys
import time
from pathlib import Path

from .rig import DEADLINE

BUDGET = 0.4


def test_the_prompt_is_drawn_quickly(tmp_path: Path) -> None:
    """About 45 ms on an idle machine; the bound leaves room for a busy one."""
    assert min(_start(tmp_path) for _ in range(3)) < BUDGET


def test_the_program_loads_nothing_slow_before_its_prompt() -> None:
    slow = ["asyncio", "subprocess", "dataclasses", "msgspec", "rich", "inspect", "socket"]
    code = (
        "import sys, sm.adapters.agents.demo.__main__;"
        f"print(*[name for name in {slow} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == []


def test_without_a_terminal_it_says_what_to_do() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-m", "sm.adapters.agents.demo"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 1
    assert done.stderr.startswith("The demo agent needs a terminal.")


def _start(config: Path) -> float:
    """Seconds from the start of the process to its drawn prompt."""
    ours, theirs = pty.openpty()
    began = time.monotonic()
    argv = [sys.executable, "-I", "-m", "sm.adapters.agents.demo"]
    with subprocess.Popen(
        argv, stdin=theirs, stdout=theirs, env={"SM_DEMO_CONFIG": str(config)}
    ) as it:
        drawn = b""
        while "❯\xa0".encode() not in drawn:
            assert time.monotonic() - began < DEADLINE
            drawn += os.read(ours, 4096)
        took = time.monotonic() - began
        it.kill()
    os.close(ours)
    os.close(theirs)
    return took
