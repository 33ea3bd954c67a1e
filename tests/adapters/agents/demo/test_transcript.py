"""The demo agent's record on disk."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.kit.tmux import wait_until

from sm.adapters.agents.demo.transcript import Transcript, path_for


def opened(folder: Path) -> Transcript:
    return Transcript(folder / "sub" / "s1.jsonl", session_id="s1", cwd="/w")


def records(folder: Path) -> list[dict[str, Any]]:
    text = (folder / "sub" / "s1.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_it_lies_where_claude_code_would_put_it() -> None:
    assert path_for(Path("/c"), "/home/a_b/x.y", "s1") == Path("/c/projects/-home-a-b-x-y/s1.jsonl")


def test_a_long_path_has_a_folder_of_its_own(tmp_path: Path) -> None:
    """Each part of it is legal; all of them in one name would not be."""
    places = [f"{'/deep-and-deeper' * 20}/{last}" for last in ("a", "b")]
    for place in places:
        path_for(tmp_path, place, "s1").parent.mkdir(parents=True)

    assert len(list((tmp_path / "projects").iterdir())) == 2


def test_records_form_a_chain(tmp_path: Path) -> None:
    transcript = opened(tmp_path)
    first = transcript.prompt("one", "p1")
    second = transcript.assistant({"type": "text", "text": "two"}, {}, stop_reason="end_turn")

    mode, prompt, reply = records(tmp_path)
    assert mode["type"] == "mode"
    assert (prompt["parentUuid"], prompt["uuid"], prompt["promptId"]) == (None, first, "p1")
    assert (reply["parentUuid"], reply["uuid"]) == (first, second)
    assert prompt["message"] == {"role": "user", "content": "one"}


def test_a_session_without_a_prompt_leaves_no_file(tmp_path: Path) -> None:
    opened(tmp_path)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("torn", ['{"type":"us', ""])
def test_a_resumed_record_goes_on_behind_a_line_without_an_end(tmp_path: Path, torn: str) -> None:
    """As Claude Code's: right behind it, with a record that nobody misses."""
    opened(tmp_path).prompt("one", "p1")
    path = tmp_path / "sub" / "s1.jsonl"
    begun = path.read_text() + torn if torn else path.read_text().rstrip("\n")
    path.write_text(begun)

    again = opened(tmp_path)
    assert "one" in str(again.resume())
    assert path.read_text() == begun, "nothing was said yet"
    again.prompt("two", "p2")

    assert path.read_text().startswith(f'{begun}{{"type":"file-history-snapshot",')
    assert json.loads(path.read_text().splitlines()[-1])["parentUuid"] is not None
    assert "two" in (said := str(opened(tmp_path).resume()))
    assert "one" in said


def test_a_compaction_begins_a_new_chain(tmp_path: Path) -> None:
    transcript = opened(tmp_path)
    prompt = transcript.prompt("one", "p1")
    transcript.boundary(trigger="auto", before=9000, after=1000, took_ms=5)

    boundary = records(tmp_path)[-1]
    assert boundary["parentUuid"] is None
    assert boundary["logicalParentUuid"] == prompt
    assert boundary["compactMetadata"]["cumulativeDroppedTokens"] == 8000


def test_what_hooks_said_before_the_first_prompt_is_written_with_it(tmp_path: Path) -> None:
    """A session nobody spoke in leaves no file, although hooks greeted it."""
    transcript = opened(tmp_path)
    transcript.attachment(type="hook_success", hookName="SessionStart:startup")
    transcript.flush()
    assert not transcript.path.exists()

    transcript.prompt("hello", "p1")

    assert [record["type"] for record in records(tmp_path)] == ["mode", "attachment", "user"]


def test_a_late_record_is_written_by_itself(tmp_path: Path) -> None:
    """All that came meanwhile is there at once, in order."""
    transcript = Transcript(tmp_path / "s1.jsonl", session_id="s1", cwd="/", delay=0.5)
    transcript.prompt("one", "p1")
    transcript.queue_operation("enqueue", "two")
    assert not transcript.path.exists()

    # Not only made: written, in one go.
    wait_until(lambda: transcript.path.exists() and transcript.path.stat().st_size > 0)
    kinds = [json.loads(line)["type"] for line in transcript.path.read_text().splitlines()]
    assert kinds == ["mode", "user", "queue-operation"]


def test_what_finds_no_room_on_the_disk_is_written_later(tmp_path: Path) -> None:
    """A disk that is full for a while leaves no hole in the record."""
    transcript = opened(tmp_path)
    blocked = tmp_path / "sub"
    blocked.write_text("in the way")
    first = transcript.prompt("one", "p1")
    blocked.unlink()

    wait_until((tmp_path / "sub" / "s1.jsonl").exists)
    transcript.prompt("two", "p1")

    assert [r.get("parentUuid") for r in records(tmp_path)[1:]] == [None, first]
