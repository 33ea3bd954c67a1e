"""The real Claude Code takes each message exactly once, although the daemon is killed."""

import json
from pathlib import Path

import pytest

from tests.kit.anthropic_api import anthropic_api
from tests.kit.claude import claude_home, require_claude
from tests.kit.faulty import start_faulty
from tests.kit.sm import Sm
from tests.kit.tmux import wait_until


@pytest.mark.claude
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_message_reaches_the_model_once_though_the_daemon_dies_before_typing(
    sm: Sm, tmp_path: Path, when: str
) -> None:
    """Killed with -9 between queueing and typing: the model is told once."""
    client = require_claude()
    with anthropic_api() as api, start_faulty(sm):
        home = claude_home(tmp_path, api.url)
        environment = {**home.environment, **sm.environment, "HOME": str(home.home)}
        environment["PATH"] = f"{client.parent}:{sm.environment['PATH']}"
        sm.new("ada", agent="claude", environment=environment, cwd=home.cwd)
        typing = sm.commits() + (1 if when == "after" else 2)
        sm.plan_kill(at=typing, when=when)

        sent = sm.json("send", "ada", "Count the parsers; then stop;", "--wait", "30")

        assert sent["state"] in ("accepted", "done")
        assert sm.health()["restarts"] == 1
        wait_until(lambda: sm.state("ada") == "idle", 20)
        assert api.count("Count the parsers; then stop;") == 1
        assert [r["step"] for r in sm.messages("ada")[0]["receipts"]][-2:] == ["accepted", "done"]
        assert json.dumps(sm.messages("ada")).count('"accepted"') == 1
