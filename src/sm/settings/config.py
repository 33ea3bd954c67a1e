"""The configuration file: typed, loaded once; an error names the file and the key."""

import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from sm.settings.times import seconds

__all__ = ["ConfigError", "Settings", "check", "load", "seconds", "size"]


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


class Delivery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How messages get into agents."""

    routes: dict[str, list[str]] = {}
    """Per agent, the routes sm may use; all of them where an agent is not named."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything a config.toml may hold."""

    tmux: Tmux = Tmux()
    store: StoreSettings = StoreSettings()
    archive: Archive = Archive()
    delivery: Delivery = Delivery()
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
    return check(_typed(raw, path), path)


def _typed(raw: dict[str, object], path: Path) -> Settings:
    try:
        return msgspec.convert(raw, Settings)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: {_explain(str(error))}") from None


def check(settings: Settings, path: Path) -> Settings:
    """Refuse values that have the right type and no meaning."""
    for key, is_fine, rule in _rules(settings):
        if not is_fine:
            raise ConfigError(f"{path}: {key} must be {rule}.")
    return settings


def _rules(settings: Settings) -> Iterator[tuple[str, bool, str]]:
    """Each key with a rule: whether it is kept, and its words."""
    tmux, daemon = settings.tmux, settings.daemon
    words = "1 to 40 letters, digits, '-', '_' or '.', beginning with a letter or digit"
    yield "tmux.socket", _SOCKET.fullmatch(tmux.socket) is not None, words
    is_fine = 100 <= tmux.history_limit <= 10_000_000
    yield "tmux.history_limit", is_fine, "between 100 and 10000000"
    yield "store.url", settings.store.url == "sqlite", '"sqlite"'
    is_fine = _can(seconds, settings.archive.retention)
    yield "archive.retention", is_fine, 'a time such as "90d", "12h" or "30m"'
    for agent, routes in settings.delivery.routes.items():
        is_fine = all(route in ROUTES for route in routes)
        yield f"delivery.routes.{agent}", is_fine, f"a list of {', '.join(ROUTES)}"
    yield "daemon.log_level", daemon.log_level in _LEVELS, "debug, info, warning or error"
    yield "daemon.log_size", _can(size, daemon.log_size), 'a size such as "5MB" or "300KB"'


def size(text: str) -> int:
    """``5MB``, ``300KB``, ``1GB`` as bytes."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMG]?B)\s*", text.upper())
    if found is None:
        raise ValueError(text)
    return int(float(found.group(1)) * _BYTES[found.group(2)])


ROUTES = ("stop_reply", "tool_result", "doorbell", "paste", "interrupt")
"""Every way of getting text into an agent."""
_LEVELS = ("debug", "info", "warning", "error")
_SOCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_BYTES = {"B": 1, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000}


def _can(parse: Callable[[str], float], text: str) -> bool:
    try:
        parse(text)
    except (ValueError, OverflowError):
        return False
    return True


def _explain(error: str) -> str:
    """msgspec's words in ours: which key, and what is wrong with it."""
    what, _, where = error.partition(" - at `$")
    key = where.rstrip("`").lstrip(".")
    unknown = re.search(r"unknown field `([^`]+)`", what)
    if unknown is not None:
        name = f"{key}.{unknown.group(1)}" if key else unknown.group(1)
        return f"unknown key {name}. See the configuration reference for what exists."
    return f"{key or 'the file'}: {what[0].lower()}{what[1:]}."
