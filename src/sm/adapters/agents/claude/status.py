"""What Claude Code says of itself in ``sessions/<pid>.json`` of its configuration folder.

The file stays when the client is killed, and a pid comes round again: it counts only if its
``procStart`` is that of the living process.
"""

from pathlib import Path

import msgspec

from sm.core.terminal import AgentStatus, Sign

_SIGNS = {"idle": Sign.PROMPT, "shell": Sign.PROMPT, "busy": Sign.BUSY, "waiting": Sign.DIALOG}


class _File(msgspec.Struct, rename="camel"):
    status: str = ""
    waiting_for: str = ""
    proc_start: str = ""
    status_updated_at: float = 0.0


_files = msgspec.json.Decoder(_File)


def read(pid: int, started: int, transcript: Path) -> AgentStatus | None:
    """What the client with this pid says; None where it says nothing we can use."""
    # projects/<folder>/<session>.jsonl stands beside sessions/ in the configuration folder.
    path = transcript.parent.parent.parent / "sessions" / f"{pid}.json"
    try:
        told = _files.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    if told.proc_start != str(started):
        return None
    sign = _SIGNS.get(told.status, Sign.UNKNOWN)
    detail = told.waiting_for or told.status
    return AgentStatus(sign=sign, at=told.status_updated_at / 1000, detail=detail)
