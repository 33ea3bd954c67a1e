"""The agent's status line: tell the daemon what it says, then show the user's own.

    statusline.py SOCKET < payload

The client runs one status line only, so ours stands in for the user's: whatever command their
settings name is run with the same input, and its output is shown. Nothing of ours is.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

SECONDS = 0.5


def main() -> int:
    payload = sys.stdin.buffer.read()
    # Nobody there: the next one comes soon, and the transcript tells the same.
    with contextlib.suppress(OSError):
        report(sys.argv[1], payload)
    command = own_command(payload)
    if command is None:
        return 0
    return subprocess.run(["/bin/sh", "-c", command], input=payload, check=False).returncode


def report(path: str, payload: bytes) -> None:
    session = os.environ.get("CLAUDE_SESSION_MANAGER_ID", "")
    if not session.isalnum():
        return
    head = (
        f"POST /hooks/{session} HTTP/1.1\r\n"
        "Host: localhost\r\n"
        "Content-Type: application/json\r\n"
        f"Content-Length: {len(payload)}\r\n"
        "Connection: close\r\n\r\n"
    )
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.settimeout(SECONDS)
        daemon.connect(path)
        daemon.sendall(head.encode() + payload)
        daemon.recv(1)


def own_command(payload: bytes) -> str | None:
    """The user's status line: the project's own settings come before those of the home."""
    project = Path(project_in(payload))
    home = os.environ.get("CLAUDE_CONFIG_DIR") or Path("~/.claude").expanduser()
    places = (
        project / ".claude/settings.local.json",
        project / ".claude/settings.json",
        Path(home, "settings.json"),
    )
    return next((command for path in places if (command := command_in(path))), None)


def project_in(payload: bytes) -> str:
    try:
        told = json.loads(payload)
        return str(told.get("workspace", {}).get("project_dir") or told.get("cwd") or ".")
    except (ValueError, AttributeError):
        return "."


def command_in(path: Path) -> str | None:
    try:
        line = json.loads(path.read_text("utf-8")).get("statusLine")
    except (OSError, ValueError, AttributeError):
        return None
    command = line.get("command") if isinstance(line, dict) else None
    return command if isinstance(command, str) else None


if __name__ == "__main__":
    try:
        code = main()
    except Exception:  # noqa: BLE001 - an error would be shown to the agent's user
        code = 0
    sys.stdout.flush()
    os._exit(code)
