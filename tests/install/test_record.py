"""What an installation remembers, on the real disk."""

import stat
from pathlib import Path

import pytest

from sm.install.hooks import Entry, Traces
from sm.install.record import Record, checksum, load, record_path, save
from sm.settings.home import Home

RECORD = Record(
    original=b"\xef\xbb\xbf{ }\r\n",
    written=checksum(b"x"),
    command="'/ho me/hook' --installed",
    entries={"Stop": Entry(call={"timeout": 10}), "PreToolUse": Entry(call={}, matcher="*")},
    traces=Traces(created=frozenset({"/hooks"}), blank={"/": " "}),
    made_folder=True,
)


@pytest.mark.parametrize("record", [RECORD, Record(original=None, written=""), Record.of_unknown()])
def test_what_is_kept_comes_back(tmp_path: Path, record: Record) -> None:
    """All of it, closed to others: settings hold secrets."""
    save(tmp_path / "kept" / "r.json", record, Path("/s.json"))

    assert load(tmp_path / "kept" / "r.json") == record
    assert stat.S_IMODE((tmp_path / "kept" / "r.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"", b"\xff", b"[]", b"{}", b'{"form": 2}', b'{"form": 1}'])
def test_what_cannot_be_read_is_nothing(tmp_path: Path, content: bytes) -> None:
    """As if our state had been lost."""
    (tmp_path / "r.json").write_bytes(content)

    assert load(tmp_path / "r.json") is None
    assert load(tmp_path / "none.json") is None


def test_each_file_has_its_own_record(tmp_path: Path) -> None:
    """One person may have several configurations."""
    home = Home(tmp_path, tmp_path / "c", tmp_path / "run", is_default=False)
    paths = {record_path(home.state, a, Path(f)) for a in ("claude", "x") for f in ("/a", "/b")}

    assert len(paths) == 4
    assert {path.parent for path in paths} == {home.state / "installed"}


def test_no_file_is_unlike_an_empty_one() -> None:
    """Nor like a file that others changed."""
    assert len({checksum(None), checksum(b""), ""}) == 3
