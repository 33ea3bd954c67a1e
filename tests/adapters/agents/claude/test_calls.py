"""Calls and results, decoded as far as a story needs them."""

import msgspec
import pytest

from sm.adapters.agents.claude import calls
from sm.adapters.agents.claude.calls import Call, Input
from sm.adapters.agents.claude.entries import Block


def block(name: str, asked: bytes) -> Block:
    return Block(type="tool_use", id="A", name=name, input=msgspec.Raw(asked))


@pytest.mark.parametrize(
    ("name", "asked", "words"),
    [
        ("Bash", b'{"command":"make test","description":"Test"}', "Bash: make test"),
        ("Edit", b'{"file_path":"/shop/a.py","old_string":"x"}', "Edit /shop/a.py"),
        ("Grep", b'{"pattern":"x+","path":"/shop"}', "Grep /shop x+"),
        ("WebFetch", b'{"url":"https://x.example"}', "WebFetch https://x.example"),
        ("TaskCreate", b'{"subject":"do x","description":"well"}', "TaskCreate do x"),
        ("mcp__a__b", b'{"path":7}', "mcp__a__b"),
        ("Bash", b"null", "Bash"),
    ],
)
def test_a_call_is_told_in_a_few_words(name: str, asked: bytes, words: str) -> None:
    assert calls.describe(block(name, asked)) == words


def test_a_sub_agent_is_told_by_its_description() -> None:
    asked = Input(description="Survey", command="")

    assert Call("Agent", asked, "", "").described == "Survey"
    assert Call("Agent", asked, "", "").kind == "sub-agent"
    assert Call("Bash", Input(command="x", description="y"), "", "").described == "x  (y)"


def test_results_are_text_and_pictures_are_named() -> None:
    both = b'[{"type":"text","text":"ok"},{"type":"image","source":{"data":"AAAA"}}]'

    assert calls.plain(msgspec.Raw(b'"ok"')) == "ok"
    assert calls.plain(msgspec.Raw(both)) == "ok\n(a picture)"
    assert calls.plain(msgspec.Raw(b"{}")) == calls.plain(msgspec.Raw(b"7")) == ""


def test_tasks_are_known_by_their_numbers() -> None:
    assert calls.task_id(msgspec.Raw(b'{"task":{"id":"3","subject":"x"}}')) == "3"
    assert calls.task_id(msgspec.Raw(b'"Error"')) == calls.task_id(msgspec.Raw(b"{}")) == ""
    listed = b'[{"id":1,"subject":"x","status":"pending"}]'
    assert [item.subject for item in calls.items(msgspec.Raw(listed))] == ["x"]
    assert calls.items(msgspec.Raw(b'["text"]')) == calls.items(msgspec.Raw(b"[{}]")) == []


def test_a_time_is_seconds_or_nothing() -> None:
    assert calls.seconds("1970-01-01T00:01:00.500Z") == 60.5
    assert calls.seconds("yesterday") == calls.seconds("") == 0.0
