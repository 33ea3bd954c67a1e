"""What the demo agent keeps for itself is closed to others, whatever the umask.

Not by an umask of its own: the commands it runs make files for the person.
"""

import os
from pathlib import Path


def make_folder(folder: Path) -> None:
    """With all folders it needs; those that are there stay as they are."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    for one in reversed(missing):
        one.mkdir(mode=0o700, exist_ok=True)


def write(path: Path, text: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
