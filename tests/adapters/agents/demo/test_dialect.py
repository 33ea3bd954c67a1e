"""How the demo agent is started, and that what is planned really runs."""

import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.kit.tmux import wait_until
from tests.kit.transcripts import holds

from sm.adapters.agents.demo.dialect import DemoDialect
from sm.core import envelope
from sm.core.events import UsageSeen
from sm.core.ids import HookId, MessageId, SessionId
from sm.core.launch import LaunchRequest
from sm.core.reports import ContextStarted, HookEvent, PromptAccepted, TurnEnded

from .rig import Server

MESSAGE = MessageId("0123456789ab")


def request(folder: Path, **environment: str) -> LaunchRequest:
    return LaunchRequest(
        session=SessionId("abcd1234"),
        agent="demo",
        arguments=("--delay", "0"),
        cwd=str(folder),
        environment=environment,
        folder=str(folder),
        hook_command=str(folder / "my hook"),
    )


def test_it_runs_by_the_interpreter_that_runs_sm(tmp_path: Path) -> None:
    """It needs nothing that is not installed with sm."""
    line = DemoDialect().plan(request(tmp_path))

    assert line.argv[:4] == (sys.executable, "-I", "-m", "sm.adapters.agents.demo")
    assert line.argv[-2:] == ("--delay", "0")
    assert line.environment == {"SM_DEMO_CONFIG": str(tmp_path / "demo")}


@pytest.mark.parametrize(
    ("arguments", "point"),
    [
        ((), 167_000),
        (("--window", "20000"), 16_800),
        (("--window=400000",), 367_000),
        (("--window", "wide"), 167_000),
    ],
)
def test_it_compacts_where_it_says(tmp_path: Path, arguments: tuple[str, ...], point: int) -> None:
    """The window is the one on its command line."""
    dialect = DemoDialect()
    line = dialect.plan(replace(request(tmp_path), arguments=arguments))

    assert dialect.compacts_at(line.compaction, "demo") == point


def test_a_callers_own_configuration_is_kept(tmp_path: Path) -> None:
    line = DemoDialect().plan(request(tmp_path, SM_DEMO_CONFIG="/mine"))

    assert line.environment == {}


def test_a_planned_agent_reports_through_the_hook_command(server: Server, tmp_path: Path) -> None:
    """Its hooks and its transcript are read by Claude Code's own dialect."""
    dialect = DemoDialect()
    asked = request(tmp_path)
    line = dialect.plan(asked)
    prompt = envelope.wrap(MESSAGE, "ada", "hello")
    log = tmp_path / "log"
    hook = Path(asked.hook_command)
    hook.write_text(f"#!/bin/sh\ncat >> {log}\necho >> {log}\n")
    hook.chmod(0o755)
    for path, content in line.files.items():
        Path(path).write_bytes(content)

    variables = [
        word for name, value in line.environment.items() for word in ("-e", f"{name}={value}")
    ]
    pane = server("new-session", "-d", "-P", "-F", "#{pane_id}", *variables, *line.argv, prompt)
    try:
        started, accepted, ended = _events(dialect, log, 3)
    finally:
        server("kill-session", "-t", pane)

    assert isinstance(started, ContextStarted)
    assert started.hook.context == line.context
    assert isinstance(accepted, PromptAccepted)
    assert accepted.message == MESSAGE
    assert isinstance(ended, TurnEnded)
    assert ended.last_words == 'Got it: "hello"'
    assert started.transcript is not None
    record = Path(started.transcript)
    # It lags a moment behind the hooks.
    wait_until(lambda: holds(record, MESSAGE))


def _events(dialect: DemoDialect, log: Path, count: int) -> list[HookEvent]:
    deadline = time.monotonic() + 15
    while not log.exists() or log.read_bytes().count(b"\n") < count:
        assert time.monotonic() < deadline, log.read_text() if log.exists() else "no hook"
        time.sleep(0.01)
    payloads = log.read_bytes().splitlines()[:count]
    assert all(json.loads(payload)["cwd"] for payload in payloads)
    events = (
        dialect.decode_hook(payload, hook=HookId("h"), at=0, answerable=False)
        for payload in payloads
    )
    return [event for event in events if not isinstance(event, UsageSeen)]
