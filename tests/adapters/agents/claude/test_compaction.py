"""When Claude Code compacts by itself: the numbers were found by running it."""

import json
from pathlib import Path
from typing import Any

import pytest

from sm.adapters.agents.claude.compaction import point, read
from sm.core.state import Compaction

SONNET, OPUS = "claude-sonnet-4-6", "claude-opus-4-8"
WINDOW = "CLAUDE_CODE_AUTO_COMPACT_WINDOW"


def settings(path: Path, **keys: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(keys))


@pytest.mark.parametrize(
    ("compaction", "model", "tokens"),
    [
        (Compaction(), SONNET, 167_000),
        (Compaction(), OPUS, None),
        (Compaction(window=200_000), OPUS, 167_000),
        (Compaction(window=100_000), SONNET, 67_000),
        (Compaction(enabled=False, window=200_000), OPUS, None),
        (Compaction(window=200_000, percent=50), OPUS, 90_000),
        (Compaction(percent=50), OPUS, None),
    ],
)
def test_the_point_depends_on_window_and_percentage(
    compaction: Compaction, model: str, tokens: int | None
) -> None:
    """Without a window it waits until the API refuses, whatever the percentage."""
    assert point(compaction, model) == tokens


def test_the_callers_environment_tells(tmp_path: Path) -> None:
    told = {WINDOW: "150000", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "70", "HOME": str(tmp_path)}

    assert read(told, "/", {}) == Compaction(window=150_000, percent=70)
    assert not read({**told, "DISABLE_AUTO_COMPACT": "1"}, "/", {}).enabled


def test_the_nearest_settings_tell_the_window(tmp_path: Path) -> None:
    """The environment first, then what was given at the start, the project, the home."""
    home, project = tmp_path / "home", tmp_path / "project"
    environment = {"HOME": str(home)}
    found: list[int | None] = []
    for place in (
        home / ".claude/settings.json",
        project / ".claude/settings.json",
        project / ".claude/settings.local.json",
    ):
        settings(place, autoCompactWindow=100_000 + len(found))
        found.append(read(environment, str(project), {}).window)
    found.append(read(environment, str(project), {"autoCompactWindow": 100_003}).window)
    found.append(read({**environment, WINDOW: "100004"}, str(project), {}).window)

    assert found == [100_000, 100_001, 100_002, 100_003, 100_004]


def test_any_settings_can_switch_it_off(tmp_path: Path) -> None:
    settings(tmp_path / "config" / "settings.json", autoCompactEnabled=False)

    assert not read({"CLAUDE_CONFIG_DIR": str(tmp_path / "config")}, "/", {}).enabled
    assert not read({"HOME": str(tmp_path)}, "/", {"autoCompactEnabled": False}).enabled


@pytest.mark.parametrize("odd", ["much", "", "-5", "0"])
def test_numbers_that_are_none_are_as_if_not_given(tmp_path: Path, odd: str) -> None:
    environment = {WINDOW: odd, "HOME": str(tmp_path)}
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text("{")

    assert read(environment, str(tmp_path), {"autoCompactWindow": [odd]}) == Compaction()
