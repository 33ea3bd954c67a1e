"""``python -m sm.daemon``, as the command line starts it."""

import subprocess
import sys

from sm.api import starting
from tests.kit.sm import Sm
from tests.kit.tmux import wait_until


def test_it_serves_until_it_is_told_to_stop(fresh: Sm) -> None:
    """In the foreground too: for a service manager."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-m", "sm.daemon"],
        env=fresh.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    wait_until(lambda: starting.is_running(fresh.home) and starting.answers(fresh.home), 20)
    assert fresh.health()["pid"] == process.pid

    process.terminate()

    assert (process.communicate(timeout=20)[0], process.returncode) == (b"", 0)


def test_a_worker_that_cannot_work_gives_its_status_on(fresh: Sm) -> None:
    """EX_CONFIG tells a service manager not to try again."""
    fresh.home.make()
    fresh.home.config.write_text("x = 1\n")

    done = subprocess.run(
        [sys.executable, "-I", "-m", "sm.daemon"],
        env=fresh.environment,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 78
    assert done.stderr == (
        f"{fresh.home.config}: unknown key x. See the configuration reference for what exists.\n"
    )
