"""Where everything of one user on one host lives. Cheap to import: every command needs it."""

import errno
import os
import socket
import stat
from pathlib import Path
from zlib import crc32

from sm.settings.errors import HomeError

__all__ = ["SOCKET_PATH_LIMIT", "Home", "HomeError"]

SOCKET_PATH_LIMIT = 103
"""AF_UNIX paths end at 107 bytes on Linux and at 103 on macOS."""
LONGEST_INSIDE = "x" * 200
"""Longer than the path of any file below the state folder."""


class Home:
    """All paths, derived from ``SM_HOME`` or the XDG folders."""

    def __init__(self, base: Path, config: Path, runtime: Path, *, is_default: bool) -> None:
        self.base = base
        self.config = config
        self.state = base / _hostname()
        self.runtime = runtime
        self.is_default = is_default
        self.tag = f"{crc32(os.fsencode(os.path.realpath(self.state))):08x}"

    @classmethod
    def from_environment(cls) -> "Home":
        """The one that is meant here; refused when nothing at all can have its name."""
        home = cls._named()
        _refuse_endless(home.state)
        return home

    @classmethod
    def _named(cls) -> "Home":
        moved = os.environ.get("SM_HOME")
        if moved:
            base = Path(moved).absolute()
            named = os.environ.get("SM_CONFIG")
            own = Path(named).absolute() if named else base / "config.toml"
            return cls(base, own, _runtime(), is_default=False)
        base = _xdg("XDG_STATE_HOME", ".local/state") / "sm"
        config = _xdg("XDG_CONFIG_HOME", ".config") / "sm" / "config.toml"
        return cls(base, config, _runtime(), is_default=True)

    @property
    def socket(self) -> Path:
        return self.runtime / f"{self.tag}.sock"

    @property
    def live_socket(self) -> Path:
        """Where the running daemon listens: it may have been started with another runtime folder,
        as a job without a login is."""
        try:
            told = self.pid.read_text().rstrip("\n").split(" ", 2)
        except OSError:
            return self.socket
        return Path(told[2]) if len(told) == 3 else self.socket

    @property
    def lock(self) -> Path:
        """With the state, not with the socket: one daemon per state, however it was started."""
        return self.state / "daemon.lock"

    @property
    def pid(self) -> Path:
        return self.state / "daemon.pid"

    @property
    def store(self) -> Path:
        return self.state / "store.db"

    @property
    def spool(self) -> Path:
        return self.state / "spool"

    @property
    def token(self) -> Path:
        return self.state / "token"

    @property
    def port(self) -> Path:
        return self.state / "port"

    @property
    def logs(self) -> Path:
        return self.state / "logs"

    @property
    def log(self) -> Path:
        return self.logs / "daemon.log"

    @property
    def bin(self) -> Path:
        return self.state / "bin"

    @property
    def sessions(self) -> Path:
        return self.state / "sessions"

    @property
    def channels(self) -> Path:
        return self.state / "channels"

    @property
    def notices(self) -> Path:
        return self.state / "notices.json"

    @property
    def adopted(self) -> Path:
        """A file for each living adopted session: hooks of others are listened to meanwhile."""
        return self.state / "adopted"

    def tmux_socket(self, name: str) -> str:
        """The tmux server's socket name: two homes never share a server."""
        return name if self.is_default else f"{name}-{self.tag}"

    def check(self) -> None:
        """Refuse folders that are not ours, before anything is written."""
        for folder in (self.base, self.runtime):
            _refuse_unspeakable(folder)
            _refuse_foreign(folder)
        _refuse_open(self.runtime)
        if len(os.fsencode(self.socket)) > SOCKET_PATH_LIMIT:
            raise HomeError(
                f"The path {self.socket} is too long for a socket. "
                "Set XDG_RUNTIME_DIR to a shorter folder."
            )

    def misplaced(self) -> list[Path]:
        """Where a folder stands in the place of one of our files."""
        files = (self.lock, self.pid, self.port, self.store, self.token, self.log)
        return [path for path in files if path.is_dir()]

    def make(self) -> None:
        """Create the folders, readable by their owner alone."""
        self.check()
        if found := self.misplaced():
            raise HomeError(f"{found[0]} is a folder, and sm keeps a file there. Move it away.")
        try:
            for folder in (self.base, self.state, self.runtime, self.logs, self.bin,
                           self.sessions, self.spool):  # fmt: skip
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise HomeError(
                f"Cannot create {error.filename}: {error.strerror}. "
                "Make it writable or set SM_HOME to another folder."
            ) from None
        self.check()


def _refuse_unspeakable(folder: Path) -> None:
    """A name that is in every answer of the daemon, and in its store."""
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        name = os.fsencode(folder).decode(errors="backslashreplace")
        raise HomeError(
            f"The name {name} is not valid UTF-8. Set SM_HOME to a folder with another name."
        ) from None


def _refuse_endless(state: Path) -> None:
    """A name no file system takes: every look at it would fail, not only the first write."""
    try:
        # As long a name as any file of ours has in there.
        (state / LONGEST_INSIDE).lstat()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise HomeError(
                f"The name {state} is too long. Set SM_HOME to a shorter one."
            ) from None


def _refuse_foreign(folder: Path) -> None:
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise HomeError(f"Cannot use {folder}: {error.strerror}.") from None
    if not stat.S_ISDIR(found.st_mode) and not folder.is_dir():
        raise HomeError(f"{folder} is not a folder. Move it away or set SM_HOME.")
    owner = folder.stat()
    if owner.st_uid != os.geteuid():
        raise HomeError(
            f"{folder} belongs to uid {owner.st_uid}, you are {os.geteuid()}. "
            "Run sm as its owner (without sudo) or set SM_HOME to a folder of your own."
        )


def _refuse_open(folder: Path) -> None:
    """A runtime folder others can enter, or put in our way under /tmp, is none."""
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return
    if found.st_uid != os.geteuid() or folder.stat().st_mode & 0o077:
        raise HomeError(f"{folder} is open to others. Close it with: chmod 700 {folder}")


def _xdg(variable: str, default: str) -> Path:
    value = os.environ.get(variable, "")
    return Path(value) if value.startswith("/") else Path.home() / default


def _runtime() -> Path:
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    if given.startswith("/") and Path(given).is_dir():
        return Path(given) / "sm"
    return Path(f"/tmp/sm-{os.geteuid()}")  # noqa: S108 - checked: ours and closed, or refused


def _hostname() -> str:
    name = socket.gethostname().split(".")[0]
    return "".join(c if c.isalnum() or c == "-" else "-" for c in name) or "localhost"
