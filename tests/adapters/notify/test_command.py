"""The person's own command, really run."""

import os
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from sm.adapters.notify.command import run_command
from tests.kit.tmux import wait_until

pytestmark = pytest.mark.anyio
WORDS = "ada crashed; $(touch x) `y` \"z\" 'ü'"


def program(folder: Path, body: str) -> str:
    file = folder / "tell me"
    file.write_text(f"#!{sys.executable} -IS\nimport sys, os, time\n{body}\n")
    file.chmod(0o700)
    return f"'{file}' --urgent 'two words'"


async def test_the_text_is_the_last_argument_and_the_input(tmp_path: Path) -> None:
    """Exactly as it is: there is no shell that could take it for something else."""
    told = tmp_path / "told"
    command = program(
        tmp_path, f"open({str(told)!r}, 'w').write(repr((sys.argv[1:], sys.stdin.read())))"
    )

    assert await run_command(command, WORDS) is None
    assert told.read_text() == repr((["--urgent", "two words", WORDS], WORDS + "\n"))


async def test_a_failure_is_told_in_words(tmp_path: Path) -> None:
    assert await run_command(program(tmp_path, "sys.exit(3)"), "x") == "it ended with exit code 3"
    assert (await run_command("/no/such/program", "x") or "").startswith(
        "it could not be started: [Errno 2]"
    )
    assert (await run_command("true", "a\0b") or "").startswith("it could not be started: ")


async def test_a_command_that_hangs_is_ended_with_what_it_started(tmp_path: Path) -> None:
    """Nobody waits for it, and nothing of it is left."""
    pids = tmp_path / "pids"
    file = tmp_path / "hangs"
    # A shell: it has begun within the second also where others want the processor.
    file.write_text(f"#!/bin/sh\nsleep 1000 &\necho $$ $! > '{pids}'\nwait\n")
    file.chmod(0o700)
    began = time.monotonic()
    why = await run_command(str(file), "x", within=1.0)

    assert (why, time.monotonic() - began < 5) == ("it did not end within 1 s and was ended", True)
    for pid in map(int, pids.read_text().split()):
        # Killed is not dead at once.
        wait_until(partial(_is_over, pid))


def _is_over(pid: int) -> bool:
    """Gone, or dead and not yet reaped by whoever has to."""
    try:
        os.kill(pid, 0)
        return "Z" in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return True


async def test_a_command_may_close_or_ignore_its_input(tmp_path: Path) -> None:
    """And print what it likes."""
    body = "os.close(0); print('x' * 1000000)"

    assert await run_command(program(tmp_path, body), "x" * 1_000) is None
