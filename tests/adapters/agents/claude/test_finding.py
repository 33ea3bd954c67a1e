"""A Claude Code that runs is known by its own file, whatever it is called."""

import json
from pathlib import Path

import pytest

from sm.adapters.agents.claude.dialect import ClaudeDialect
from sm.adapters.agents.claude.finding import config_of
from sm.adapters.agents.demo.dialect import DemoDialect
from sm.core.adoption import Process
from sm.core.terminal import Sign

CLAUDE = ClaudeDialect()


def process(pid: int, config: Path, *command: str, parent: int = 1, started: int = 500) -> Process:
    return Process(
        pid=pid,
        parent=parent,
        started=started,
        name="node",
        command=command or ("claude",),
        environment={"CLAUDE_CONFIG_DIR": str(config)},
        foreground=True,
    )


def keeps_file(config: Path, pid: int, **changes: object) -> None:
    """As the client writes it."""
    told = {
        "pid": pid, "sessionId": f"session-{pid}", "cwd": "/home/dev/my shop_2", "procStart": "500",
        "status": "busy", "statusUpdatedAt": 1_700_000_000_500, "kind": "interactive",
    }  # fmt: skip
    (config / "sessions").mkdir(parents=True, exist_ok=True)
    (config / "sessions" / f"{pid}.json").write_text(json.dumps({**told, **changes}))


def test_a_client_is_known_by_the_file_it_keeps(tmp_path: Path) -> None:
    """With its context, its transcript's place, its folder and what it says of itself."""
    keeps_file(tmp_path, 11)
    shell = process(10, tmp_path, "bash")
    client = process(11, tmp_path, "node", "/lib/cli.js", "--model", "x", parent=10)

    [found] = CLAUDE.find([shell, client])

    assert (found.pid, found.started, found.context) == (11, 500, "session-11")
    assert found.transcript == f"{tmp_path}/projects/-home-dev-my-shop-2/session-11.jsonl"
    assert (found.cwd, found.arguments) == ("/home/dev/my shop_2", ("--model", "x"))
    assert found.status is not None
    assert (found.status.sign, found.status.at) == (Sign.BUSY, 1_700_000_000.5)


def test_a_transcript_elsewhere_is_found_by_its_name(tmp_path: Path) -> None:
    """Other versions may name the folder in another way."""
    keeps_file(tmp_path, 11)
    place = tmp_path / "projects" / "somewhere" / "session-11.jsonl"
    place.parent.mkdir(parents=True)
    place.touch()

    [found] = CLAUDE.find([process(11, tmp_path)])

    assert found.transcript == str(place)


@pytest.mark.parametrize("change", [{"procStart": "499"}, {"sessionId": ""}])
def test_a_file_that_was_left_behind_is_no_client(tmp_path: Path, change: dict[str, str]) -> None:
    """kill -9 leaves it, and pids come round again."""
    keeps_file(tmp_path, 11, **change)

    assert CLAUDE.find([process(11, tmp_path), process(12, tmp_path)]) == []


def test_a_client_that_a_client_started_is_not_meant(tmp_path: Path) -> None:
    """An agent's tool may run claude -p; two side by side are two."""
    for pid in (11, 13, 20):
        keeps_file(tmp_path, pid)
    tree = [
        process(11, tmp_path),
        process(20, tmp_path),
        process(12, tmp_path, "bash", parent=11),
        process(13, tmp_path, parent=12),
    ]

    assert [found.pid for found in CLAUDE.find(tree)] == [11, 20]


def test_the_configuration_folder_follows_the_clients_own_environment() -> None:
    """Not ours."""
    assert config_of({"CLAUDE_CONFIG_DIR": "/c", "HOME": "/h"}) == Path("/c")
    assert config_of({"HOME": "/h"}) == Path("/h/.claude")
    assert config_of({}) == Path.home() / ".claude"


def test_the_demo_agent_keeps_its_file_elsewhere(tmp_path: Path) -> None:
    """So the two are never taken for each other."""
    keeps_file(tmp_path, 11)

    assert DemoDialect().find([process(11, tmp_path)]) == []


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        (("/x/claude", "-c"), ("-c",)),
        (("node", "--flag", "/x/cli.js", "-c"), ("-c",)),
        (("renamed", "-c"), ("-c",)),
        ((), ()),
    ],
)
def test_its_arguments_stand_behind_the_program(
    tmp_path: Path, command: tuple[str, ...], arguments: tuple[str, ...]
) -> None:
    """An interpreter and its script are not the client's arguments."""
    keeps_file(tmp_path, 11)
    client = process(11, tmp_path)

    [found] = CLAUDE.find(
        [Process(**{**{f: getattr(client, f) for f in client.__slots__}, "command": command})]
    )

    assert found.arguments == arguments


def test_its_file_tells_where_it_is_after_a_clear(tmp_path: Path) -> None:
    """The transcript it was known by names the folder of the new one."""
    keeps_file(tmp_path, 11, sessionId="session-new", status="idle")
    old = tmp_path / "projects" / "shop" / "session-11.jsonl"

    status = CLAUDE.read_status(11, 500, old)

    assert status is not None
    assert (status.context, status.sign) == ("session-new", Sign.PROMPT)
    assert status.transcript == str(old.with_name("session-new.jsonl"))
