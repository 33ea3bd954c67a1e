"""The configuration file: typed, loaded once; an error names the file and the key."""

import json
import os
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from sm.redaction.own import complaint
from sm.settings.times import seconds

__all__ = ["ConfigError", "Settings", "check", "load", "parse", "registry", "seconds", "size"]


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
    """Events, finished messages, closed handoffs, ended sessions and runs older than this are
    dropped, with their logs and snapshots."""


class Daemon(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The background process."""

    log_level: str = "info"
    """debug, info, warning or error."""
    log_size: str = "5MB"
    """A log file is rotated at this size; three old ones are kept."""


class ContextMonitor(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """When agents are warned that their context fills."""

    enabled: bool = True
    """Whether anything is sent at all."""
    early_threshold: str | int = "40%"
    """Shown, nothing is sent. In percent of the real window, or in tokens."""
    warning_threshold: str | int = "50%"
    """The agent is told at its turn's end."""
    critical_threshold: str | int = "65%"
    """The agent is told at once."""
    fallback_tool_count: int = 500
    """Warn after this many tool calls where no usage can be read."""
    check_frequency: int = 1
    """Where an agent does not tell its usage itself, its record is read at every Nth tool call."""


class HandoffSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How sessions pass from one context to the next."""

    expiry: str = "2h"
    """A handoff in a channel that nobody claimed by then is expired."""
    max_restarts: int = 10
    """How often one run of the walk-away wrapper restarts its agent."""
    cooldown: str = "2m"
    """The shortest time between two automatic handoffs of one session."""
    deadline: str = "10m"
    """How long an agent whose context is critical may take to hand off by itself."""
    max_document: str = "1MB"
    """A larger handoff document is refused."""
    teach_agents: bool = True
    """Tell agents at their start that sm handoff exists."""


class RecoveryPrompts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What an agent is told when it is brought back."""

    template: str = ""
    """In place of sm's own words; {transcript}, {scrollback}, {handoff}, {partial_work}, {git} and
    {reason} are filled in."""


class RecoverySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How sessions come back whose agent, terminal or host died."""

    enabled: bool = True
    """Whether snapshots are kept, and crashed sessions can be brought back."""
    auto_recover: bool = False
    """Bring them back without being asked."""
    max_context_lines: int = 10_000
    """The most lines of the conversation or the terminal a fresh context is told."""
    context_budget: str = "60%"
    """The most a recovery prompt may take of the agent's window."""
    snapshot_interval: str = "5m"
    """How often a terminal that changed is kept, beside each turn's end."""
    snapshot_dir: str = ""
    """Where snapshots are kept; in each session's own folder if empty."""
    crash_budget: str = "5 in 15m"
    """An agent that crashes this often is not brought back by itself any more."""
    at_once: int = 4
    """How many sessions are brought back at the same time."""
    keep_environment: bool = True
    """Keep each session's environment, in a file only its owner can read, until it ends."""
    prompts: RecoveryPrompts = RecoveryPrompts()


class Delivery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How messages get into agents."""

    routes: dict[str, list[str]] = {}
    """Per agent, the routes sm may use; all of them where an agent is not named."""


class Notify(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the person is told besides."""

    command: str = ""
    """Run for each notice, without a shell; the text is its last argument and its input."""


class RedactionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is taken for a secret beyond what sm knows."""

    patterns: dict[str, str] = {}
    """Kinds of your own: a name, and the regular expression that finds them."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything a config.toml may hold."""

    tmux: Tmux = Tmux()
    store: StoreSettings = StoreSettings()
    archive: Archive = Archive()
    context_monitor: ContextMonitor = ContextMonitor()
    handoff: HandoffSettings = HandoffSettings()
    recovery: RecoverySettings = RecoverySettings()
    delivery: Delivery = Delivery()
    notify: Notify = Notify()
    redaction: RedactionSettings = RedactionSettings()
    channels: dict[str, str] = {}
    """Folders, and the channel each belongs to with everything below it."""
    daemon: Daemon = Daemon()


def load(path: Path) -> Settings:
    """The settings in a file, or the defaults when there is none."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return Settings()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}.") from None
    return parse(text, path)


def parse(text: bytes, path: Path) -> Settings:
    """The settings such a file would hold."""
    try:
        raw = tomllib.loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}.") from None
    return check(_typed(raw, path), path)


def _typed(raw: dict[str, object], path: Path) -> Settings:
    try:
        return msgspec.convert(raw, Settings)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: {_explain(_with_its_name(str(error), raw))}") from None


def _with_its_name(error: str, raw: Any) -> str:
    """msgspec says in which table of free names the wrong value is, not under which of them."""
    found = re.search(r"`\$\.([a-z_.]+)\[\.\.\.\]", error)
    if found is None:
        return error
    table = found.group(1).split(".")
    for outer in table:
        raw = raw[outer]
    wrong = next(name for name, value in raw.items() if not _fits(table, {name: value}))
    name = wrong if re.fullmatch(r"[\w-]+", wrong) else json.dumps(wrong, ensure_ascii=False)
    return error.replace("[...]", f".{name}", 1)


def _fits(table: list[str], values: object) -> bool:
    for outer in reversed(table):
        values = {outer: values}
    try:
        msgspec.convert(values, Settings)
    except msgspec.ValidationError:
        return False
    return True


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
    kept = settings.archive.retention
    is_fine = _can(seconds, kept) and seconds(kept) > 0
    yield "archive.retention", is_fine, 'a time such as "90d", "12h" or "30m", above 0'
    yield from _monitor_rules(settings.context_monitor)
    yield from _handoff_rules(settings.handoff)
    yield from _recovery_rules(settings.recovery)
    yield from _channel_rules(settings.channels)
    for agent, routes in settings.delivery.routes.items():
        yield f"delivery.routes.{agent}", agent in AGENTS, f"named by one of {', '.join(AGENTS)}"
        is_fine = all(route in ROUTES for route in routes)
        yield f"delivery.routes.{agent}", is_fine, f"a list of {', '.join(ROUTES)}"
    is_fine = _can(_words, settings.notify.command)
    yield "notify.command", is_fine, 'a program with arguments such as "notify-send sm"'
    for name, pattern in settings.redaction.patterns.items():
        wrong = complaint(name, pattern)
        yield f"redaction.patterns.{name}", wrong is None, wrong or ""
    yield "daemon.log_level", daemon.log_level in _LEVELS, "debug, info, warning or error"
    is_fine = _can(size, daemon.log_size) and size(daemon.log_size) > 0
    yield "daemon.log_size", is_fine, 'a size such as "5MB" or "300KB", above 0'


def _monitor_rules(monitor: ContextMonitor) -> Iterator[tuple[str, bool, str]]:
    words = 'a part of the window such as "50%", or tokens such as 100000'
    thresholds = {
        "early": monitor.early_threshold,
        "warning": monitor.warning_threshold,
        "critical": monitor.critical_threshold,
    }
    for name, given in thresholds.items():
        yield f"context_monitor.{name}_threshold", _is_threshold(given), words
    for (lower, low), (higher, high) in pairwise(thresholds.items()):
        is_fine = _is_below(low, high)
        yield f"context_monitor.{higher}_threshold", is_fine, f"above {lower}_threshold"
    is_fine = monitor.fallback_tool_count > 0
    yield "context_monitor.fallback_tool_count", is_fine, "more than 0"
    yield "context_monitor.check_frequency", monitor.check_frequency > 0, "more than 0"


def _handoff_rules(handoff: HandoffSettings) -> Iterator[tuple[str, bool, str]]:
    words = 'a time such as "2h", "10m" or "90s"'
    is_fine = _can(seconds, handoff.expiry) and seconds(handoff.expiry) > 0
    yield "handoff.expiry", is_fine, f"{words}, above 0"
    for name, given in (("cooldown", handoff.cooldown), ("deadline", handoff.deadline)):
        yield f"handoff.{name}", _can(seconds, given), words
    yield "handoff.max_restarts", handoff.max_restarts >= 0, "0 or more"
    largest = handoff.max_document
    is_fine = _can(size, largest) and size(largest) > 0
    yield "handoff.max_document", is_fine, 'a size such as "1MB" or "300KB"'


def _recovery_rules(recovery: RecoverySettings) -> Iterator[tuple[str, bool, str]]:
    is_fine = 1 <= recovery.max_context_lines <= 1_000_000
    yield "recovery.max_context_lines", is_fine, "between 1 and 1000000"
    is_fine = _can(percent, recovery.context_budget) and 1 <= percent(recovery.context_budget) <= 90
    yield "recovery.context_budget", is_fine, 'a part of the window from "1%" to "90%"'
    interval = recovery.snapshot_interval
    is_fine = _can(seconds, interval) and seconds(interval) >= 1
    yield "recovery.snapshot_interval", is_fine, 'a time such as "5m" or "90s", from "1s" on'
    place = expanded(recovery.snapshot_dir)
    is_fine = not place or (place.startswith("/") and "\0" not in place)
    yield "recovery.snapshot_dir", is_fine, 'an absolute folder such as "~/snapshots"'
    is_fine = _can(crash_budget, recovery.crash_budget)
    yield "recovery.crash_budget", is_fine, 'a number of crashes in a time, such as "5 in 15m"'
    yield "recovery.at_once", 1 <= recovery.at_once <= 100, "between 1 and 100"
    unknown = _BRACES.sub("", recovery.prompts.template)
    is_fine = not re.search(r"\{[a-z_]*\}", unknown)
    yield "recovery.prompts.template", is_fine, f"a text with {_PLACES} at most"


def crash_budget(text: str) -> tuple[int, float]:
    """``5 in 15m`` as a number of crashes and seconds."""
    found = re.fullmatch(r"\s*([1-9][0-9]{0,5})\s+in\s+(\S+)\s*", text)
    if found is None or seconds(found.group(2)) <= 0:
        raise ValueError(text)
    return int(found.group(1)), seconds(found.group(2))


PLACEHOLDERS = ("transcript", "scrollback", "handoff", "partial_work", "git", "reason")
"""What a template for recovery prompts may name."""
_PLACES = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
_BRACES = re.compile("|".join(rf"\{{{name}\}}" for name in PLACEHOLDERS))


def _channel_rules(channels: dict[str, str]) -> Iterator[tuple[str, bool, str]]:
    seen: dict[str, str] = {}
    spelt: dict[str, str] = {}
    for folder, name in channels.items():
        key = f"channels.{json.dumps(folder, ensure_ascii=False)}"
        place = expanded(folder)
        is_fine = place.startswith("/") and "\0" not in place
        yield key, is_fine, 'a name for an absolute folder such as "~/src/api"'
        yield key, CHANNEL.fullmatch(name) is not None, CHANNEL_RULE
        first = seen.setdefault(os.path.normpath(place), name)
        yield key, first == name, f"{first!r}, as the same folder is called above"
        first = spelt.setdefault(name.casefold(), name)
        yield key, first == name, f"spelt {first!r}, as it is above: names become file names"


def expanded(folder: str) -> str:
    """A folder of ``[channels]`` with the person's home in the place of ``~``."""
    return os.path.expanduser(folder)  # noqa: PTH111 - a Path would refuse what has no home


def registry(settings: Settings) -> dict[str, str]:
    """Registered folders, absolute, and the channel of each."""
    return {expanded(folder): name for folder, name in settings.channels.items()}


def _is_threshold(given: str | int) -> bool:
    if isinstance(given, int):
        return given > 0
    return _can(percent, given) and 0 < percent(given) <= 100


def _is_below(low: str | int, high: str | int) -> bool:
    """Of unlike kinds, only the window decides: then the lower one is moved when it must be."""
    if isinstance(low, int) and isinstance(high, int):
        return low < high
    if isinstance(low, str) and isinstance(high, str):
        return percent(low) < percent(high)
    return True


def _words(command: str) -> list[str]:
    """A command's words; none for no command."""
    found = shlex.split(command)
    if "\0" in command or (found and not found[0]) or (command.strip() and not found):
        raise ValueError(command)
    return found


def percent(text: str) -> float:
    """``50%`` as a number."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", text)
    if found is None:
        raise ValueError(text)
    return float(found.group(1))


def size(text: str) -> int:
    """``5MB``, ``300KB``, ``1GB`` as bytes."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMG]?B)\s*", text.upper())
    if found is None:
        raise ValueError(text)
    return int(float(found.group(1)) * _BYTES[found.group(2)])


AGENTS = ("claude", "demo", "generic")
"""Every kind of agent; generic is any command that is none of the others."""
ROUTES = ("stop_reply", "tool_result", "doorbell", "paste", "interrupt")
"""Every way of getting text into an agent."""
CHANNEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
CHANNEL_RULE = "1 to 64 letters, digits, '-', '_' or '.', beginning with a letter or digit"
_LEVELS = ("debug", "info", "warning", "error")
_SOCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_BYTES = {"B": 1, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000}


def _can(parse: Callable[[str], object], text: str) -> bool:
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
    wrong = re.fullmatch(r"Expected `([^`]+)`, got `([^`]+)`", what)
    if wrong is not None:
        wanted, given = (_in_words(kinds) for kinds in wrong.groups())
        return f"{key} must be {wanted}, not {given}."
    return f"{key or 'the file'}: {what[0].lower()}{what[1:]}."


def _in_words(kinds: str) -> str:
    return " or ".join(_KINDS.get(kind, kind) for kind in kinds.split(" | "))


_KINDS = {
    "object": "a table of keys",
    "array": "a list",
    "str": "a text in quotes",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
}
"""What msgspec calls the values a TOML file may hold."""
