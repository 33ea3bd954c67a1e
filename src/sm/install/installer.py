"""Plans an installation or its undoing, shows it, and carries it out.

A plan is made of one reading of the file and holds only as long as the file stays so.
"""

import contextlib
import fcntl
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Literal

from sm.adapters.folders import SessionFolders
from sm.install import files, hooks
from sm.install.agents import Agent
from sm.install.files import InstallError
from sm.install.heeding import Hindrance, hindrance
from sm.install.hooks import Merged, Traces
from sm.install.jsonc import JsoncError
from sm.install.record import Record, checksum, load, record_path, save
from sm.settings.home import Home

INSTALLED = "--installed"
"""By which our script knows that it was called by an agent that sm did not start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a file is and what it is to become."""

    agent: str
    before: files.Snapshot
    after: bytes | None
    """None: there is to be no file."""
    merged: Merged
    record: Record | None
    """What is to be remembered; None: nothing any more."""
    hindrance: Hindrance | None = None
    """Why the agent will not heed what is installed, if so."""
    is_restored: bool = False
    """The file becomes what it was before the installation, byte for byte."""

    @property
    def is_change(self) -> bool:
        return self.after != self.before.content

    @property
    def warning(self) -> str:
        return self.hindrance.words if self.hindrance else ""

    def diff(self) -> list[str]:
        """The change as lines of a unified diff, without line ends."""
        return files.diff(self.before, self.after)


