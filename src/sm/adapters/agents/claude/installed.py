"""The hooks for clients that people start themselves: where they belong, and what they say.

The same events as for a session of ours. They stay in the user's settings for
good, so each call is one that ends at once where nothing is to be reported.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from sm.adapters.agents.claude.finding import config_of
from sm.adapters.agents.claude.settings import EVENTS, HOOK_TIMEOUT, TOOL_EVENTS


class InstalledHook(NamedTuple):
    """One call under one event."""

    event: str
    matcher: str | None
    call: Mapping[str, object]


def settings_file(environment: Mapping[str, str]) -> Path:
    """The settings of whoever's environment this is."""
    folder = os.path.abspath(config_of(environment))  # noqa: PTH100 - links are kept
    return Path(folder) / "settings.json"


def installed_hooks(command: str) -> tuple[InstalledHook, ...]:
    """Every call we want made, for a command that is ready for the shell."""
    call: Mapping[str, object] = {"type": "command", "command": command, "timeout": HOOK_TIMEOUT}
    return tuple(InstalledHook(e, "*" if e in TOOL_EVENTS else None, call) for e in EVENTS)
