"""How full a context is; transcripts and status lines are from the real client, shortened."""

import json
import os
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sm.adapters.agents.claude import usage
from sm.adapters.agents.claude.usage import StatusLine, UsageReader, _may_tell
from sm.core.state import Usage

SAMPLES: dict[str, list[dict[str, Any]]] = json.loads(
    Path(__file__).with_name("transcripts.json").read_text("utf-8")
)
STATUS_LINES: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("statusline.json").read_text("utf-8")
)
OPUS = "claude-opus-4-8"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "transcript.jsonl"


def read(path: Path) -> Usage | None:
    """As at the start, without anything known of it."""
    return UsageReader().read(path)


def written(path: Path, records: list[dict[str, Any]], torn: str = "") -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in records) + torn, "utf-8")
    return path


def tokens(path: Path) -> int | None:
    found = read(path)
    assert found is not None
    return found.tokens


def test_the_last_request_is_what_counts(path: Path) -> None:
    """A message is one record per block, each with the usage of the whole: they do not add up."""
    records = SAMPLES["several records per message"]

    assert read(written(path, records)) == Usage(
        tokens=250_000,
        window=None,
        model=OPUS,
        source="transcript",
        at=datetime.fromisoformat(records[-1]["timestamp"]).timestamp(),
    )


def test_an_api_error_says_nothing_about_the_context(path: Path) -> None:
    """It is recorded as a reply with no tokens at all."""
    assert tokens(written(path, SAMPLES["an API error"])) == 262_000


def test_after_a_compaction_its_own_count_holds(path: Path) -> None:
    assert tokens(written(path, SAMPLES["compacted by hand"])) == 714


def test_the_first_request_after_a_compaction_holds(path: Path) -> None:
    assert tokens(written(path, SAMPLES["asked again after a compaction"])) == 9_000


def test_a_reply_from_after_a_compaction_may_stand_before_its_end(path: Path) -> None:
    """The order of the records is not the order in time: the times decide."""
    records = SAMPLES["the reply stands before the compaction's summary"]
    kinds = [record.get("subtype") or record["type"] for record in records]
    assert kinds.index("compact_boundary") < kinds.index("assistant", 2) < len(kinds) - 1

    assert tokens(written(path, records)) == 10

    boundary = next(r for r in records if r.get("subtype") == "compact_boundary")
    moved = [*(r for r in records if r is not boundary), boundary]
    assert tokens(written(path, moved)) == 10


def test_sub_agents_say_nothing_about_the_sessions_context(path: Path) -> None:
    theirs = SAMPLES["a sub-agent's own file"]

    assert read(written(path, theirs)) is None
    assert tokens(written(path, [*SAMPLES["several records per message"], *theirs])) == 250_000


def test_nothing_is_known_before_the_first_request(path: Path) -> None:
    assert read(written(path, SAMPLES["after /clear, before a prompt"])) is None
    assert read(path.with_name("none.jsonl")) is None


def test_tool_results_of_megabytes_stand_in_nobodys_way(path: Path) -> None:
    content = [{"type": "tool_result", "content": '"assistant" "usage" ' + "x" * 1_500_000}]
    large = {"type": "user", "message": {"role": "user", "content": content}}

    assert tokens(written(path, [*SAMPLES["several records per message"], large])) == 250_000


@pytest.mark.parametrize("torn", ['{"type":"assis', '{"type":"assistant","message":{"usage":{"in'])
def test_a_torn_last_line_is_not_read(path: Path, torn: str) -> None:
    """A kill can cut the record that is being written."""
    assert tokens(written(path, SAMPLES["several records per message"], torn)) == 250_000


def test_records_of_another_form_are_passed_over(path: Path) -> None:
    odd: list[dict[str, Any]] = [
        {"type": "assistant", "message": {"usage": "much"}},
        {"type": "assistant", "message": {"model": OPUS, "usage": None}},
        {"type": "assistant", "usage": 3},
        {"type": "assistant", "isApiErrorMessage": True, "message": {"model": OPUS, "usage": {}}},
        {"type": "system", "subtype": "compact_boundary", "isSidechain": True},
    ]

    assert tokens(written(path, [*SAMPLES["several records per message"], *odd])) == 250_000


