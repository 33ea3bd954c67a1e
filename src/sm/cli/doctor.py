"""Check everything sm needs: tmux, agents, folders, store, daemon. Each with the remedy."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from sm.api import starting
from sm.api.client import Client
from sm.api.errors import StartError
from sm.api.runs import is_run
from sm.api.types import Health, NoticeView, SessionDetail, SessionView
from sm.cli.output import is_colourful, is_too_old, print_json, size
from sm.settings.home import Home, HomeError
from sm.version import VERSION

if TYPE_CHECKING:
    from sm.install import service
    from sm.install.installer import Condition

EXAMPLE = "sm doctor --fix"
OLDEST_CLAUDE = (2, 1)
"""Older clients lack hooks that routes and states rest on."""
LOW_DISK, FULL_DISK = 100_000_000, 2_000_000
"""Below the one, a busy day fills it; below the other, the next commit may fail."""
SKEW = 5.0


class Finding(NamedTuple):
    """One thing looked at."""

    what: str
    verdict: str
    """ok, note or bad."""
    says: str
    remedy: str = ""
    fix: Callable[[], object] | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fix", action="store_true", help="do what can be done safely")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    findings = list(_found())
    if args.fix:
        findings = [_fixed(f) for f in findings]
    if args.json:
        print_json([{k: v for k, v in f._asdict().items() if k != "fix"} for f in findings])
    else:
        for finding in findings:
            _print(finding)
    return 1 if any(f.verdict == "bad" for f in findings) else 0


def _found() -> Iterator[Finding]:
    try:
        home = Home.from_environment()
    except HomeError as error:
        # Nothing that is kept there can be looked at.
        yield from _programs()
        yield Finding("folders", "bad", *_says_and_remedy(str(error)))
        return
    yield from examine(home)


def _says_and_remedy(words: str) -> tuple[str, str]:
    """Of a refusal, what is wrong, and its last sentence: what to do."""
    says, _, remedy = words.rpartition(". ")
    return (says, remedy) if says else (words, "")


def _fixed(finding: Finding) -> Finding:
    if finding.verdict == "ok" or finding.fix is None:
        return finding
    try:
        finding.fix()
    except (OSError, StartError) as error:
        return finding._replace(says=f"{finding.says}; could not be mended: {error}")
    return finding._replace(verdict="ok", says=f"mended: {finding.says}", remedy="")


def _print(finding: Finding) -> None:
    mark = {"ok": "✓", "note": "·", "bad": "✗"}[finding.verdict]
    colour = {"ok": "32", "note": "33", "bad": "31"}[finding.verdict]
    shown = f"\x1b[{colour}m{mark}\x1b[0m" if is_colourful() else mark
    print(f"{shown} {finding.what}: {finding.says}")
    if finding.remedy:
        print(f"    {finding.remedy}")


def examine(home: Home) -> Iterator[Finding]:
    yield from _programs()
    yield from _installed(home)
    yield from _service(home)
    yield from _folders(home)
    yield _config(home)
    yield _disk(home)
    yield from _daemon(home)


def _programs() -> Iterator[Finding]:
    yield _python()
    yield _tmux()
    yield from _agents()


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("python", "ok", f"{version} at {sys.executable}")


def _tmux() -> Finding:
    program = shutil.which("tmux")
    if program is None:
        return Finding("tmux", "bad", "not installed", "On Debian or Ubuntu: apt install tmux")
    told = subprocess.run([program, "-V"], capture_output=True, text=True, check=False).stdout
    if is_too_old(told):
        return Finding("tmux", "bad", f"{told.strip()} is too old", "sm needs tmux 3.2 or newer.")
    return Finding("tmux", "ok", told.strip())


def _agents() -> Iterator[Finding]:
    yield Finding("agent demo", "ok", "built in")
    program = shutil.which("claude")
    if program is None:
        remedy = "Only needed for --agent claude: npm install -g @anthropic-ai/claude-code"
        yield Finding("agent claude", "note", "not installed", remedy)
        return
    try:
        told = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=20, check=False
        )
        yield _version_of_claude(told.stdout.strip(), program)
    except (OSError, subprocess.TimeoutExpired) as error:
        yield Finding("agent claude", "bad", f"does not start: {error}")


def _version_of_claude(told: str, program: str) -> Finding:
    version = re.match(r"(\d+)\.(\d+)", told)
    remedy = "sm was made for 2.1 and newer. Bring it up to date with: claude update"
    if version is None:
        says = f"{program} tells no version: {told[:60]!r}"
        return Finding("agent claude", "note", says, remedy)
    if tuple(map(int, version.groups())) < OLDEST_CLAUDE:
        says = f"{told} at {program} is old: states and messages may be missed"
        return Finding("agent claude", "note", says, remedy)
    return Finding("agent claude", "ok", f"{told} at {program}")


def _installed(home: Home) -> Iterator[Finding]:
    """Our hooks in the settings of agents that people start themselves."""
    from sm.install import agents, installer
    from sm.install.files import InstallError

    for agent in agents.AGENTS.values():
        what = f"installed hooks ({agent.name})"
        try:
            yield _condition(what, installer.condition(home, agent, os.environ))
        except InstallError as error:
            yield Finding(what, "note", str(error))


def _condition(what: str, found: "Condition") -> Finding:
    match found.kind:
        case "installed":
            return Finding(what, "ok", f"in {found.file}")
        case "not installed":
            remedy = "Only needed for agents you start without sm: sm install"
            return Finding(what, "note", f"not installed in {found.file}", remedy)
        case "outdated":
            return Finding(what, "note", f"outdated in {found.file}",
                           "Bring them up to date with: sm install")  # fmt: skip
        case "broken":
            return Finding(what, "bad", f"in {found.file}, but the script they call is missing",
                           "Make it again with: sm install")  # fmt: skip
        case "unheeded":
            return Finding(what, "bad", f"in {found.file}, but {found.warning}",
                           found.remedy)  # fmt: skip
        case "partly":
            says = f"partly in {found.file}; missing: {', '.join(found.missing)}"
            again = "sm uninstall, then sm install" if found.by_hand else "sm install"
            return Finding(what, "note", says, f"Put them back with: {again}")


def _service(home: Home) -> Iterator[Finding]:
    """What starts the daemon after a reboot."""
    from sm.install import service
    from sm.install.files import InstallError

    if is_run(home):
        return
    try:
        found = service.condition(home)
    except InstallError as error:
        yield Finding("service", "note", str(error))
        return
    yield Finding("service", *_of_service(found))


def _of_service(found: "service.Condition") -> tuple[str, str, str]:
    """Verdict, words and remedy."""
    file = found.service.file
    match found.kind:
        case "installed" if found.at_boot:
            return "ok", f"{file} starts the daemon at boot", ""
        case "installed":
            remedy = "To have it started before anybody logs in: loginctl enable-linger"
            return "ok", f"{file} starts the daemon at login", remedy
        case "not installed":
            remedy = "To have the daemon started after a reboot: sm install --service"
            return "note", "not installed: after a reboot the first command starts it", remedy
        case "foreign":
            return "note", f"{file} was not written by sm", "It is left alone."
        case "outdated":
            remedy = "Bring it up to date with: sm install --service"
            return "note", f"{file} is not what this sm would write", remedy
        case "broken":
            remedy = "Write it anew with: sm install --service"
            return "bad", f"{file} starts {found.python}, which is not there", remedy
        case "not enabled":
            remedy = f"Enable it with: systemctl --user enable --now {found.service.name}"
            return "note", f"{file} is there, but not enabled", remedy


def _folders(home: Home) -> Iterator[Finding]:
    try:
        home.check()
    except HomeError as error:
        yield Finding("folders", "bad", *_says_and_remedy(str(error)))
        return
    if not home.state.exists():
        yield Finding("folders", "note", f"{home.state} is not there yet", "Any command makes it.")
        return
    for path in home.misplaced():
        yield Finding("files", "bad", f"{path} is a folder, and sm keeps a file there",
                      "Move it away; if it is empty: sm doctor --fix", path.rmdir)  # fmt: skip
    yield from _scripts(home)
    loose = [p for p in _private(home) if p.exists() and p.stat().st_mode & 0o077]
    if loose:
        yield Finding(
            "permissions", "bad", f"{loose[0]} is open to others",
            "Close it with: sm doctor --fix", lambda: _close(loose),
        )  # fmt: skip
    elif not os.access(home.state, os.W_OK):
        yield Finding("folders", "bad", f"{home.state} cannot be written", "Make it writable.")
    else:
        yield Finding("folders", "ok", f"{home.state}, closed to others")


def _scripts(home: Home) -> Iterator[Finding]:
    """They are written by the first daemon, and deleted by nobody but a person."""
    from sm.install import scripts

    missing = scripts.missing(home) if home.store.is_file() else []
    if missing:
        yield Finding("scripts", "bad", f"{missing[0]} is missing: agents cannot call sm",
                      "Write it again with: sm doctor --fix",
                      lambda: scripts.write(home))  # fmt: skip


def _private(home: Home) -> list[Path]:
    return [home.state, home.runtime, home.sessions, home.spool, home.logs, home.store,
            home.token, home.socket]  # fmt: skip


def _close(paths: list[Path]) -> None:
    for path in paths:
        path.chmod(0o700 if path.is_dir() else 0o600)


def _config(home: Home) -> Finding:
    from sm.settings.config import ConfigError, load

    try:
        load(home.config)
    except ConfigError as error:
        return Finding("config", "bad", str(error), f"Edit {home.config}")
    there = home.config.exists()
    return Finding("config", "ok", str(home.config) if there else "defaults (no file)")


def _disk(home: Home) -> Finding:
    place = next(p for p in (home.state, *home.state.parents) if p.exists())
    return of_disk(shutil.disk_usage(place).free, place)


def of_disk(free: int, place: Path) -> Finding:
    """By what is free alone: a small disk may be all that sm needs."""
    says = f"{size(free)} free at {place}"
    if free < FULL_DISK:
        return Finding("disk", "bad", says, "Nothing can be stored on a full disk: free some.")
    if free < LOW_DISK:
        return Finding("disk", "note", says, "Logs and snapshots grow: free some soon.")
    return Finding("disk", "ok", says)


def _daemon(home: Home) -> Iterator[Finding]:
    running = starting.running_version(home)
    if running is None:
        remedy = "Any command starts it; or: sm daemon start"
        yield Finding("daemon", "note", "not running", remedy, lambda: starting.ensure(home))
        return
    if not starting.answers(home):
        yield Finding("daemon", "bad", "runs but does not answer",
                      "Restart it: sm daemon stop, then sm daemon start. "
                      "If that does not help, its log says why: sm daemon logs")  # fmt: skip
        return
    health = cast("Health", Client(home, start=False).get("/health"))
    version = health["version"]
    yield Finding("daemon", "ok", f"{version}, process {health['worker']}, "
                  f"{health['restarts']} restarts, {health['sessions']} sessions")  # fmt: skip
    if version != VERSION:
        yield Finding("version", "note", f"this command is {VERSION}, the daemon {version}")
    yield from _parts(home, health)
    yield from _sessions(home)


def _sessions(home: Home) -> Iterator[Finding]:
    """What does not work with the agents that run now."""
    api = Client(home, start=False)
    for notice in cast("list[NoticeView]", api.get("/notices")):
        yield Finding(f"session {notice['name']}", "note", notice["words"],
                      "Put it away with: sm notices --clear")  # fmt: skip
    for session in cast("list[SessionView]", api.get("/sessions")):
        detail = cast("SessionDetail", api.get(f"/sessions/{session['id']}"))
        if session["hopeless"]:
            what, remedy = f"session {session['name']}", f"Try again: sm recover {session['name']}"
            yield Finding(what, "bad", session["hopeless"], remedy)
        for words in detail["degraded"]:
            yield Finding(f"session {session['name']}", "note", words)


def _parts(home: Home, health: Health) -> Iterator[Finding]:
    if not home.store.exists():
        yield Finding("store", "bad", f"{home.store} was deleted under the daemon",
                      "What is stored now is lost when it ends. Restart it.")  # fmt: skip
        return
    yield Finding("store", "ok", f"{home.store}, schema {health['schema']}")
    if health["tmux_connected"]:
        yield Finding("tmux server", "ok", health["tmux"])
    else:
        yield Finding("tmux server", "bad", f"{health['tmux']} does not answer",
                      "Messages wait until it does. Is its process stopped?")  # fmt: skip
    if health["port"] is None:
        yield Finding("port", "bad", f"the port in {home.port} is taken by another program",
                      "End that program, then: sm daemon stop")  # fmt: skip
    else:
        yield Finding("port", "ok", f"127.0.0.1:{health['port']}, token in {home.token}")
    if home.store.stat().st_mtime > time.time() + SKEW:
        yield Finding("clock", "bad", "the store is from the future", "Check the system's time.")
    spool = health["spool"]
    if spool["bad"]:
        yield Finding("hooks", "note", f"{len(spool['bad'])} set aside, last: {spool['bad'][-1]}",
                      f"They are kept in {home.spool / 'bad'}")  # fmt: skip
    else:
        yield Finding("hooks", "ok", f"none set aside, {spool['waiting']} waiting")
