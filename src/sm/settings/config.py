"""The configuration file: typed, loaded once; an error names the file and the key."""

import re
import tomllib
from pathlib import Path

import msgspec


class ConfigError(Exception):
    """The file cannot be used; the message names file and key and says what is expected."""


class Tmux(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The tmux server agents live on."""

    socket: str = "sm"
    """Name of the server's socket (tmux -L). Another SM_HOME adds its own suffix."""
    history_limit: int = 50_000
    """Lines of scrollback each agent's pane keeps."""


class StoreSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where sessions, messages and events are kept."""

    url: str = "sqlite"
    """sqlite: a file under the state folder."""


class Archive(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How long the past is kept."""

    retention: str = "90d"
    """Events and finished messages older than this are dropped."""


class Daemon(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The background process."""

    log_level: str = "info"
    """debug, info, warning or error."""
    log_size: str = "5MB"
    """A log file is rotated at this size; three old ones are kept."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything a config.toml may hold."""

    tmux: Tmux = Tmux()
    store: StoreSettings = StoreSettings()
    archive: Archive = Archive()
    daemon: Daemon = Daemon()


def load(path: Path) -> Settings:
    """The settings in a file, or the defaults when there is none."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return Settings()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}.") from None
    try:
        raw = tomllib.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}.") from None
    return check(msgspec_convert(raw, path), path)


def msgspec_convert(raw: dict[str, object], path: Path) -> Settings:
    try:
        return msgspec.convert(raw, Settings)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: {_explain(str(error))}") from None


def check(settings: Settings, path: Path) -> Settings:
    """Refuse values that have the right type and no meaning."""
    problems = {
        "tmux.socket": re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}", settings.tmux.socket)
        is None
        and "must be 1 to 40 letters, digits, '-', '_' or '.', beginning with a letter or digit",
        "tmux.history_limit": not 100 <= settings.tmux.history_limit <= 10_000_000
        and "must be between 100 and 10000000",
        "store.url": settings.store.url != "sqlite" and 'must be "sqlite"',
        "archive.retention": _is_bad(seconds, settings.archive.retention)
        and 'must be a time such as "90d", "12h" or "30m"',
        "daemon.log_level": settings.daemon.log_level not in _LEVELS
        and "must be debug, info, warning or error",
        "daemon.log_size": _is_bad(size, settings.daemon.log_size)
        and 'must be a size such as "5MB" or "300KB"',
    }
    for key, problem in problems.items():
        if problem:
            raise ConfigError(f"{path}: {key} {problem}.")
    return settings


def seconds(text: str) -> float:
    """``90d``, ``12h``, ``30m``, ``45s`` as seconds."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhdw])\s*", text)
    if found is None:
        raise ValueError(text)
    return float(found.group(1)) * _SECONDS[found.group(2)]


def size(text: str) -> int:
    """``5MB``, ``300KB``, ``1GB`` as bytes."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMG]?B)\s*", text.upper())
    if found is None:
        raise ValueError(text)
    return int(float(found.group(1)) * _BYTES[found.group(2)])


_LEVELS = ("debug", "info", "warning", "error")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_BYTES = {"B": 1, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000}


def _is_bad(parse: object, text: str) -> bool:
    assert callable(parse)
    try:
        parse(text)
    except (ValueError, OverflowError):
        return True
    return False


def _explain(error: str) -> str:
    """msgspec's words in ours: which key, and what is wrong with it."""
    what, _, where = error.partition(" - at `$")
    key = where.rstrip("`").lstrip(".")
    unknown = re.search(r"unknown field `([^`]+)`", what)
    if unknown is not None:
        name = f"{key}.{unknown.group(1)}" if key else unknown.group(1)
        return f"unknown key {name}. See the configuration reference for what exists."
    return f"{key or 'the file'}: {what[0].lower()}{what[1:]}."
