"""What Claude Code says of itself; the sample is from the real client."""

import json
from pathlib import Path

import pytest

from sm.adapters.agents.claude.status import read
from sm.core.ids import ContextId
from sm.core.terminal import AgentStatus, Sign

PID, STARTED = 12907, 339758
SAMPLE = {
    "pid": PID,
    "sessionId": "4b0c2645-6efa-42ce-9d1e-5f0ed6ee48ff",
    "cwd": "/home/dev/work/sd",
    "startedAt": 1794775305469,
    "procStart": "339758",
    "kind": "interactive",
    "name": "agent-x",
    "status": "waiting",
    "updatedAt": 1794775312774,
    "statusUpdatedAt": 1794775312774,
    "waitingFor": "permission prompt",
}


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    (tmp_path / "sessions").mkdir()
    return tmp_path / "projects" / "-home-dev-work-sd" / f"{SAMPLE['sessionId']}.jsonl"


def told(transcript: Path, content: object) -> AgentStatus | None:
    file = transcript.parents[2] / "sessions" / f"{PID}.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return read(PID, STARTED, transcript)


def test_a_dialog_is_told_with_what_it_waits_for(transcript: Path) -> None:
    assert told(transcript, SAMPLE) == AgentStatus(
        sign=Sign.DIALOG,
        at=1794775312.774,
        detail="permission prompt",
        context=ContextId(str(SAMPLE["sessionId"])),
        transcript=str(transcript.with_name(f"{SAMPLE['sessionId']}.jsonl")),
    )


@pytest.mark.parametrize(
    ("word", "sign"),
    [("idle", Sign.PROMPT), ("shell", Sign.PROMPT), ("busy", Sign.BUSY), ("new", Sign.UNKNOWN)],
)
def test_each_word_has_its_meaning(transcript: Path, word: str, sign: Sign) -> None:
    """A word of a later version is unknown, never idle."""
    status = told(transcript, {**SAMPLE, "status": word, "waitingFor": ""})

    assert status is not None
    assert (status.sign, status.detail) == (sign, word)


def test_a_file_of_a_process_that_is_gone_says_nothing(transcript: Path) -> None:
    """It stays after a kill, and pids come round again."""
    assert told(transcript, {**SAMPLE, "procStart": "339757"}) is None
    assert told(transcript, {k: v for k, v in SAMPLE.items() if k != "procStart"}) is None


@pytest.mark.parametrize("content", ["", '{"status":', "[]", '{"status": 3}', '"\\ud83d"'])
def test_a_file_that_is_half_written_says_nothing(transcript: Path, content: str) -> None:
    assert told(transcript, content) is None


def test_no_file_says_nothing(transcript: Path) -> None:
    assert read(PID, STARTED, transcript) is None
