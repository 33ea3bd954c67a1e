"""The service that starts the daemon after a reboot: `sm install --service` and its undoing."""

import argparse
from collections.abc import Sequence

from sm.api.scope import lingers
from sm.api.service import Service
from sm.cli import changes, done
from sm.cli.output import print_json
from sm.install import service
from sm.install.files import InstallError
from sm.install.service import Plan, Told
from sm.settings.home import Home

LINGER = "loginctl enable-linger"


def install(args: argparse.Namespace) -> int:
    home = Home.from_environment()
    told: list[Told] = []
    try:
        plan = service.plan_install(home)
        if not args.json:
            changes.show(plan.diff())
        if not args.dry_run:
            if plan.is_change and not changes.is_agreed(args):
                return changes.refuse("Nothing was changed.")
            service.install(home, plan)
            done.note(f"{plan.service.file} is written.")
            if plan.is_change or not plan.service.is_enabled:
                told = service.tell(service.commands_to_install(plan))
    except InstallError as error:
        return changes.refuse(str(error))
    left = _left(told, service.commands_to_install(plan)) if told or args.dry_run else []
    if args.json:
        _print(plan, told, left, is_dry=args.dry_run)
    else:
        _tell_installed(plan, told, left, is_dry=args.dry_run)
    return 1 if any(one.is_refused for one in told) else 0


def uninstall(args: argparse.Namespace) -> int:
    home = Home.from_environment()
    told: list[Told] = []
    try:
        plan = service.plan_uninstall(home)
        if not args.json:
            changes.show(plan.diff())
        if plan.is_change and not args.dry_run:
            if not changes.is_agreed(args):
                return changes.refuse("Nothing was changed.")
            told = service.tell(service.commands_to_uninstall(plan))
            service.uninstall(home, plan)
            done.note(f"{plan.service.file} is deleted.")
            told += service.tell(service.commands_after_uninstall(plan))
    except InstallError as error:
        return changes.refuse(str(error))
    if args.json:
        _print(plan, told, [], is_dry=args.dry_run)
    else:
        _tell_uninstalled(plan, told, is_dry=args.dry_run)
    return 0


def _left(told: Sequence[Told], commands: Sequence[tuple[str, ...]]) -> list[str]:
    """The commands that nobody has carried out."""
    carried_out = {one.command for one in told if one.refused is None}
    return [Told(command=command).line for command in commands if command not in carried_out]


def _print(plan: Plan, told: Sequence[Told], left: Sequence[str], *, is_dry: bool) -> None:
    print_json({
        "service": plan.service.name,
        "file": str(plan.service.file),
        "changed": plan.is_change and not is_dry,
        "dry_run": is_dry,
        "told": [{"command": one.line, "refused": one.refused} for one in told],
        "to_run": list(left),
        "diff": "".join(f"{line}\n" for line in plan.diff()),
    })  # fmt: skip


def _tell_installed(plan: Plan, told: Sequence[Told], left: Sequence[str], *, is_dry: bool) -> None:
    own = plan.service
    if not plan.is_change and not told:
        print(f"The service {own.name} is already installed in {own.file}.")
    elif is_dry:
        print("Nothing was written. Without --dry-run, this is what would change; then would run:")
        _list(left)
    else:
        if plan.is_change:
            print(f"Wrote {own.file}.")
        _tell_of_manager(own, told, left)


def _tell_of_manager(own: Service, told: Sequence[Told], left: Sequence[str]) -> None:
    if left:
        print(_why(told))
        _list(left)
    else:
        print(f"{own.name} starts the daemon from now on. To undo: sm uninstall --service")
    if own.is_systemd and not lingers():
        print(f"To have it started at boot, before anybody logs in: {LINGER}")


def _why(told: Sequence[Told]) -> str:
    """Why something is left to be run by hand."""
    last = told[-1]
    program = last.command[0]
    if not last.is_refused:
        return f"There is no {program} here. Where there is one, run:"
    return (
        f"{program} says: {last.refused}. The service is there, but not started. "
        "Log in as this user (not with sudo or su) and run:"
    )


def _list(lines: Sequence[str]) -> None:
    for line in lines:
        print(f"    {line}")


def _tell_uninstalled(plan: Plan, told: Sequence[Told], *, is_dry: bool) -> None:
    own = plan.service
    if not plan.is_change:
        print(f"Nothing to do: there is no service of this sm in {own.file}.")
    elif is_dry:
        print("Nothing was written. Without --dry-run, this is what would change.")
    else:
        print(f"Deleted {own.file}. Agents go on; the next command starts the daemon again.")
        # A manager that is not there refuses everything for the same reason.
        refused = {one.refused: one for one in reversed(told) if one.is_refused}
        for one in reversed(refused.values()):
            print(f"{one.line} was refused: {one.refused}. A daemon it started may still run.")
