"""Files a hook asked to watch: what is added, changed or removed there is reported.

It looks a few times a second; Claude Code needs about a second to notice. What is there when the
watching begins is no news.
"""

import os
import stat
import threading
from collections.abc import Callable

EVERY = 0.25
_Seen = dict[str, int]


class Watcher:
    """Reports from a thread of its own, which begins with the first path."""

    def __init__(self, changed: Callable[[str, str], None], *, every: float = EVERY) -> None:
        self._changed = changed
        self._every = every
        self._paths: dict[str, _Seen] = {}
        self._pause = threading.Event()

    def watch(self, paths: list[str]) -> None:
        """Watch these as well: files, or folders with what is right in them."""
        is_first = not self._paths
        new = {path: _look(path) for path in paths if path not in self._paths}
        self._paths = {**self._paths, **new}
        if is_first and new:
            threading.Thread(target=self._run, daemon=True).start()

    def look(self) -> None:
        """Report what is new since the last look."""
        for path, before in list(self._paths.items()):
            now = _look(path)
            self._paths[path] = now
            for file in sorted(before.keys() | now.keys()):
                event = _event(before.get(file), now.get(file))
                if event is not None:
                    self._changed(file, event)

    def _run(self) -> None:
        while not self._pause.wait(self._every):
            self.look()


def _look(path: str) -> _Seen:
    try:
        files = [entry.path for entry in os.scandir(path)]
    except NotADirectoryError:
        files = [path]
    except OSError:
        # Not there (yet).
        return {}
    return {file: changed for file in files if (changed := _changed_at(file)) is not None}


def _changed_at(file: str) -> int | None:
    try:
        found = os.stat(file)  # noqa: PTH116 - four looks a second, for ever
    except OSError:
        return None
    return found.st_mtime_ns if stat.S_ISREG(found.st_mode) else None


def _event(before: int | None, now: int | None) -> str | None:
    if before == now:
        return None
    if before is None:
        return "add"
    return "unlink" if now is None else "change"
