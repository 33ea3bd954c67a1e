"""Records of a transcript, decoded only as far as needed."""

from pathlib import Path

from tests.adapters.agents.claude.telling import asks, calls, fails, gives, line

from sm.adapters.agents.claude import entries
from sm.adapters.agents.claude.entries import Answered, Entry

LONG = "word " * 2000


def test_a_large_result_is_looked_at_by_its_bytes_alone() -> None:
    """The call it answers, when, and the last line of what was printed."""
    record = entries.record(line(gives(f"{LONG}\n12 passed", "call-7", 5)))

    expected = Answered("call-7", "2026-11-15T20:00:05.000Z", "12 passed")
    assert record == expected


def test_a_large_error_is_read_whole() -> None:
    """In whatever order its keys stand."""
    otherwise = gives(LONG)
    otherwise["message"]["content"][0]["is_error"] = True

    assert isinstance(entries.record(line(fails(LONG))), Entry)
    assert isinstance(entries.record(line(otherwise)), Entry)


def test_a_large_result_of_a_sub_agent_is_known_as_such() -> None:
    record = entries.record(line({"isSidechain": True, **gives(LONG)}))

    assert isinstance(record, Entry)
    assert record.is_sidechain


def test_a_large_result_of_a_task_in_the_background_is_read_whole() -> None:
    moved = gives("Command running in background with ID: b1. " + LONG)
    launched = gives([{"type": "text", "text": "Async agent launched successfully." + LONG}])

    assert isinstance(entries.record(line(moved)), Entry)
    assert isinstance(entries.record(line(launched)), Entry)


def test_words_that_only_look_like_a_result_are_no_result() -> None:
    """A person may paste a transcript: inside a text, every quote is escaped."""
    pasted = line(asks('{"tool_use_id":"A","timestamp":"x"}' + LONG))

    assert isinstance(entries.record(pasted), Entry)


def test_torn_lines_and_other_forms_tell_nothing() -> None:
    whole = line(asks("hello"))

    assert entries.record(whole[:-9]) is None
    assert entries.record(b"[1, 2]\n") is None
    assert entries.record(b'{"type":["user"]}\n') is None
    assert entries.record(b"\n") is None
    assert entries.record(b'{"type":"mode","mode":"normal"}\n') is None
    assert entries.record(b'{"a":' * 10_000 + b"\n") is None


def test_a_text_cut_within_a_character_is_still_a_text() -> None:
    """A client that shortens by UTF-16 units leaves half a character behind."""
    half = line(asks("cut: X!")).replace(b"X", rb"\ud83d")
    byte = line(asks("cut: X!")).replace(b"X", b"\xff")

    for cut in (half, byte):
        record = entries.record(cut)
        assert isinstance(record, Entry)
        assert record.message is not None
        assert record.message.content == "cut: \ufffd!"


def test_a_call_is_decoded_with_what_it_was_asked_kept_raw() -> None:
    record = entries.record(line(calls("Bash", command="ls")))

    assert isinstance(record, Entry)
    assert record.message is not None
    assert not isinstance(record.message.content, str)
    assert [bytes(b.input) for b in record.message.content] == [b'{"command":"ls"}']


def test_a_file_that_cannot_be_a_transcript_has_no_lines(tmp_path: Path) -> None:
    """One single line of gigabytes would otherwise be read to its end."""
    path = tmp_path / "image.iso"
    path.write_bytes(b"\0" * 5_000_000)

    assert list(entries.lines(path)) == []


def test_a_record_without_an_end_is_read_with_another_behind_it() -> None:
    """A client that is resumed writes on right behind it."""
    joined = (
        line(asks("before")).rstrip(b"\n") + b'{"type":"file-history-snapshot","messageId":"m"}\n'
    )

    found = entries.decoded(joined)

    assert found is not None
    assert found.message is not None
    assert found.message.content == "before"
