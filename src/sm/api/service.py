"""The service by which the system starts the daemon: its name, its file, and what stands in it.

Knows the forms of systemd (a user unit) and launchd (an agent's property list), each with its own
quoting. Writes no file; starts the daemon by a service that is already there.
"""

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from sm.settings.errors import HOPELESS
from sm.settings.home import Home

MARKER = "Written by sm as its service"
"""In a comment of the file. No double dash: XML has none there."""
_KEPT = ("PATH", "LANG", "TZ", "TMUX_TMPDIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME")
"""What a service manager does not know of the person, and the daemon needs."""
_ANSWERS_WITHIN = 10.0
_UNIT = """\
# {marker}; to undo: sm uninstall --service
# Home: {tag}
[Unit]
Description=sm keeps coding agents alive and on task
StartLimitIntervalSec=60
StartLimitBurst=10

[Service]
Type=exec
ExecStart={command}
{environment}\
# Agents live on: neither stopping nor the end of one of them may end the others.
KillMode=process
OOMPolicy=continue
# Not after "sm daemon stop", nor when a newer sm takes over: both end in peace.
Restart=on-failure
RestartSec=1
RestartPreventExitStatus={hopeless}
TimeoutStopSec=20
UMask=0077

[Install]
WantedBy=default.target
"""


class ServiceError(Exception):
    """There can be no service; the words say why."""


class Service(NamedTuple):
    """One home's service."""

    name: str
    """As its manager calls it."""
    file: Path
    is_systemd: bool
    tag: str
    """Of the home whose daemon it starts."""

    @property
    def link(self) -> Path | None:
        """What says that it is started with its user's session, where that is a file."""
        wants = self.file.parent / "default.target.wants"
        return wants / self.name if self.is_systemd else None

    @property
    def is_enabled(self) -> bool:
        return self.link is None or self.link.is_symlink()


def of(
    home: Home, *, environment: Mapping[str, str] = os.environ, platform: str = sys.platform
) -> Service:
    """What the service of a home is called, and where its file belongs."""
    if platform == "darwin":
        label = "agent-sm" if home.is_default else f"agent-sm.{home.tag}"
        place = Path.home() / "Library" / "LaunchAgents" / f"{label}.plist"
        return Service(label, place, is_systemd=False, tag=home.tag)
    name = unit_name(home)
    given = environment.get("XDG_CONFIG_HOME", "")
    base = Path(given) if given.startswith("/") else Path.home() / ".config"
    return Service(name, base / "systemd" / "user" / name, is_systemd=True, tag=home.tag)


def unit_name(home: Home) -> str:
    return "sm.service" if home.is_default else f"sm-{home.tag}.service"


def text(
    service: Service,
    home: Home,
    *,
    environment: Mapping[str, str] = os.environ,
    python: str = sys.executable,
) -> str:
    """What is to stand in the file. Raises ServiceError for what cannot be written there."""
    command = [python, "-I", "-m", "sm.daemon", "--service"]
    given = _environment(home, environment)
    for word in (*command, *given.values()):
        if not _is_unicode(word):
            raise ServiceError(f"The path {word!a} is not UTF-8 and cannot stand in a service.")
    if not service.is_systemd:
        return _plist(service, command, given)
    lines = [f"Environment={_quoted(f'{name}={value}')}\n" for name, value in given.items()]
    return _UNIT.format(
        marker=MARKER,
        tag=service.tag,
        command=_command(command),
        environment="".join(lines),
        hopeless=HOPELESS,
    )


def interpreter(service: Service, content: str) -> str | None:
    """The Python that such a file starts; None if that cannot be told."""
    if not service.is_systemd:
        words = _parsed(content).get("ProgramArguments")
        return str(words[0]) if isinstance(words, list) and words else None
    found = re.search(rf'^ExecStart=(?:{_ENV} )?(?:"((?:[^"\\]|\\.)+)"|(\S+))', content, re.M)
    return None if found is None else _unquoted(found[1] or found[2])


def is_ours(content: str) -> bool:
    """Whether sm wrote it, for whichever home."""
    return MARKER in content


def starts_us(service: Service, content: str) -> bool:
    """Whether it starts this home's daemon by this very Python."""
    home = f"# Home: {service.tag}\n" if service.is_systemd else f"<!-- Home: {service.tag} -->\n"
    is_same = interpreter(service, content) == sys.executable
    return is_ours(content) and home in content and is_same


def without_environment(service: Service, content: str) -> object:
    """What remains to be compared when each terminal's own environment is left out."""
    if not service.is_systemd:
        return {**_parsed(content), "EnvironmentVariables": None}
    return [line for line in content.splitlines() if not line.startswith("Environment=")]