Kind = Literal["installed", "not installed", "partly", "outdated", "broken", "unheeded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """How an agent's settings are found, for `sm doctor`."""

    kind: Kind
    file: Path
    missing: tuple[str, ...] = ()
    by_hand: bool = False
    """The missing ones were removed by a person: installing leaves them out."""
    warning: str = ""
    remedy: str = ""


def plan_install(home: Home, agent: Agent, environment: Mapping[str, str]) -> Plan:
    before, text, record = _look(home, agent, environment)
    command = _command(home)
    commands = _commands(home, record)
    wanted = agent.entries(command)
    base, traces = (record.entries, record.traces) if record else ({}, None)
    with _refusing(before.path):
        others = _others(agent, before.path, text, commands)
        made = reduce(Traces.joined, (other.traces for other in others), Traces())
        merged = hooks.merge(text, wanted, commands, base, traces, others=made)
        is_there = bool(hooks.present(text, commands))
    is_change = merged.text != text
    after = merged.text.encode() if is_change else before.content
    if is_change:
        record = _updated(record, before, after) if is_there else _first(before, after, others)
        record = replace(record, command=command, entries=wanted, traces=merged.traces)
    return Plan(
        agent=agent.name,
        before=before,
        after=after,
        merged=merged,
        record=record,
        hindrance=hindrance(agent, merged.text),
    )


def _others(agent: Agent, file: Path, text: str, commands: frozenset[str]) -> tuple[Record, ...]:
    """What the sm of other homes remembers of this file, as far as it is installed there too."""
    scripts = {_script(command) for command in hooks.callers(text) if command not in commands}
    kept = (load(record_path(s.parent.parent, agent.name, file)) for s in scripts if s is not None)
    return tuple(record for record in kept if record is not None)


def _script(command: str) -> Path | None:
    """The script of some sm by which an installed hook calls it; None of any other command."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    is_sm = len(words) == 2 and words[1] == INSTALLED and words[0].endswith("/bin/hook")
    return Path(words[0]) if is_sm else None


def _first(before: files.Snapshot, after: bytes | None, others: Sequence[Record]) -> Record:
    return Record(
        original=before.content,
        written=checksum(after),
        made_file=before.content is None or any(other.made_file for other in others),
        made_folder=not before.real.parent.exists() or any(o.made_folder for o in others),
    )


def _updated(record: Record | None, before: files.Snapshot, after: bytes | None) -> Record:
    kept = record or Record.of_unknown()
    is_untouched = checksum(before.content) == kept.written
    return replace(kept, written=checksum(after) if is_untouched else "")


def plan_uninstall(home: Home, agent: Agent, environment: Mapping[str, str]) -> Plan:
    before, text, record = _look(home, agent, environment)
    commands = _commands(home, record)
    with _refusing(before.path):
        merged = hooks.remove(text, commands, record.traces if record else None)
    gone = [e for e in record.entries if e not in merged.removed] if record else []
    merged = replace(merged, left_out=tuple(gone if merged.removed else ()))
    plan = Plan(agent=agent.name, before=before, after=before.content, merged=merged, record=None)
    if not merged.removed:
        return plan
    if record is not None and checksum(before.content) == record.written:
        return replace(plan, after=record.original, is_restored=True)
    return replace(plan, after=_left(merged.text, record))


def check(plan: Plan) -> None:
    """Refuse a plan that could not be carried out, before anybody is asked to agree to it."""
    if plan.is_change:
        files.check_writable(plan.before)


def install(home: Home, plan: Plan) -> None:
    """Carry out a plan to install. Our own scripts are made first: the hooks call them."""
    check(plan)
    home.make()
    SessionFolders(home).write_scripts()
    path = record_path(home.state, plan.agent, plan.before.path)
    with _alone(home):
        if plan.is_change and files.read(plan.before.path).content == plan.after:
            return  # somebody installed the same meanwhile, and remembered what was there
        # Remembered first: a record too many harms nobody, one too few loses the original.
        kept = load(path)
        _remember(path, plan.record, plan.before.path)
        try:
            if plan.is_change:
                files.write(plan.before, plan.after)
        except InstallError:
            _remember(path, kept, plan.before.path)
            raise


def uninstall(home: Home, plan: Plan) -> None:
    """Carry out a plan to uninstall. Our scripts stay: agents may be about to call them."""
    path = record_path(home.state, plan.agent, plan.before.path)
    if not plan.is_change and not path.exists():
        return
    check(plan)
    home.make()
    with _alone(home):
        kept = load(path)
        if plan.is_change and files.read(plan.before.path).content != plan.after:
            files.write(plan.before, plan.after)
        _remember(path, None, plan.before.path)
        if plan.after is None and kept is not None and kept.made_folder:
            with contextlib.suppress(OSError):  # the agent keeps things there by now
                plan.before.real.parent.rmdir()


def _remember(path: Path, record: Record | None, file: Path) -> None:
    if record is None:
        path.unlink(missing_ok=True)
    elif load(path) != record:
        save(path, record, file)


def condition(home: Home, agent: Agent, environment: Mapping[str, str]) -> Condition:
    plan = plan_install(home, agent, environment)
    merged, file = plan.merged, plan.before.path
    missing = merged.added + merged.left_out
    if len(missing) == len(agent.entries("")):
        return Condition(kind="not installed", file=file)
    script = home.bin / "hook"
    if not script.is_file() or not script.stat().st_mode & 0o100:
        return Condition(kind="broken", file=file)
    if plan.hindrance is not None:
        words, remedy = plan.hindrance
        return Condition(kind="unheeded", file=file, warning=words, remedy=f"{remedy} {file}")
    if missing:
        by_hand = not merged.added
        return Condition(kind="partly", file=file, missing=missing, by_hand=by_hand)
    is_old = merged.updated or merged.removed
    return Condition(kind="outdated" if is_old else "installed", file=file)


def _look(
    home: Home, agent: Agent, environment: Mapping[str, str]
) -> tuple[files.Snapshot, str, Record | None]:
    file = agent.settings_file(environment)
    before = files.read(file)
    record = load(record_path(home.state, agent.name, file))
    try:
        return before, (before.content or b"").decode(), record
    except UnicodeDecodeError as error:
        raise InstallError(
            f"{file} is not UTF-8 text: byte {error.start + 1} cannot be read. "
            "Save it as UTF-8 and try again."
        ) from None


def _command(home: Home) -> str:
    command = f"{shlex.quote(str(home.bin / 'hook'))} {INSTALLED}"
    try:
        command.encode()
    except UnicodeEncodeError:
        raise InstallError(
            f"The path {home.bin!r} is not UTF-8 and cannot stand in a settings file. "
            "Set SM_HOME to another folder."
        ) from None
    return command


def _commands(home: Home, record: Record | None) -> frozenset[str]:
    """What calls us: this home's command, and the one it had before it was moved."""
    return frozenset({_command(home)} | ({record.command} if record else set()))


def _left(text: str, record: Record | None) -> bytes | None:
    """What a file without us is: none, if we made it and it holds nothing else."""
    is_ours = record is not None and record.made_file
    is_empty = "".join(text.removeprefix("\ufeff").split()) in ("", "{}")
    return None if is_ours and is_empty else text.encode()


@contextlib.contextmanager
def _refusing(file: Path) -> Iterator[None]:
    """Say where in the file its reader stopped."""
    try:
        yield
    except JsoncError as error:
        raise InstallError(
            f"{file}, line {error.line}, column {error.column}: {error.words}. "
            "Mend the file and try again; nothing was changed."
        ) from None


@contextlib.contextmanager
def _alone(home: Home) -> Iterator[None]:
    """Two installations into one file take turns."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
    with os.fdopen(os.open(home.state / "install.lock", flags, 0o600), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