def test_a_compaction_that_does_not_count_leaves_the_number_open(path: Path) -> None:
    boundary = {"type": "system", "subtype": "compact_boundary", "timestamp": "soon"}
    found = read(written(path, [boundary]))

    assert found is not None
    assert (found.tokens, found.at) == (None, 0.0)


def test_the_order_of_a_records_keys_does_not_matter(path: Path) -> None:
    """The real client writes a reply's type after its text, and a tool result's before it."""
    reply = SAMPLES["several records per message"][-1]
    lead = {"parentUuid": None, "cwd": 'a "quoted" \\ folder', "isSidechain": False, "n": -1.5}
    turned = {**lead, "message": reply["message"], "requestId": "r", "type": "assistant"}
    result = {**lead, "type": "user", "toolUseResult": {"type": "assistant", "usage": {}}}
    odd = {"toolUseResult": {"type": "assistant", "usage": {"input_tokens": 5}}, "type": "user"}

    file = {**lead, "attachment": {"type": "assistant", "usage": {}}, "type": "attachment"}
    title = {"type": "ai-title", "aiTitle": "assistant, usage"}

    assert tokens(written(path, [turned, result, odd, file, title])) == 250_000


@pytest.mark.parametrize(
    ("head", "may"),
    [
        (b'{"parentUuid":null,"isSidechain":false,"promptId":"p","type":"user","message":{', False),
        (b'{"parentUuid":"a\\"b","isSidechain":false,"attachment":{"type":"assistant"', False),
        (b'{"type":"ai-title","aiTitle":"x"}', False),
        (b'{"parentUuid":null,"isSidechain":false,"message":{"type":"user"', True),
        (b'{"type": "assistant", "isSidechain": false, "message": {', True),
        (b'{"parentUuid":null,"type":"system","subtype":"compact_boundary"', True),
        (b'{"parentUuid":"\\",\\"type\\":\\"user\\"","message":{', True),
        (b'{"cwd":"' + b"x" * 2000, True),
        (b"", True),
    ],
)
def test_a_head_tells_whether_a_record_may_tell_of_usage(head: bytes, may: bool) -> None:
    """Heads of the real client's records; only one that cannot be a reply is passed over."""
    assert _may_tell(head) == may


# --- a transcript that grows ---------------------------------------------------------------------


def reply(count: int, second: int = 0) -> dict[str, Any]:
    return {
        "type": "assistant",
        "timestamp": f"2026-11-15T20:00:{second:02}.000Z",
        "message": {"model": OPUS, "usage": {"input_tokens": count}},
    }


def compaction(count: int, second: int = 0) -> dict[str, Any]:
    return {
        "type": "system",
        "subtype": "compact_boundary",
        "timestamp": f"2026-11-15T20:00:{second:02}.000Z",
        "compactMetadata": {"postTokens": count},
    }


NOISE = {"type": "user", "message": {"role": "user", "content": "x" * 300}}


def added(path: Path, *records: dict[str, Any], torn: str = "") -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(json.dumps(record) + "\n" for record in records) + torn)


