"""When Claude Code would compact its context by itself.

It does so at a threshold only where a window is set, or the model has one by default. Elsewhere
it goes on until the API refuses a prompt as too long.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sm.adapters.agents.claude.finding import config_of
from sm.core.state import Compaction

RESERVED_FOR_REPLY, MARGIN = 20_000, 13_000
_MODELS_WITH_A_WINDOW = {"claude-sonnet-4-6": 200_000}


def read(environment: Mapping[str, str], cwd: str, own: Mapping[str, Any]) -> Compaction:
    """What the caller's environment and settings say about it."""
    window = _number(environment.get("CLAUDE_CODE_AUTO_COMPACT_WINDOW"))
    enabled = environment.get("DISABLE_AUTO_COMPACT", "") in ("", "0", "false")
    for settings in (own, *_files(environment, cwd)):
        if window is None:
            window = _number(settings.get("autoCompactWindow"))
        enabled = enabled and settings.get("autoCompactEnabled", True) is not False
    percent = _number(environment.get("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"))
    return Compaction(enabled=enabled, window=window, percent=percent)


def point(compaction: Compaction, model: str) -> int | None:
    """The tokens at which it compacts; None where it waits for the API to refuse."""
    window = compaction.window or _MODELS_WITH_A_WINDOW.get(model)
    if not compaction.enabled or window is None:
        return None
    usable = window - RESERVED_FOR_REPLY
    if compaction.percent is not None:
        return usable * compaction.percent // 100
    return usable - MARGIN


def _files(environment: Mapping[str, str], cwd: str) -> Iterator[Mapping[str, Any]]:
    project = Path(cwd, ".claude")
    places = (
        project / "settings.local.json",
        project / "settings.json",
        config_of(environment) / "settings.json",
    )
    for path in places:
        try:
            settings = json.loads(path.read_text("utf-8")) if path.is_file() else None
        except (OSError, ValueError):
            continue
        if isinstance(settings, dict):
            yield settings


def _number(given: object) -> int | None:
    try:
        number = int(given) if isinstance(given, str | int) else 0
    except ValueError:
        return None
    return number if number > 0 else None