def start(home: Home) -> int | None:
    """Have the system start the daemon, if it has a service for that; the daemon's pid."""
    service = of(home)
    try:
        content = service.file.read_text()
    except (OSError, ValueError):
        return None
    if not (service.is_systemd and service.is_enabled and starts_us(service, content)):
        return None
    if systemctl("start", service.name) is not None:
        return None
    return main_pid(service.name)


def main_pid(name: str) -> int | None:
    """The process a unit runs, if it runs."""
    import subprocess

    try:
        told = subprocess.run(
            ["systemctl", "--user", "show", "--property=MainPID", "--value", name],
            env=manager_environment(), capture_output=True, text=True, check=False,
            timeout=_ANSWERS_WITHIN,
        ).stdout.strip()  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return int(told) if told.isdigit() and int(told) else None


def systemctl(*arguments: str) -> str | None:
    """Tell this user's manager something; None if it did so, else what it said."""
    return told_manager(["systemctl", "--user", *arguments])


def told_manager(command: Sequence[str], *, within: float = 60.0) -> str | None:
    import subprocess

    if shutil.which(command[0]) is None:
        return f"there is no {command[0]} here"
    try:
        done = subprocess.run(
            command, env=manager_environment(), capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL, timeout=within,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"it cannot be asked: {error}"
    said = (done.stderr or done.stdout).strip().splitlines()
    return None if done.returncode == 0 else (said[0] if said else f"exit code {done.returncode}")


def manager_environment() -> dict[str, str]:
    """Ours, with the place where this user's manager listens: a job without a login lacks it."""
    usual = f"/run/user/{os.geteuid()}"
    missing = {} if os.environ.get("XDG_RUNTIME_DIR") else {"XDG_RUNTIME_DIR": usual}
    return {**os.environ, **missing}


def _environment(home: Home, environment: Mapping[str, str]) -> dict[str, str]:
    """What the daemon is told of the person's environment: no secrets, nobody's identity."""
    kept = {
        name: value
        for name, value in environment.items()
        if value and (name in _KEPT or name.startswith("LC_"))
    }
    if "PATH" in kept:
        kept["PATH"] = _lasting(kept["PATH"], home)
    moved = {} if home.is_default else {"SM_HOME": str(home.base)}
    return {name: kept[name] for name in sorted(kept)} | moved


def _lasting(path: str, home: Home) -> str:
    """Without what only the caller's own place or session gives a meaning."""
    own = str(home.bin / "path")
    places = [place for place in path.split(os.pathsep) if place.startswith("/") and place != own]
    return os.pathsep.join(dict.fromkeys(places))


# --- systemd -------------------------------------------------------------------------------

_ENV = "/usr/bin/env"
_PROGRAM = re.compile(r"[^\x00-\x1f\x7f\"'\\$]+")
"""What systemd takes for a program's name; anything else may at least be its argument."""


def _command(words: Sequence[str]) -> str:
    before = "" if _PROGRAM.fullmatch(words[0]) else f"{_ENV} "
    return before + " ".join(_quoted(word).replace("$", "$$") for word in words)


def _quoted(word: str) -> str:
    """As one word of a unit: C's escapes inside quotes, and no specifiers."""
    if re.fullmatch(r"[\w@+=:,./-]+", word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda c: f"\\x{ord(c[0]):02x}", escaped) + '"'


def _unquoted(word: str) -> str:
    plain = re.sub(r"\\(?:x(..)|(.))", lambda c: chr(int(c[1], 16)) if c[1] else c[2], word)
    return plain.replace("%%", "%").replace("$$", "$")


def _is_unicode(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


# --- launchd -------------------------------------------------------------------------------


def _plist(service: Service, command: list[str], environment: Mapping[str, str]) -> str:
    import plistlib

    job = {
        "Label": service.name,
        "ProgramArguments": command,
        "EnvironmentVariables": dict(environment),
        "RunAtLoad": True,
        # Not after "sm daemon stop", nor when a newer sm takes over: both end in peace.
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 30,
        # Agents live on when the daemon is stopped.
        "AbandonProcessGroup": True,
        "ExitTimeOut": 20,
        "Umask": 0o077,
        "WorkingDirectory": "/",
    }
    try:
        written = plistlib.dumps(job, sort_keys=False).decode()
    except ValueError:
        raise ServiceError("A control character in a path cannot stand in a service.") from None
    head, _, rest = written.partition("<plist")
    return f"{head}<!-- {MARKER} -->\n<!-- Home: {service.tag} -->\n<plist{rest}"


def _parsed(content: str) -> dict[str, object]:
    import plistlib
    from xml.parsers.expat import ExpatError

    try:
        found = plistlib.loads(content.encode())
    except (ValueError, ExpatError, plistlib.InvalidFileException):
        return {}
    return found if isinstance(found, dict) else {}
