"""What install and uninstall share. How it looks on a terminal is tested with them."""

import argparse

import pytest

from sm.api.errors import RefusedError
from sm.cli.changes import _shown, add_arguments, is_agreed, refuse


def _parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(arguments)


def test_claude_is_meant_unless_another_is_named() -> None:
    """And nobody else's settings can be named yet."""
    assert _parsed().agent == "claude"
    with pytest.raises(SystemExit):
        _parsed("--agent", "nobody")


def test_control_characters_of_a_file_do_not_reach_the_terminal() -> None:
    """A comment could move the cursor and hide what is installed."""
    assert (
        _shown("+ // \x1b[2Jgone\x9b\x00\tx\n\\ No") == "+ // \ufffd[2Jgone\ufffd\ufffd\tx\n\\ No"
    )


@pytest.mark.parametrize("said", ["--yes", "--json"])
def test_who_said_so_beforehand_is_not_asked(said: str) -> None:
    """A script means what it says."""
    assert is_agreed(_parsed(said))


def test_where_nobody_can_answer_nothing_is_agreed() -> None:
    """What is written are a person's own settings."""
    with pytest.raises(RefusedError, match="Nothing was changed: without a terminal"):
        is_agreed(_parsed())


def test_a_refusal_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error, exit 1."""
    assert refuse("No.") == 1
    assert capsys.readouterr() == ("", "sm: No.\n")
