"""Merge our hooks into the settings of agents you start yourself, without sm.

Shows the change and asks before writing. Everything that was there stays; sm uninstall undoes it.
"""

import argparse
import os

from sm.cli import changes, service
from sm.install import installer
from sm.install.agents import AGENTS
from sm.install.files import InstallError
from sm.install.installer import Plan
from sm.settings.home import Home

EXAMPLE = "sm install --dry-run"
add_arguments = changes.add_arguments


def run(args: argparse.Namespace) -> int:
    if args.service:
        return service.install(args)
    home = Home.from_environment()
    try:
        plan = installer.plan_install(home, AGENTS[args.agent], os.environ)
        installer.check(plan)
        if not args.json:
            changes.show(plan.diff())
        if not args.dry_run:
            if plan.is_change and not changes.is_agreed(args):
                return changes.refuse("Nothing was changed.")
            installer.install(home, plan)
    except InstallError as error:
        return changes.refuse(str(error))
    if args.json:
        changes.print_plan(plan, is_dry=args.dry_run)
    else:
        _tell(plan, is_dry=args.dry_run)
    return 0


def _tell(plan: Plan, *, is_dry: bool) -> None:
    merged, file = plan.merged, plan.before.path
    if not plan.is_change:
        print(f"The hooks for {plan.agent} are already installed in {file}.")
    elif is_dry:
        print("Nothing was written. Without --dry-run, this is what would change.")
    else:
        counts = {"added": merged.added, "updated": merged.updated, "removed": merged.removed}
        told = ", ".join(f"{len(events)} {word}" for word, events in counts.items() if events)
        print(f"Installed the hooks for {plan.agent} in {file}: {told}.")
        print("Agents that are running use them at once. To undo: sm uninstall")
    if merged.left_out:
        print(f"Left out, as you removed them: {', '.join(merged.left_out)}. "
              "To have them back: sm uninstall, then sm install")  # fmt: skip
    if merged.kept:
        print(f"Kept as you changed them: {', '.join(merged.kept)}.")
    if plan.warning:
        print(f"Beware: {plan.warning}")
