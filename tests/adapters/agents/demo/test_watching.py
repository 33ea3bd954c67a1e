"""Files the demo agent was asked to watch."""

import os
import threading
from pathlib import Path

from sm.adapters.agents.demo.watching import Watcher

NEVER = 3600.0


def test_what_happens_in_a_folder_is_reported(tmp_path: Path) -> None:
    """Added, changed and removed; what was there before is no news, nor is a folder."""
    seen: list[tuple[str, str]] = []
    watcher = Watcher(lambda path, event: seen.append((Path(path).name, event)), every=NEVER)
    (tmp_path / "old").touch()
    watcher.watch([str(tmp_path), str(tmp_path / "nowhere")])
    watcher.look()
    assert seen == []

    (tmp_path / "folder").mkdir()
    (tmp_path / "new").touch()
    watcher.look()
    os.utime(tmp_path / "old", (1, 1))
    watcher.look()
    (tmp_path / "new").unlink()
    watcher.look()

    assert seen == [("new", "add"), ("old", "change"), ("new", "unlink")]


def test_a_single_file_can_be_watched_before_it_exists(tmp_path: Path) -> None:
    seen: list[tuple[str, str]] = []
    file = tmp_path / "door.txt"
    watcher = Watcher(lambda path, event: seen.append((path, event)), every=NEVER)
    watcher.watch([str(file)])
    file.touch()
    watcher.look()
    # Asked for again, as after /clear: what was reported is not reported anew.
    watcher.watch([str(file)])
    watcher.look()

    assert seen == [(str(file), "add")]


def test_it_looks_by_itself(tmp_path: Path) -> None:
    noticed = threading.Event()
    watcher = Watcher(lambda _path, _event: noticed.set(), every=0.01)
    watcher.watch([str(tmp_path)])
    (tmp_path / "new").touch()

    assert noticed.wait(10)
