"""What an installation leaves in our own state: the file as it was, and what we made of it.

Without it, our entries are still found and removed; with it, everything comes back byte for byte.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sm.adapters.files import write_private
from sm.install.hooks import Entries, Entry, Traces

FORM = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    original: bytes | None
    """The file as it was before us; None: there was none."""
    written: str
    """The checksum of what we made of it; empty if others have changed it in between."""
    command: str = ""
    """By which our entries are found, also after our home was moved."""
    entries: Entries = field(default_factory=dict)
    traces: Traces = field(default_factory=Traces)
    made_file: bool = False
    """There was none, before us or before another home's sm that was here first."""
    made_folder: bool = False

    @classmethod
    def of_unknown(cls) -> "Record":
        """Our entries are there, but nobody knows what was before them."""
        return cls(original=b"", written="")


def checksum(content: bytes | None) -> str:
    return "none" if content is None else hashlib.sha256(content).hexdigest()


def record_path(state: Path, agent: str, file: Path) -> Path:
    tag = hashlib.sha256(str(file).encode(errors="surrogateescape")).hexdigest()[:12]
    return state / "installed" / f"{agent}-{tag}.json"


def save(path: Path, record: Record, file: Path) -> None:
    original = None if record.original is None else base64.b64encode(record.original).decode()
    stored = {
        "form": FORM,
        "file": str(file),
        "original": original,
        "written": record.written,
        "command": record.command,
        "entries": {e: [v.matcher, dict(v.call)] for e, v in record.entries.items()},
        "created": sorted(record.traces.created),
        "blank": dict(record.traces.blank),
        "made_file": record.made_file,
        "made_folder": record.made_folder,
    }
    write_private(path, json.dumps(stored, indent=1).encode())


def load(path: Path) -> Record | None:
    """What was kept; nothing if that cannot be read, as after the loss of our state."""
    try:
        return _decoded(json.loads(path.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _decoded(stored: Mapping[str, Any]) -> Record | None:
    if stored["form"] != FORM:
        return None
    original = stored["original"]
    entries = stored["entries"].items()
    return Record(
        original=None if original is None else base64.b64decode(original),
        written=str(stored["written"]),
        command=str(stored["command"]),
        entries={e: Entry(call=dict(call), matcher=matcher) for e, (matcher, call) in entries},
        traces=Traces(created=frozenset(stored["created"]), blank=dict(stored["blank"])),
        made_file=bool(stored.get("made_file", original is None)),
        made_folder=bool(stored["made_folder"]),
    )
