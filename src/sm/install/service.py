"""The service that starts the daemon, as a file of its manager's: planned, written, taken back.

The file is ours alone, known by its first lines; one of that name that somebody else wrote is
refused. Telling the manager is a second step: without it, the file waits for the next login.
"""

import contextlib
import json
import os
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sm.adapters.files import write_private
from sm.api import service
from sm.api.runs import is_run
from sm.api.scope import lingers
from sm.api.service import Service, ServiceError
from sm.install import files
from sm.install.files import InstallError
from sm.settings.home import Home

NEW_MODE = 0o644
"""As managers and people expect such files; there is no secret in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the service's file is and what it is to become."""

    service: Service
    before: files.Snapshot
    after: bytes | None

    @property
    def is_change(self) -> bool:
        return self.after != self.before.content

    def diff(self) -> list[str]:
        return files.diff(self.before, self.after)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a service manager was told to do, and how that went."""

    command: tuple[str, ...]
    refused: str | None = None
    """What it said; None if it did it."""
    is_absent: bool = False
    """There is no such manager here."""

    @property
    def is_refused(self) -> bool:
        return self.refused is not None and not self.is_absent

    @property
    def line(self) -> str:
        return shlex.join(self.command)


Kind = Literal["installed", "not installed", "foreign", "outdated", "broken", "not enabled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """How the service is found, for `sm doctor`."""

    kind: Kind
    service: Service
    python: str = ""
    """What it starts, where that is of interest."""
    at_boot: bool = True
    """It is started without anybody logging in."""


def plan_install(home: Home) -> Plan:
    if is_run(home):
        raise InstallError("A run ends with its terminal: there is nothing to start for it.")
    wanted = service.of(home)
    before = files.read(wanted.file)
    _refuse_foreign(before)
    try:
        after = service.text(wanted, home).encode()
    except ServiceError as error:
        raise InstallError(f"{error} Nothing was changed.") from None
    return _checked(Plan(service=wanted, before=before, after=after))


def plan_uninstall(home: Home) -> Plan:
    wanted = service.of(home)
    before = files.read(wanted.file)
    _refuse_foreign(before)
    return _checked(Plan(service=wanted, before=before, after=None))


def _checked(plan: Plan) -> Plan:
    """Refused before anybody is asked to agree."""
    if plan.is_change:
        files.check_writable(plan.before)
    return plan


def _refuse_foreign(found: files.Snapshot) -> None:
    if found.content is not None and not service.is_ours(found.content.decode(errors="replace")):
        raise InstallError(
            f"{found.path} was not written by sm and stays as it is. "
            "If you do not need it, move it away and try again."
        )


def install(home: Home, plan: Plan) -> None:
    """Write the file. The folders that had to be made for it are remembered."""
    home.make()
    if plan.is_change:
        made = _missing(plan.before.real.parent)
        if made:
            write_private(_record(home), json.dumps([str(folder) for folder in made]).encode())
        for folder in reversed(made):
            with contextlib.suppress(OSError):  # said when the file cannot be written
                folder.mkdir(mode=0o755, exist_ok=True)
        before = plan.before
        mode = NEW_MODE if before.content is None else before.mode
        new = files.Snapshot(path=before.path, real=before.real, content=before.content, mode=mode)
        files.write(new, plan.after)


def uninstall(home: Home, plan: Plan) -> None:
    """Delete the file and what had to be made for it; the manager has let go of it before."""
    if plan.is_change:
        files.write(plan.before, None)
    if plan.service.link is not None:
        # Where no manager could be told, its own note of us is left.
        with contextlib.suppress(OSError):
            if _is_link_to(plan.service.link, plan.service.file):
                plan.service.link.unlink()
                plan.service.link.parent.rmdir()
    record = _record(home)
    for folder in _remembered(record):
        with contextlib.suppress(OSError):  # somebody keeps things there by now
            folder.rmdir()
    with contextlib.suppress(OSError):
        record.unlink(missing_ok=True)


def _is_link_to(link: Path, file: Path) -> bool:
    return link.is_symlink() and (link.parent / link.readlink()).resolve() == file.resolve()


def _missing(folder: Path) -> list[Path]:
    """The folders that are not there, deepest first."""
    return [place for place in (folder, *folder.parents) if not place.exists()]


def _record(home: Home) -> Path:
    return home.state / "installed" / "service-folders.json"


def _remembered(record: Path) -> list[Path]:
    try:
        return [Path(place) for place in json.loads(record.read_bytes())]
    except (OSError, ValueError, TypeError):
        return []


# --- the manager ---------------------------------------------------------------------------


def commands_to_install(plan: Plan) -> list[tuple[str, ...]]:
    """What the manager has to be told once the file is there."""
    own = plan.service
    if not own.is_systemd:
        first = [("launchctl", "bootout", _domain(own))] if plan.before.content else []
        return [*first, ("launchctl", "bootstrap", f"gui/{os.geteuid()}", str(own.file))]
    ask = ("systemctl", "--user")
    again = [(*ask, "restart", own.name)] if plan.is_change and plan.before.content else []
    return [(*ask, "daemon-reload"), (*ask, "enable", "--now", own.name), *again]


def commands_to_uninstall(plan: Plan) -> list[tuple[str, ...]]:
    """What it has to be told before the file goes."""
    own = plan.service
    if not own.is_systemd:
        return [("launchctl", "bootout", _domain(own))]
    return [("systemctl", "--user", "disable", "--now", own.name)]


def commands_after_uninstall(plan: Plan) -> list[tuple[str, ...]]:
    return [("systemctl", "--user", "daemon-reload")] if plan.service.is_systemd else []


def _domain(own: Service) -> str:
    return f"gui/{os.geteuid()}/{own.name}"


def tell(commands: list[tuple[str, ...]]) -> list[Told]:
    """Tell the manager one after the other, up to the first it refuses."""
    told: list[Told] = []
    for command in commands:
        absent = shutil.which(command[0]) is None
        refused = service.told_manager(command)
        told.append(Told(command=command, refused=refused, is_absent=absent))
        if told[-1].refused is not None:
            break
    return told


# --- for sm doctor -------------------------------------------------------------------------


def condition(home: Home) -> Condition:
    own = service.of(home)
    content = (files.read(own.file).content or b"").decode(errors="replace")
    if not content:
        return Condition(kind="not installed", service=own)
    if not service.is_ours(content):
        return Condition(kind="foreign", service=own)
    python = service.interpreter(own, content) or "nothing"
    if not Path(python).exists():
        return Condition(kind="broken", service=own, python=python)
    if not service.starts_us(own, content) or not _is_up_to_date(home, own, content):
        return Condition(kind="outdated", service=own, python=python)
    if not own.is_enabled:
        return Condition(kind="not enabled", service=own)
    return Condition(kind="installed", service=own, at_boot=lingers() or not own.is_systemd)


def _is_up_to_date(home: Home, own: Service, content: str) -> bool:
    """What a person's environment holds differs from terminal to terminal, and is no matter."""
    try:
        wanted = service.text(own, home)
    except ServiceError:
        return False
    return service.without_environment(own, content) == service.without_environment(own, wanted)
