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
