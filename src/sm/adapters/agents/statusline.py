"""The agent's status line: tell the daemon what it says, then become the user's own.

    statusline.py SOCKET SESSIONS_FOLDER < payload

The client runs one status line only, so ours stands in for the user's: whatever command their
settings name is run with the same input, and its output is shown. Nothing of ours is. It runs
after every reply of the model, so it starts as fast as the hook stub (see there).
"""

import _socket
import posix
import sys

SECONDS = 0.5
PIPE_HOLDS = 60_000
LOCAL, SHARED = "/.claude/settings.local.json", "/.claude/settings.json"


def main() -> None:
    payload = read_all(0)
    try:
        report(sys.argv[1], payload)
    except OSError:
        pass  # Nobody there: the next one comes soon, and the transcript tells the same.
    command = own_command(payload)
    if command is not None and len(payload) < PIPE_HOLDS:
        there, here = posix.pipe()
        posix.write(here, payload)
        posix.close(here)
        posix.dup2(there, 0)
        posix.execv("/bin/sh", ["sh", "-c", command])


def read_all(file: int) -> bytes:
    content = b""
    while chunk := posix.read(file, 1 << 16):
        content += chunk
    return content


def report(path: str, payload: bytes) -> None:
    session = posix.environ.get(b"CLAUDE_SESSION_MANAGER_ID", b"")
    if not session.isalnum():
        return
    head = [
        b"POST /hooks/%s HTTP/1.1" % session,
        b"Host: localhost",
        b"Content-Type: application/json",
        b"Content-Length: %d" % len(payload),
        b"Connection: close",
    ]
    daemon = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    daemon.settimeout(SECONDS)
    daemon.connect(path)
    daemon.sendall(b"\r\n".join([*head, b"", payload]))
    daemon.recv(1)


def own_command(payload: bytes) -> str | None:
    """The user's status line: what they gave at the start comes first, their home's last."""
    home = posix.environ.get(b"HOME", b"").decode()
    config = posix.environ.get(b"CLAUDE_CONFIG_DIR", b"").decode() or f"{home}/.claude"
    project = project_in(payload)
    session = posix.environ.get(b"CLAUDE_SESSION_MANAGER_ID", b"").decode()
    given = f"{sys.argv[2]}/{session}/own-settings.json"
    for path in (given, f"{project}{LOCAL}", f"{project}{SHARED}", f"{config}/settings.json"):
        command = command_in(path)
        if command:
            return command
    return None


def project_in(payload: bytes) -> str:
    """Where the client was started."""
    _, key, rest = payload.partition(b'"project_dir":"')
    plain, quote, _ = rest.partition(b'"')
    if key and quote and b"\\" not in plain:
        return plain.decode()
    import json  # Costs as much as all the rest: only for what is written in another way.

    try:
        told = json.loads(payload)
        return str(told.get("workspace", {}).get("project_dir") or told.get("cwd") or ".")
    except (ValueError, AttributeError):
        return "."


def command_in(path: str) -> str | None:
    try:
        file = posix.open(path, posix.O_RDONLY)
    except OSError:
        return None
    content = read_all(file)
    posix.close(file)
    if b'"statusLine"' not in content:
        return None
    import json

    try:
        line = json.loads(content).get("statusLine")
    except (ValueError, AttributeError):
        return None
    command = line.get("command") if isinstance(line, dict) else None
    return command if isinstance(command, str) else None


if __name__ == "__main__":
    try:
        main()
    finally:
        # Before any traceback: an error would be shown to the agent's user.
        posix._exit(0)
