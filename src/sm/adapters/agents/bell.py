"""Take one note from a session's inbox and give it to the agent that watches it.

    bell.py < payload of a FileChanged hook

The agent runs this in the background whenever a file changes in its inbox. A note is taken by
renaming it out of the inbox, so that it is given once, whoever else looks there. Given means: told
on stderr with exit code 2, which wakes the agent. Anything else is no business of ours: exit 0.
"""

import json
import os
import sys
from pathlib import Path

EVENTS = ("add", "change")


def main() -> int:
    told = json.loads(sys.stdin.buffer.read())
    note = Path(told["file_path"])
    is_note = note.suffix == ".note" and note.parent.name == "inbox"
    if told.get("event") not in EVENTS or not is_note:
        return 0
    text = note.read_bytes()
    taken = note.parent.parent / "taken"
    taken.mkdir(mode=0o700, exist_ok=True)
    note.rename(taken / note.name)
    sys.stderr.buffer.write(text)
    sys.stderr.buffer.flush()
    return 2


if __name__ == "__main__":
    try:
        code = main()
    except Exception:  # noqa: BLE001 - taken back by sm in the same moment, or not one of ours
        code = 0
    os._exit(code)
