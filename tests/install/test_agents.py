"""The agents we can install for."""

from pathlib import Path

from sm.install.agents import AGENTS


def test_each_agent_is_found_by_its_name() -> None:
    """With where its settings are and what goes into them."""
    assert list(AGENTS) == ["claude"]
    for name, agent in AGENTS.items():
        entries = agent.entries("the command")
        assert agent.name == name
        assert agent.settings_file({"HOME": "/h"}) == Path("/h/.claude/settings.json")
        assert {entry.call["command"] for entry in entries.values()} == {"the command"}
        assert entries["PostToolUse"].matcher == "*"
        assert entries["Stop"].matcher is None
