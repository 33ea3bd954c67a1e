"""What can be wrong with folders."""

import subprocess
import sys


def test_importing_it_loads_nothing_else() -> None:
    """Every command does, whether or not something is wrong."""
    code = (
        "import sys; old = set(sys.modules); import sm.settings.errors;"
        "print(*set(sys.modules) - old)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    )

    assert set(done.stdout.split()) <= {"sm", "sm.settings", "sm.settings.errors"}
