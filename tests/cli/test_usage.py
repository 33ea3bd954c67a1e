"""The parser that all commands share."""

import pytest

from tests.cli.conftest import FULL, start_full
from tests.kit.sm import Sm


@pytest.mark.parametrize("buffered", ["", "1"])
def test_help_that_cannot_be_written_is_told(sm: Sm, buffered: str) -> None:
    """Of one command as of all, also where Python was told not to buffer."""
    for line in ("--help", "ls --help"):
        done = start_full(sm, *line.split(), environment={"PYTHONUNBUFFERED": buffered})
        assert (done.returncode, done.stderr) == (1, f"{FULL}\n")


@pytest.mark.parametrize("line", ["send ada -x", "send ada --what=x", "remind ada -x --in 1h"])
def test_a_text_that_looks_like_an_option_is_told_its_way(sm: Sm, line: str) -> None:
    """Two dashes before it."""
    word = next(word for word in line.split() if word.startswith("-"))
    done = sm.start(*line.split())

    assert done.returncode == 2
    assert done.stderr.endswith(f". If '{word}' is the text, write -- before it\n")


@pytest.mark.parametrize("line", ["send ada", "ls -x", "send ada --wait x y", "send ada -- -x y"])
def test_other_errors_are_told_as_they_are(sm: Sm, line: str) -> None:
    """Where no text is meant, or none is given."""
    done = sm.start(*line.split())

    assert done.returncode == 2
    assert "write --" not in done.stderr
