"""What keeps an agent from heeding hooks that are in its settings."""

from dataclasses import replace

import pytest

from sm.install.agents import AGENTS
from sm.install.heeding import Hindrance, hindrance

CLAUDE = AGENTS["claude"]
FINE = '{"hooks": {"Stop": [{"matcher": "x", "hooks": [{"type": "command"}]}]}}'


@pytest.mark.parametrize("text", [FINE, "{}", '{"disableAllHooks": false}', '{"hooks": {}}'])
def test_usual_settings_are_heeded(text: str) -> None:
    """With hooks of others, and without any."""
    assert hindrance(CLAUDE, text) is None


def test_hooks_that_are_switched_off_are_told() -> None:
    """Whatever is installed, none would run."""
    assert hindrance(CLAUDE, '{\n  "disableAllHooks": true\n}') == Hindrance(
        "disableAllHooks is true in line 2: claude runs no hook at all.",
        "Remove disableAllHooks from",
    )


@pytest.mark.parametrize(
    ("event", "wanted"),
    [
        ('["x"]', 'an object with a list "hooks"'),
        ('[{"matcher": "x"}]', 'an object with a list "hooks"'),
        ('[{"hooks": {}}]', 'an object with a list "hooks"'),
        ('[{"hooks": ["x"]}]', 'an object with a "type"'),
        ('[{"hooks": [{"command": "x"}]}]', 'an object with a "type"'),
    ],
)
def test_an_entry_of_another_shape_is_told(event: str, wanted: str) -> None:
    """With its place: the agent says little of it."""
    found = hindrance(CLAUDE, f'{{"hooks": {{\n"Stop": {event}}}}}')

    assert found is not None
    assert found.words == (
        f"what stands in line 2, under Stop, is not {wanted}: "
        "claude may skip the file as a whole, and the hooks with it."
    )


def test_comments_hinder_only_agents_that_do_not_read_them() -> None:
    """Claude Code does not."""
    text = FINE.replace("{", "{ // mine\n", 1)

    assert hindrance(replace(CLAUDE, reads_comments=True), text) is None
    assert hindrance(CLAUDE, text) is not None
