"""How full a context is; transcripts and status lines are from the real client, shortened."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sm.adapters.agents.claude.usage import StatusLine, read
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
