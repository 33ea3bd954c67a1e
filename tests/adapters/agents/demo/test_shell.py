"""Commands through /bin/sh, really run."""

import os
import shlex
import sys
import threading
from pathlib import Path

import pytest

from sm.adapters.agents.demo.shell import Ran, StoppedError, run


def test_a_command_gets_its_place_and_gives_back_all_it_said(tmp_path: Path) -> None:
    """It runs in its folder with its input and variables; both outputs and the code return."""
    ran = run(
        'pwd; cat; echo "$COLOUR" >&2; exit 3',
        cwd=str(tmp_path),
        stdin="ä\n",
        environment={"COLOUR": "blue"},
    )

    assert ran == Ran(3, f"{tmp_path}\nä\n", "blue\n")


def test_output_that_is_not_text_is_shown_as_well_as_it_can_be() -> None:
    """A stray byte becomes a question mark; the rest of the output is kept."""
    assert run(r"printf 'a\377b'; printf '\377' >&2", cwd="/") == Ran(0, "a\ufffdb", "\ufffd")


def test_a_command_cannot_reach_the_agents_terminal() -> None:
    """It leads a session of its own, so it can never read keys meant for the prompt."""
    code = "import os; print(os.getsid(0) == os.getpid())"
    line = shlex.join([sys.executable, "-I", "-S", "-c", code])

    assert run(f"exec {line}", cwd="/").stdout == "True\n"


def test_nothing_is_lost_while_watching_for_an_interrupt() -> None:
    """A slow command gets its input once and gives all of its long output."""
    ran = run(
        "cat; sleep 0.1; head -c 300000 /dev/zero",
        cwd="/",
        stdin="in\n",
        interrupt=threading.Event(),
    )

    assert ran == Ran(0, "in\n" + "\0" * 300_000, "")


def test_a_command_slow_to_read_gets_all_of_a_long_input() -> None:
    """More than fits into a pipe, while somebody might press Escape."""
    stdin = "x" * 1_000_000

    ran = run("sleep 0.2; wc -c", cwd="/", stdin=stdin, timeout=10, interrupt=threading.Event())

    assert ran.stdout.strip() == "1000000"


def test_a_command_that_reads_nothing_is_ended_all_the_same() -> None:
    """Its input is still on the way when Escape is pressed."""
    interrupt = threading.Event()
    threading.Timer(0.1, interrupt.set).start()

    with pytest.raises(StoppedError):
        run("sleep 60", cwd="/", stdin="x" * 1_000_000, timeout=10, interrupt=interrupt)


def test_a_command_may_end_without_reading_its_input() -> None:
    assert run("echo done", cwd="/", stdin="x" * 1_000_000).stdout == "done\n"


def test_a_time_limit_ends_a_command() -> None:
    """A command that hangs is given up when its time is over."""
    with pytest.raises(StoppedError):
        run("sleep 60", cwd="/", timeout=0.05)


def test_a_time_limit_holds_while_watching_for_an_interrupt() -> None:
    """Someone who could press Escape but does not changes nothing about the limit."""
    with pytest.raises(StoppedError):
        run("sleep 60", cwd="/", timeout=0.05, interrupt=threading.Event())


def test_an_interrupt_ends_a_command_with_all_it_started(tmp_path: Path) -> None:
    """Escape leaves nothing of a tool behind, not even what it put into the background."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    interrupt = threading.Event()
    read: list[str] = []

    def press_escape() -> None:
        with pipe.open() as end:
            read.append(end.readline())
            interrupt.set()
            # The end of file comes when the last process that holds the pipe is gone.
            read.append(end.read())

    person = threading.Thread(target=press_escape, daemon=True)
    person.start()
    with pytest.raises(StoppedError):
        run(f"(echo up; exec sleep 60) > {pipe} & wait", cwd="/", interrupt=interrupt)

    person.join(10)
    assert read == ["up\n", ""]
