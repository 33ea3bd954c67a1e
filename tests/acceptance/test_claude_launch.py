"""Starting the real Claude Code: the person's own settings, hooks, status line and arguments."""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.sm import Sm
from tests.kit.tmux import wait_until
from tests.prove.ladder import Desk, desk

pytestmark = pytest.mark.claude


@pytest.fixture
def ada(sm: Sm) -> Iterator[Desk]:
    with desk(sm) as ada:
        yield ada


def hook(mark: Path) -> list[dict[str, object]]:
    return [{"hooks": [{"type": "command", "command": f"touch {mark}"}]}]


def context(ada: Desk) -> dict[str, object]:
    return dict(ada.sm.json("show", "ada")["context"])


def identity(ada: Desk) -> tuple[object, ...]:
    return tuple(context(ada)[key] for key in ("number", "id", "transcript"))


def test_the_persons_own_settings_still_hold(ada: Desk, tmp_path: Path) -> None:
    """User, project and ``--settings``: every hook runs, the nearest status line is shown."""
    marks = {name: tmp_path / name for name in ("user", "project", "flag")}
    settings = {
        name: {"hooks": {"Stop": hook(mark), "PostToolUse": hook(mark)}}
        for name, mark in marks.items()
    }
    line = {"statusLine": {"type": "command", "command": "echo my own line"}}
    user = ada.home.config / "settings.json"
    user.write_text(json.dumps({**settings["user"], **line}))
    project = ada.home.cwd / ".claude" / "settings.json"
    project.parent.mkdir()
    project.write_text(json.dumps(settings["project"]))
    before = user.read_bytes(), project.read_bytes()

    ada.start("--settings", json.dumps(settings["flag"]))
    ada.send("hello")
    ada.settle()

    assert all(mark.exists() for mark in marks.values())
    wait_until(lambda: "my own line" in ada.sm.screen("ada"), seen=ada.report)
    wait_until(lambda: context(ada)["tokens"] is not None, seen=ada.report)
    assert (user.read_bytes(), project.read_bytes()) == before


def test_an_id_of_their_own_is_kept(ada: Desk) -> None:
    given = str(uuid.uuid4())
    ada.start("--session-id", given)
    ada.send("hello")
    ada.settle()

    assert context(ada)["id"] == given


@pytest.mark.parametrize("forked", [False, True])
def test_an_older_conversation_is_resumed(ada: Desk, forked: bool) -> None:
    """Its id is its own; a fork gets a new one."""
    ada.start()
    ada.send("the first life")
    ada.settle()
    older = context(ada)["id"]
    ada.sm.run("kill", "ada")

    ada.name = "bob"
    ada.start("--resume", str(older), *(["--fork-session"] if forked else []))
    ada.send("the second life")
    ada.settle()

    resumed = ada.sm.json("show", "bob")["context"]
    assert (resumed["id"] == older) is not forked
    last = ada.api.main_requests()[-1]
    assert last.told("the first life") == last.told("the second life") == 1
    assert Path(resumed["transcript"]).exists()


def test_settings_that_cannot_be_read_are_refused(ada: Desk) -> None:
    refused = ada.sm.start(
        "new", "ada", "--agent", "claude", "--", "--settings", "/nowhere.json",
        environment=ada.environment,
    )  # fmt: skip

    assert refused.returncode == 1
    assert "--settings /nowhere.json" in refused.stderr


def test_when_it_compacts_by_itself_is_known(ada: Desk) -> None:
    (ada.home.config / "settings.json").write_text('{"autoCompactWindow": 200000}')
    ada.start()

    assert ada.sm.json("context", "ada")[0]["compacts_at"] == 167_000


def test_a_client_the_agent_starts_itself_changes_nothing(ada: Desk) -> None:
    """A nested one has the session's variables, and another conversation."""
    ada.start()
    ada.send("hello")
    ada.settle()
    before = identity(ada)
    session = ada.sm.json("show", "ada")["id"]
    nested = {"session_id": str(uuid.uuid4()), "transcript_path": "/x.jsonl", "prompt_id": "p"}

    for name in ("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop", "SessionEnd"):
        ada.sm.client().call("POST", f"/hooks/{session}", {**nested, "hook_event_name": name})

    assert identity(ada) == before
    assert ada.sm.state("ada") == "idle"


def test_five_side_by_side(sm: Sm) -> None:
    """Each gets its own messages, and nothing else."""
    with desk(sm) as first:
        desks = [Desk(sm=sm, api=first.api, home=first.home, name=f"a{n}") for n in range(5)]
        for one in desks:
            one.start()
        for number in range(3):
            for one in desks:
                one.send(f"message {number} for {one.name}")
        for one in desks:
            one.settle(120)

        assert [one.judge().holds for one in desks] == [True] * 5
        sessions = {sm.json("show", one.name)["context"]["id"] for one in desks}
        for request in first.api.main_requests():
            assert request.session in sessions
            assert sum(request.told(f"for {one.name}\n") > 0 for one in desks) <= 1
