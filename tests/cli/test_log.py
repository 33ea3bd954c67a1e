"""sm log"""

import subprocess

from sm.api.types import LogView
from tests.cli.conftest import refusal
from tests.kit.sm import SM, Sm


def test_the_log_is_everything_that_was_shown(sm: Sm) -> None:
    """Also what has scrolled off; --text is the same."""
    sm.run("new", "talker", "--agent", "sh -c 'seq 1 200; sleep 60'")
    sm.run("kill", "talker")

    assert sm.run("log", "talker").split() == [str(n) for n in range(1, 201)]
    assert sm.run("log", "talker", "--text") == sm.run("log", "talker")
    assert sm.run("log", "talker", "--lines", "2") == "199\n200\n"


def test_raw_gives_the_bytes_as_they_came(sm: Sm) -> None:
    """With colours and all."""
    done = subprocess.run(
        [str(SM), "log", "bob", "--raw"], env=sm.environment, capture_output=True, check=True
    )

    assert b"\x1b[" in done.stdout
    with open(sm.json("show", "bob")["raw_log"], "rb") as file:  # noqa: PTH123
        assert file.read().startswith(done.stdout)


def test_json_has_exactly_the_documented_keys(sm: Sm) -> None:
    """The lines, and where the raw log is."""
    log = sm.json("log", "gone")

    assert list(log) == list(LogView.__annotations__)
    assert log["path"] == sm.json("show", "gone")["raw_log"]


def test_raw_and_text_together_are_wrong_usage(sm: Sm) -> None:
    """Exit 2."""
    assert refusal(sm, "log", "bob", "--raw", "--json") == (
        2, "--raw gives bytes; --json goes with --text.",
    )  # fmt: skip
    assert sm.start("log", "bob", "--raw", "--text").returncode == 2


def test_a_raw_log_that_is_gone_is_told(sm: Sm) -> None:
    """In words."""
    session = sm.run("new", "lost", "--agent", "cat").strip()
    sm.run("kill", "lost")
    (sm.home.sessions / session / "raw.log").unlink()

    assert refusal(sm, "log", "lost", "--raw") == (
        1, "Its raw log cannot be read: No such file or directory.",
    )  # fmt: skip
    assert sm.run("log", "lost") == ""


def test_a_number_of_lines_below_none_is_wrong_usage(sm: Sm) -> None:
    """Not quietly all of them; 0 is all."""
    done = sm.start("log", "ada", "--lines", "-5")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("argument --lines: '-5' is no whole number from 0 on\n")
    assert sm.run("log", "gone", "--lines", "0") == sm.run("log", "gone")


def test_bytes_are_not_counted_in_lines(sm: Sm) -> None:
    """What cannot be done is not passed over."""
    assert refusal(sm, "log", "ada", "--raw", "--lines", "3") == (
        2, "--raw gives bytes; --lines goes with --text.",
    )  # fmt: skip
