"""sm daemon"""

import re

from sm.api.types import Health
from sm.version import VERSION
from tests.kit.sm import Sm, sm_home


def test_it_is_started_looked_at_and_stopped() -> None:
    """Each step says what happened; looking never starts it."""
    with sm_home() as sm:
        nothing = sm.start("daemon", "status")
        no_log = sm.start("daemon", "logs")
        started = sm.run("daemon", "start")
        again = sm.run("daemon", "start")
        stopped, not_running = sm.run("daemon", "stop"), sm.run("daemon", "stop")
        log = sm.run("daemon", "logs").splitlines()

    assert (nothing.returncode, nothing.stdout) == (1, "")
    assert nothing.stderr == (
        "sm: no daemon is running. Any command starts it; or: sm daemon start\n"
    )
    assert (no_log.returncode, no_log.stdout) == (1, "")
    shown = r"sm \S+ runs since \d+s \(parent \d+, worker \d+, 0 restarts\), 0 sessions\n"
    assert re.fullmatch(shown, started)
    assert started.split("parent")[1] == again.split("parent")[1]
    assert stopped == "The daemon has stopped. Agents go on.\n"
    assert not_running == "No daemon was running.\n"
    assert '"event": "Serving"' in log[0]
    assert '"event": "Stopped"' in log[-1]


def test_json_has_exactly_the_documented_keys(sm: Sm) -> None:
    """What /health says."""
    status = sm.json("daemon")

    assert list(status) == list(Health.__annotations__)
    assert status["version"] == VERSION


def test_an_action_that_is_none_is_wrong_usage(sm: Sm) -> None:
    """Exit 2."""
    assert sm.start("daemon", "restart").returncode == 2
