"""Two files on the disk: what they hold, and who may read them."""

import json
import os
import stat
from pathlib import Path

import pytest

from sm.adapters.pty.log import RawLog
from sm.core.launch import LaunchFailedError


def opened(folder: Path) -> RawLog:
    return RawLog(str(folder / "raw.log"), str(folder / "sizes.jsonl"), now=lambda: 7.9)


def test_sizes_are_noted_with_the_offset_they_begin_at(tmp_path: Path) -> None:
    """In the form a tmux pane's are."""
    log = opened(tmp_path)
    log.note_size(80, 24)
    log.append(b"12345")
    log.note_size(100, 30)
    log.close()

    assert [json.loads(line) for line in log.sizes.read_text().splitlines()] == [
        {"at": 7, "cols": 80, "rows": 24, "offset": 0},
        {"at": 7, "cols": 100, "rows": 30, "offset": 5},
    ]


def test_a_second_launch_goes_on_where_the_first_ended(tmp_path: Path) -> None:
    first = opened(tmp_path)
    first.append(b"first")
    first.close()
    second = opened(tmp_path)
    second.append(b"second")
    second.close()

    assert (second.began, second.end) == (5, 11)
    assert second.raw.read_bytes() == b"firstsecond"


def test_both_files_are_closed_to_others(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        log = opened(tmp_path)
    finally:
        os.umask(before)
    log.close()

    assert [stat.S_IMODE(path.stat().st_mode) for path in (log.raw, log.sizes)] == [0o600] * 2


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(LaunchFailedError, match="log cannot be written"):
        opened(tmp_path / "nowhere")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no disk that is always full")
def test_a_full_disk_costs_the_log_alone(tmp_path: Path) -> None:
    (tmp_path / "raw.log").symlink_to("/dev/full")
    log = opened(tmp_path)
    log.append(b"lost")
    log.close()

    assert log.end == log.began
