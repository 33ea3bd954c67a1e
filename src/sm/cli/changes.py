"""A change to somebody's settings: shown as a diff, agreed to, made, told."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sm.api.errors import RefusedError
from sm.cli import done
from sm.cli.output import is_colourful, plain, print_json
from sm.install import installer
from sm.install.agents import AGENTS, Agent
from sm.install.files import InstallError
from sm.install.installer import Plan
from sm.settings.home import Home

_COLOURS = {"+": "32", "-": "31", "@": "36"}


class Tell(Protocol):
    """In words, what was done or would be."""

    def __call__(self, plan: Plan, *, is_dry: bool) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Our hooks put in, or taken out."""

    plan: Callable[[Home, Agent, Mapping[str, str]], Plan]
    write: Callable[[Home, Plan], None]
    tell: Tell


def make(args: argparse.Namespace, change: Change) -> int:
    """Show it, ask, make it and tell, as far as the options allow; the exit code."""
    home = Home.from_environment()
    try:
        plan = change.plan(home, AGENTS[args.agent], os.environ)
        installer.check(plan)
        if not args.json:
            show(plan.diff())
        if not args.dry_run:
            if plan.is_change and not is_agreed(args):
                return refuse("Nothing was changed.")
            change.write(home, plan)
            if plan.is_change:
                done.note(f"{plan.before.path} is changed.")
    except InstallError as error:
        return refuse(str(error))
    if args.json:
        print_plan(plan, is_dry=args.dry_run)
    else:
        change.tell(plan, is_dry=args.dry_run)
    return 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--agent", choices=tuple(AGENTS), default="claude", help="whose settings; claude"
    )
    what.add_argument(
        "--service", action="store_true", help="what starts the daemon after a reboot, instead"
    )
    parser.add_argument("--dry-run", action="store_true", help="only show what would change")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--json", action="store_true", help="as JSON, without asking")


def show(diff: Sequence[str]) -> None:
    for line in diff:
        print(_shown(line))


def _shown(line: str) -> str:
    text = plain(line)
    colour = "1" if line.startswith(("+++", "---")) else _COLOURS.get(line[:1])
    return f"\x1b[{colour}m{text}\x1b[0m" if colour and is_colourful() else text


def is_agreed(args: argparse.Namespace) -> bool:
    """Ask; where nobody sits who could answer, they have to say so beforehand."""
    if args.yes or args.json:
        return True
    if sys.stdin is None or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise RefusedError(
            "Nothing was changed: without a terminal nobody can be asked. To write it, say --yes.",
            400,
        )
    try:
        answer = input("Write this? [y/N] ")
    except EOFError:
        print()
        return False
    return answer.strip().lower() in ("y", "yes")


def print_plan(plan: Plan, *, is_dry: bool) -> None:
    merged = plan.merged
    print_json({
        "agent": plan.agent,
        "file": str(plan.before.path),
        "changed": plan.is_change and not is_dry,
        "dry_run": is_dry,
        "added": merged.added,
        "updated": merged.updated,
        "removed": merged.removed,
        "left_out": merged.left_out,
        "kept": merged.kept,
        "warning": plan.warning or None,
        "restored": plan.is_restored,
        "diff": "".join(f"{line}\n" for line in plan.diff()),
    })  # fmt: skip


def refuse(words: str) -> int:
    sys.stderr.write(f"sm: {words}\n")
    return 1
