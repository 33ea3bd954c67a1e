"""The settings Claude Code is started with."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from sm.adapters.agents.claude.settings import launch_settings


def test_every_turn_boundary_and_tool_event_calls_the_hook_command() -> None:
    hooks = json.loads(launch_settings("/home/x/bin/hook"))["hooks"]

    assert set(hooks) == {
        "SessionStart",
        "SessionEnd",
        "UserPromptSubmit",
        "PostToolUse",
        "PostToolUseFailure",
        "PermissionRequest",
        "Notification",
        "Stop",
        "StopFailure",
        "PreCompact",
        "PostCompact",
        "SubagentStart",
        "SubagentStop",
        "FileChanged",
    }
    call = {"type": "command", "command": "/home/x/bin/hook", "timeout": 10}
    assert hooks["Stop"] == [{"hooks": [call]}]
    assert hooks["PostToolUse"] == [{"matcher": "*", "hooks": [call]}]


def test_tool_events_are_posted_by_the_client_itself() -> None:
    """They come often: no process is started for each. The token never stands in the file."""
    hooks = json.loads(launch_settings("/x/bin/hook", "http://127.0.0.1:7/hooks/ada"))["hooks"]

    (post,) = hooks["PostToolUse"][0]["hooks"]
    assert (post["type"], post["url"]) == ("http", "http://127.0.0.1:7/hooks/ada")
    assert post["headers"] == {"Authorization": "Bearer $SM_SESSION_TOKEN"}
    assert post["allowedEnvVars"] == ["SM_SESSION_TOKEN"]
    assert hooks["Stop"][0]["hooks"][0]["type"] == "command"


def test_a_note_in_the_inbox_rings_in_the_background_and_the_status_line_is_ours() -> None:
    settings = json.loads(launch_settings("/x y/bin/hook"))

    (bell,) = settings["hooks"]["FileChanged"][0]["hooks"]
    assert bell["asyncRewake"] is True
    assert shlex.split(bell["command"]) == ["/x y/bin/bell"]
    assert shlex.split(settings["statusLine"]["command"]) == ["/x y/bin/statusline"]


def test_a_path_with_spaces_and_quotes_stays_one_word() -> None:
    path = "/home/o'neil/my sm/$(hook)"
    hooks = json.loads(launch_settings(path))["hooks"]

    assert shlex.split(hooks["Stop"][0]["hooks"][0]["command"]) == [path]


# --- what the agent may do without a dialog ------------------------------------------------


def _permissions(folder: Path, own: dict[str, Any] | None = None) -> dict[str, Any]:
    settings = json.loads(launch_settings("/x/bin/hook", own=own, folder=str(folder)))
    found: dict[str, Any] = settings["permissions"]
    return found


def test_an_agent_may_hand_over_and_read_what_was_kept_of_it_and_no_more(tmp_path: Path) -> None:
    """Two slashes: a path from the root. Not its token, not its settings, nobody else's."""
    assert _permissions(tmp_path / "ada") == {
        "allow": [
            "Bash(sm handoff:*)",
            f"Read(/{tmp_path}/ada/handoffs/**)",
            f"Read(/{tmp_path}/ada/raw.log)",
        ]
    }


def test_a_folder_behind_a_link_may_be_read_by_both_its_names(tmp_path: Path) -> None:
    """The client asks by the name it was told, and by the real one."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    allowed = _permissions(tmp_path / "link")["allow"]

    assert f"Read(/{tmp_path}/link/raw.log)" in allowed
    assert f"Read(/{tmp_path}/real/raw.log)" in allowed


def test_what_a_person_allows_and_denies_stays(tmp_path: Path) -> None:
    own = {"permissions": {"allow": ["Bash(ls)"], "deny": ["Read(//etc)"], "defaultMode": "plan"}}

    permissions = _permissions(tmp_path, own)

    assert permissions["allow"][:2] == ["Bash(ls)", "Bash(sm handoff:*)"]
    assert (permissions["deny"], permissions["defaultMode"]) == (["Read(//etc)"], "plan")


@pytest.mark.parametrize("odd", [None, [], "all", {"allow": "Bash(ls)"}, {"allow": None}])
def test_permissions_the_client_could_not_read_do_no_harm(tmp_path: Path, odd: object) -> None:
    assert "Bash(sm handoff:*)" in _permissions(tmp_path, {"permissions": odd})["allow"]


def test_without_a_folder_nothing_is_allowed() -> None:
    assert "permissions" not in json.loads(launch_settings("/x/bin/hook"))
