"""Errors that a command turns into one line."""

import subprocess
import sys


def test_the_errors_cost_nothing_to_import() -> None:
    """`sm version` imports them and must start fast."""
    seen = "import sys, sm.settings.errors, sm.api.errors; print('socket' in sys.modules)"

    told = subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True, check=True)

    assert told.stdout == "False\n"
