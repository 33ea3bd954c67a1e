"""Carry one hook call from an agent to the daemon, or spool it until there is one.

    stub.py SOCKET SPOOL_FOLDER [SECONDS | --installed] < payload

Agents run this for every hook, so it starts fast (``python -I -S``, modules in C alone, nothing of
``sm``) and never harms its caller: it exits 0 whatever happens, prints nothing but the daemon's
answer and waits for nobody past a deadline. A hook the daemon did not take lands in the spool,
whole or not at all, under a name that sorts by the time it happened.

With ``--installed``, the caller is an agent somebody started without us: it has no session id to
tell, and is heard only if some agent was adopted. A session of ours reports by its own hooks.
"""

import _signal  # type: ignore[import-not-found]  # `signal` costs an import of enum
import _socket
import posix
import select
import sys
import time

QUIET_SECONDS = 2.0
"""How long the agent's payload may pause: some agents never close the hook's stdin."""
READ_SECONDS = 10.0
CONNECT_SECONDS = 0.5
EXCHANGE_SECONDS = 5.0
PLAIN = frozenset(b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_")


def main() -> None:
    at = time.time_ns()
    session = posix.environ.get(b"CLAUDE_SESSION_MANAGER_ID", b"")
    options = sys.argv[3:]
    if "--installed" in options:
        options.remove("--installed")
        if session or not is_anyone_adopted(sys.argv[2]):
            return
    elif not session or not PLAIN.issuperset(session):
        return
    hook = posix.urandom(8).hex().encode()
    seconds = float(options[0]) if options else EXCHANGE_SECONDS
    payload = bytearray()
    answer = None
    try:
        mind_signals(hurry)
        read_stdin(payload)
        answer = ask(sys.argv[1], request(session, hook, at, payload), seconds)
    except Exception:
        answer = None  # However it failed: the spool keeps the hook.
    mind_signals(_signal.SIG_IGN)
    if answer is None:
        spool(sys.argv[2], session, hook, at, payload)
    elif answer:
        write_all(1, answer)


def is_anyone_adopted(spool_folder: str) -> bool:
    try:
        return bool(posix.listdir(spool_folder.rpartition("/")[0] + "/adopted"))
    except OSError:
        return False


def mind_signals(handler: object) -> None:
    for number in (_signal.SIGTERM, _signal.SIGHUP, _signal.SIGINT):
        _signal.signal(number, handler)


def hurry(*_: object) -> None:
    """The agent's patience is over (Claude gives SessionEnd 1.5 s): only the spool is left."""
    mind_signals(_signal.SIG_IGN)
    raise InterruptedError


def read_stdin(payload: bytearray) -> None:
    deadline = time.monotonic() + READ_SECONDS
    while time.monotonic() < deadline and select.select([0], [], [], QUIET_SECONDS)[0]:
        chunk = posix.read(0, 1 << 20)
        if not chunk:
            return
        payload += chunk


def seconds_text(at: int) -> bytes:
    return b"%d.%06d" % (at // 10**9, at % 10**9 // 1000)


def request(session: bytes, hook: bytes, at: int, payload: bytearray) -> bytes:
    token = posix.environ.get(b"SM_SESSION_TOKEN", b"")
    head = [
        b"POST /hooks/%s HTTP/1.1" % session if session else b"POST /hooks HTTP/1.1",
        b"Host: localhost",
        b"Content-Type: application/json",
        b"Content-Length: %d" % len(payload),
        b"X-Sm-Hook: %s" % hook,
        b"X-Sm-At: %s" % seconds_text(at),
        b"Connection: close",
    ]
    if token and min(token) > 32 and max(token) < 127:
        head.append(b"Authorization: Bearer %s" % token)
    return b"\r\n".join([*head, b"", payload])


def ask(path: str, content: bytes, seconds: float) -> bytes | None:
    """The daemon's answer, empty if it has none; None when it did not take the hook."""
    deadline = time.monotonic() + seconds
    daemon = connect(path)
    daemon.settimeout(seconds)
    try:
        daemon.sendall(content)
    except (BrokenPipeError, ConnectionResetError):
        pass  # It may have refused before the end; its answer tells.
    received = b""
    while (reply := parse(received)) is None:
        daemon.settimeout(max(0.001, deadline - time.monotonic()))
        chunk = daemon.recv(1 << 16)
        if not chunk:
            return None
        received += chunk
    status, body = reply
    if status == 200:
        return body
    return b"" if status == 204 or 400 <= status < 500 else None


def connect(path: str) -> _socket.socket:
    """Linux says "again" at once, not after a wait, when a unix socket's backlog is full."""
    deadline = time.monotonic() + CONNECT_SECONDS
    while True:
        daemon = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        daemon.settimeout(CONNECT_SECONDS)
        try:
            daemon.connect(path)
            return daemon
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def parse(received: bytes) -> tuple[int, bytes] | None:
    """Status and whole body, or None while more must come. Only Content-Length makes a body."""
    head, end, body = received.partition(b"\r\n\r\n")
    if not end:
        return None
    first, *fields = head.split(b"\r\n")
    length = 0
    for field in fields:
        name, _, value = field.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return (int(first.split()[1]), body[:length]) if len(body) >= length else None


def spool(folder: str, session: bytes, hook: bytes, at: int, payload: bytearray) -> None:
    """Written under a hidden name and renamed, so that a reader meets whole files only."""
    import zlib

    name = f"{at:020d}-{hook.decode()}.hook"
    header = b'{"session":"%s","hook":"%s","at":%s}' % (session, hook, seconds_text(at))
    content = b"%s\n%s" % (header, payload)
    try:
        posix.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    hidden = f"{folder}/.{name}"
    file = posix.open(hidden, posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL, 0o600)
    try:
        write_all(file, b"%s\n%08x\n" % (content, zlib.crc32(content)))
        posix.fsync(file)
        posix.rename(hidden, f"{folder}/{name}")
    except OSError:
        posix.unlink(hidden)


def write_all(file: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[posix.write(file, view) :]


if __name__ == "__main__":
    try:
        main()
    finally:
        # Before any traceback: a hook that fails is shown to the agent's user as an error.
        posix._exit(0)
