"""The hooks for clients that people start themselves."""

from pathlib import Path

import pytest

from sm.adapters.agents.claude.installed import installed_hooks, settings_file
from sm.adapters.agents.claude.settings import EVENTS


def test_the_settings_are_where_the_client_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of whoever asks, not of the one who runs this."""
    monkeypatch.chdir("/")

    assert settings_file({"HOME": "/home/ada"}) == Path("/home/ada/.claude/settings.json")
    moved = {"HOME": "/home/ada", "CLAUDE_CONFIG_DIR": "/conf/../c/"}
    assert settings_file(moved) == Path("/c/settings.json")
    assert settings_file({"CLAUDE_CONFIG_DIR": "tmp"}) == Path("/tmp/settings.json")
    assert settings_file({"CLAUDE_CONFIG_DIR": ""}) == Path.home() / ".claude" / "settings.json"


def test_every_event_calls_the_command() -> None:
    """Those of tools for all tools."""
    hooks = {hook.event: hook for hook in installed_hooks("x --installed")}
    call = {"type": "command", "command": "x --installed", "timeout": 10}

    assert set(hooks) == set(EVENTS)
    assert hooks["Stop"][1:] == (None, call)
    assert hooks["PostToolUse"][1:] == ("*", call)


def test_every_event_that_names_a_tool_has_a_matcher() -> None:
    """So that it is called for each of them."""
    with_matcher = {hook.event for hook in installed_hooks("x") if hook.matcher}

    assert with_matcher == {e for e in EVENTS if "Tool" in e or e == "PermissionRequest"}
