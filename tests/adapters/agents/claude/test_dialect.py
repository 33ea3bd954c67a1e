"""How Claude Code is started."""

import json
import uuid
from pathlib import Path

import pytest

from sm.adapters.agents.claude.dialect import ClaudeDialect
from sm.core.ids import SessionId
from sm.core.launch import LaunchFailedError, LaunchRequest


def request(folder: Path, *, path: str, arguments: tuple[str, ...] = ()) -> LaunchRequest:
    return LaunchRequest(
        session=SessionId("abcd1234"),
        agent="claude",
        arguments=arguments,
        cwd=str(folder),
        environment={"PATH": path},
        folder=str(folder / "session"),
        hook_command="/state/bin/hook",
    )


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


def test_it_is_found_on_the_callers_path(tmp_path: Path, claude: Path) -> None:
    line = ClaudeDialect().plan(
        request(tmp_path, path=f"/nowhere:{claude.parent}", arguments=("--model", "opus"))
    )

    settings = str(tmp_path / "session" / "claude-settings.json")
    assert line.argv == (
        str(claude),
        "--session-id",
        line.context,
        "--settings",
        settings,
        "--model",
        "opus",
    )
    assert line.context is not None
    assert uuid.UUID(line.context).version == 4
    assert "/state/bin/hook" in json.dumps(json.loads(line.files[settings]))
    assert line.environment == {}


def test_each_launch_has_a_context_of_its_own(tmp_path: Path, claude: Path) -> None:
    asked = request(tmp_path, path=str(claude.parent))

    assert ClaudeDialect().plan(asked).context != ClaudeDialect().plan(asked).context


def test_a_missing_client_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(LaunchFailedError, match="not on your PATH"):
        ClaudeDialect().plan(request(tmp_path, path=str(tmp_path)))


def test_its_transcript_tells_a_story() -> None:
    told = ClaudeDialect().read_story(Path(__file__).with_name("work.jsonl"))

    assert told is not None
    assert told.requests[0].text == "do the thing"


def test_its_transcript_and_its_screen_tell_of_the_conversation() -> None:
    work = Path(__file__).with_name("work.jsonl")

    assert ClaudeDialect().read_exchanges(work, 1_000_000)[0].text == "do the thing"
    assert ClaudeDialect().read_shown(["❯ do the thing"])[0].text == "do the thing"
    assert ClaudeDialect().examine(work).torn == 0
