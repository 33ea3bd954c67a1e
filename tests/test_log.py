"""What the long-lived processes load."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["sm.daemon.worker", "sm.wrapper.root"])
def test_loads_nothing_for_a_terminal(module: str) -> None:
    """3 MB of every daemon's and wrapper's memory; `sm.log` says how it is kept out."""
    slow = ["rich", "pygments", "alembic"]
    code = f"import sys, {module}; print(*[m for m in {slow} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == []


def test_leaves_rich_to_others() -> None:
    code = "import sm.log; import rich.console; print(rich.console.Console)"
    subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, check=True)
