"""What Claude Code says of itself in ``sessions/<pid>.json`` of its configuration folder.

The file stays when the client is killed, and a pid comes round again: it counts only if its
``procStart`` is that of the living process.
"""

import re
from pathlib import Path

import msgspec

from sm.core.ids import ContextId
from sm.core.terminal import AgentStatus, Sign

_SIGNS = {"idle": Sign.PROMPT, "shell": Sign.PROMPT, "busy": Sign.BUSY, "waiting": Sign.DIALOG}


class _File(msgspec.Struct, rename="camel"):
    session_id: str = ""
    cwd: str = ""
    status: str = ""
    waiting_for: str = ""
    proc_start: str = ""
    status_updated_at: float = 0.0


_files = msgspec.json.Decoder(_File)


def read(pid: int, started: int, transcript: Path) -> AgentStatus | None:
    """What the client with this pid says; None where it says nothing we can use."""
    # projects/<folder>/<session>.jsonl stands beside sessions/ in the configuration folder.
    told = _told(transcript.parent.parent.parent, pid, started)
    return None if told is None else _status(told, transcript.parent)


def find(config: Path, pid: int, started: int) -> tuple[AgentStatus, str] | None:
    """The client with this pid and the folder it works in, if this is its configuration folder."""
    told = _told(config, pid, started)
    if told is None or not told.session_id:
        return None
    return _status(told, _project(config, told)), told.cwd


def _told(config: Path, pid: int, started: int) -> _File | None:
    try:
        told = _files.decode((config / "sessions" / f"{pid}.json").read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return told if told.proc_start == str(started) else None


def _status(told: _File, project: Path) -> AgentStatus:
    return AgentStatus(
        sign=_SIGNS.get(told.status, Sign.UNKNOWN),
        at=told.status_updated_at / 1000,
        detail=told.waiting_for or told.status,
        context=ContextId(told.session_id) if told.session_id else None,
        transcript=str(project / f"{told.session_id}.jsonl") if told.session_id else None,
    )


def _project(config: Path, told: _File) -> Path:
    """Where its transcript is, or will be: nothing is written before the first prompt."""
    named = config / "projects" / re.sub(r"[^A-Za-z0-9]", "-", told.cwd)
    if (named / f"{told.session_id}.jsonl").exists():
        return named
    # A version that names folders in another way.
    elsewhere = next((config / "projects").glob(f"*/{told.session_id}.jsonl"), None)
    return named if elsewhere is None else elsewhere.parent
