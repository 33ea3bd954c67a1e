"""Where a folder belongs: links resolved, git's root looked for. Nothing is written."""

import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from sm.adapters.channels.database import FILE, explained
from sm.adapters.channels.schema import path_of
from sm.core.channel import Place, Why, longest_prefix


def find_place(directory: Path, registry: Mapping[str, str]) -> Place:
    """Where the channel of a directory begins. The registry's folders are absolute."""
    real = os.path.realpath(directory)
    roots = {os.path.realpath(folder): name for folder, name in reversed(list(registry.items()))}
    found = longest_prefix(real, roots)
    if found is not None:
        return Place(root=found, why=Why.REGISTERED, registered=roots[found])
    for folder in (Path(real), *Path(real).parents):
        if _is_work_tree(folder):
            return Place(root=str(folder), why=Why.GIT)
    return Place(root=real, why=Why.FOLDER)


def remembered_names(folder: Path) -> dict[str, str]:
    """As ``Ledger.names``, of a ledger that may not be there yet, and is not made."""
    path = folder / FILE
    if not path.exists():
        return {}
    try:
        place = f"file:{quote(os.fsencode(path))}?mode=ro"
        with closing(sqlite3.connect(place, uri=True, timeout=5)) as connection:
            rows = connection.execute("SELECT name, root FROM root").fetchall()
    except sqlite3.Error as error:
        raise explained(path, error) from error
    return {name: path_of(root) for name, root in rows}


def _is_work_tree(folder: Path) -> bool:
    """A clone's ``.git`` is a folder; that of a linked work tree or a submodule is a file."""
    git = folder / ".git"
    try:
        if git.is_dir():
            return (git / "HEAD").exists()
        return git.is_file() and git.read_bytes()[:7] == b"gitdir:"
    except OSError:
        return False
