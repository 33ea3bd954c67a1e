"""sm config"""

from collections.abc import Iterator

import pytest

from tests.kit.sm import Sm, sm_home

DEFAULTS = """\
[tmux]
socket = "sm"
history_limit = 50000
[store]
url = "sqlite"
[archive]
retention = "90d"
[context_monitor]
enabled = true
early_threshold = "40%"
warning_threshold = "50%"
critical_threshold = "65%"
fallback_tool_count = 500
check_frequency = 1
[handoff]
expiry = "2h"
max_restarts = 10
cooldown = "2m"
deadline = "10m"
max_document = "1MB"
teach_agents = true
[recovery]
enabled = true
auto_recover = false
max_context_lines = 10000
context_budget = "60%"
snapshot_interval = "5m"
snapshot_dir = ""
crash_budget = "5 in 15m"
at_once = 4
keep_environment = true
prompts = {"template" = ""}
[delivery]
routes = {}
[notify]
command = ""
[redaction]
patterns = {}
[channels]
[daemon]
log_level = "info"
log_size = "5MB"
"""


@pytest.fixture
def own() -> Iterator[Sm]:
    """A home whose configuration may be broken; no daemon is ever started in it."""
    with sm_home() as made:
        made.base.mkdir()
        yield made
        assert not made.home.state.exists()


def test_the_settings_in_force_are_shown(own: Sm) -> None:
    """As a config.toml that says the same."""
    assert own.run("config") == own.run("config", "show") == DEFAULTS
    own.home.config.write_text(DEFAULTS)
    assert own.run("config") == DEFAULTS


def test_tables_within_tables_can_be_copied_back(own: Sm) -> None:
    own.home.config.write_text('[delivery.routes]\nclaude = ["paste"]\n')

    shown = own.run("config")

    assert 'routes = {"claude" = ["paste"]}' in shown
    own.home.config.write_text(shown)
    assert own.run("config") == shown


def test_folders_can_be_copied_back(own: Sm) -> None:
    """Whatever they are called."""
    own.home.config.write_text('[channels]\n"/a \\"b\\"\\n\\u007fü" = "api"\n"~" = "home"\n')

    shown = own.run("config")

    assert '"~" = "home"' in shown
    own.home.config.write_text(shown)
    assert own.run("config") == shown


def test_an_unknown_route_is_named(own: Sm) -> None:
    own.home.config.write_text('[delivery.routes]\nclaude = ["pigeon"]\n')

    refused = own.start("config", "check")

    assert refused.returncode == 1
    assert "delivery.routes.claude must be a list of stop_reply, " in refused.stderr


def test_json_has_the_same_tables(own: Sm) -> None:
    """With what the file changes."""
    own.home.config.write_text("[tmux]\nhistory_limit = 1000\n")

    shown = own.json("config")

    assert list(shown) == ["tmux", "store", "archive", "context_monitor", "handoff", "recovery",
                           "delivery", "notify", "redaction", "channels", "daemon"]  # fmt: skip
    assert shown["tmux"] == {"socket": "sm", "history_limit": 1000}


def test_the_path_is_told_whether_or_not_there_is_a_file(own: Sm) -> None:
    """To open it in an editor."""
    assert own.run("config", "path") == f"{own.home.config}\n"


def test_a_check_tells_whether_the_file_can_be_used(own: Sm) -> None:
    """Exit 0, or 1 with file and key."""
    missing = own.run("config", "check")
    own.home.config.write_text(DEFAULTS)
    fine = own.run("config", "check")
    own.home.config.write_text("[tmux]\nsoket = 1\n")
    broken = own.start("config", "check")

    assert missing == f"{own.home.config} is not there; the defaults hold.\n"
    assert fine == f"{own.home.config} is fine.\n"
    assert (broken.returncode, broken.stdout) == (1, "")
    assert broken.stderr == (
        f"sm: {own.home.config}: unknown key tmux.soket. "
        "See the configuration reference for what exists.\n"
    )
