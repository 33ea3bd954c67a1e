"""What can go wrong between a command and the daemon."""

import subprocess
import sys

from sm.api.errors import RefusedError, StartError, UnreachableError


def test_a_refusal_is_its_words_and_its_status() -> None:
    """The words are for people, the status for code."""
    error = RefusedError("ada has ended.", 409)

    assert (str(error), error.status) == ("ada has ended.", 409)


def test_a_daemon_that_did_not_start_cannot_be_reached_either() -> None:
    """Both are exit 2; whoever handles the one handles the other."""
    assert issubclass(StartError, UnreachableError)
    assert not issubclass(RefusedError, UnreachableError)


def test_importing_them_loads_nothing_else() -> None:
    """Every command does, whether or not something goes wrong."""
    code = "import sys; old = set(sys.modules); import sm.api.errors; print(*set(sys.modules)-old)"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    )

    assert set(done.stdout.split()) <= {"sm", "sm.api", "sm.api.errors"}