class Growing:
    """One reader, asked again and again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reader = UsageReader()

    @property
    def tokens(self) -> int | None:
        found = self.reader.read(self.path)
        # Whatever is remembered, it tells what a first reading would tell.
        assert found == read(self.path)
        return found.tokens if found else None


@pytest.fixture
def growing(path: Path) -> Growing:
    return Growing(path)


def test_what_was_added_counts(growing: Growing, path: Path) -> None:
    assert growing.tokens is None
    added(path, NOISE)
    assert growing.tokens is None
    added(path, reply(10), NOISE)
    assert growing.tokens == 10
    assert growing.tokens == 10
    added(path, NOISE, NOISE)
    assert growing.tokens == 10
    added(path, reply(20), NOISE)
    assert growing.tokens == 20


def test_a_compaction_in_between_counts_until_the_next_reply(growing: Growing, path: Path) -> None:
    added(path, reply(10, 1))
    assert growing.tokens == 10
    added(path, compaction(3, 2))
    assert growing.tokens == 3
    added(path, NOISE)
    assert growing.tokens == 3
    added(path, reply(5, 3))
    assert growing.tokens == 5


def test_a_compaction_that_is_written_late_is_judged_by_its_time(
    growing: Growing, path: Path
) -> None:
    added(path, reply(10, 5))
    assert growing.tokens == 10
    added(path, compaction(3, 4))
    assert growing.tokens == 10
    added(path, compaction(4, 6))
    assert growing.tokens == 4


def test_a_line_that_is_written_in_pieces_counts_when_it_is_whole(
    growing: Growing, path: Path
) -> None:
    line = json.dumps(reply(20))
    added(path, reply(10), torn=line[:50])
    assert growing.tokens == 10
    added(path, torn=line[50:])
    assert growing.tokens == 20
    added(path, torn="\n" + json.dumps(NOISE))
    assert growing.tokens == 20


def test_a_file_that_was_cut_is_read_anew(growing: Growing, path: Path) -> None:
    added(path, reply(10))
    size = path.stat().st_size
    added(path, reply(20))
    assert growing.tokens == 20

    os.truncate(path, size)
    assert growing.tokens == 10
    os.truncate(path, 0)
    assert growing.tokens is None


def test_another_file_by_the_same_name_is_read_anew(growing: Growing, path: Path) -> None:
    added(path, reply(10), NOISE)
    assert growing.tokens == 10

    added(path.with_name("other"), reply(20), NOISE, NOISE)
    path.with_name("other").replace(path)
    assert growing.tokens == 20

    path.unlink()
    assert growing.tokens is None


def test_a_file_that_was_written_anew_in_its_place_is_read_anew(
    growing: Growing, path: Path
) -> None:
    """The same file for the system, and longer than before."""
    added(path, reply(10))
    assert growing.tokens == 10

    written(path, [reply(20), NOISE, NOISE])
    assert growing.tokens == 20


def test_only_what_was_added_is_read(path: Path) -> None:
    """A transcript of a gigabyte costs no more than its last records."""
    reader = UsageReader()
    added(path, reply(10), NOISE)
    assert reader.read(path) is not None

    with path.open("r+b") as file:
        file.write(json.dumps(reply(99)).encode())
    added(path, NOISE)

    assert tokens(path) == 99
    found = reader.read(path)
    assert found is not None
    assert found.tokens == 10


def test_not_every_transcript_there_ever_was_is_remembered(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage, "REMEMBERED", 2)
    reader = UsageReader()
    for number in range(5):
        one = path.with_name(f"{number}.jsonl")
        added(one, reply(number))
        assert reader.read(one) is not None

    assert [known.name for known in reader._known] == ["3.jsonl", "4.jsonl"]


RECORDS = [NOISE, reply(1, 1), reply(2, 4), compaction(3, 2), compaction(4, 5), {"type": "mode"}]


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(RECORDS), max_size=8),
    st.lists(st.integers(0, 4000), max_size=6),
)
def test_however_a_transcript_grows_it_tells_what_a_first_reading_tells(
    records: list[dict[str, Any]], cuts: list[int]
) -> None:
    content = "".join(json.dumps(record) + "\n" for record in records).encode()
    with TemporaryDirectory() as folder:
        growing = Growing(Path(folder, "transcript.jsonl"))
        for cut in sorted(cuts):
            growing.path.write_bytes(content[:cut])
            _ = growing.tokens
        growing.path.write_bytes(content)
        _ = growing.tokens


@pytest.mark.parametrize(
    ("moment", "tokens", "window"),
    [
        ("startup, before the first request", None, 1_000_000),
        ("mid-turn, after a 50k message", 50_000, 1_000_000),
        ("after 260k of 1M", 260_000, 1_000_000),
        ("after /compact", 0, 1_000_000),
        ("after /clear", None, 1_000_000),
        ("200k model at 167k", 167_095, 200_000),
    ],
)
def test_the_status_line_tells_tokens_and_window(
    moment: str, tokens: int | None, window: int
) -> None:
    """Null before the first request and zeros after a compaction both mean: not measured."""
    told = msgspec.convert(STATUS_LINES[moment], StatusLine).usage(3.0)

    assert (told.tokens, told.window, told.source, told.at) == (tokens, window, "statusline", 3.0)
    assert told.model == STATUS_LINES[moment]["model"]["id"]


def test_a_status_line_without_numbers_tells_nothing() -> None:
    assert StatusLine().usage(3.0) == Usage(
        tokens=None, window=None, model="", source="statusline", at=3.0
    )
