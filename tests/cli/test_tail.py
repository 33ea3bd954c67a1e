"""sm tail"""

import signal
import subprocess

from sm.api.types import ScreenView
from tests.cli.conftest import refusal
from tests.kit.sm import SM, Sm


def test_the_screen_is_printed_without_the_empty_rows_below(sm: Sm) -> None:
    """What a person would see in the terminal."""
    screen = sm.run("tail", "bob")

    assert screen.startswith("✻ Demo agent · ")
    assert " Do you want to proceed?\n" in screen
    assert screen.splitlines()[-1] == " Esc to cancel"


def test_json_has_exactly_the_documented_keys(sm: Sm) -> None:
    """All rows, with the size."""
    screen = sm.json("tail", "ada")

    assert list(screen) == list(ScreenView.__annotations__)
    assert len(screen["lines"]) == screen["height"]


def test_following_prints_again_when_the_screen_changes(sm: Sm) -> None:
    """Until interrupted, without a traceback."""
    with subprocess.Popen(
        # Started in a shell's background, we would hand on that interrupts are ignored.
        ["env", "--default-signal=INT", str(SM), "tail", "ada", "-f"],
        env=sm.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as tail:
        assert tail.stdout is not None
        assert tail.stdout.readline()
        sm.run("send", "ada", "%say something new", "--wait", "20")
        while "● something new" not in (line := tail.stdout.readline()):
            assert line
        tail.send_signal(signal.SIGINT)
        rest, errors = tail.communicate(timeout=20)

    assert (tail.returncode, errors) == (130, "")
    assert "\x1b" not in rest


def test_an_ended_session_has_no_screen(sm: Sm) -> None:
    """Its past can be read."""
    assert refusal(sm, "tail", "gone") == (1, "gone's terminal is gone. See: sm log gone")


def test_a_reader_that_leaves_ends_it_though_nothing_changes(sm: Sm) -> None:
    sm.run("new", "quiet", "--agent", "cat")
    line = f"{SM} tail quiet -f | head -1"
    done = subprocess.run(
        ["sh", "-c", line], env=sm.environment, timeout=20, capture_output=True, text=True
    )

    assert (done.returncode, done.stderr) == (0, "")
