"""Merge our hooks into the settings of agents you start yourself, without sm.

Shows the change and asks before writing. Everything that was there stays; sm uninstall undoes it.
"""

import argparse

from sm.cli import changes, service
from sm.install import installer
from sm.install.installer import Plan

EXAMPLE = "sm install --dry-run"
add_arguments = changes.add_arguments


def run(args: argparse.Namespace) -> int:
    if args.service:
        return service.install(args)
    change = changes.Change(plan=installer.plan_install, write=installer.install, tell=_tell)
    return changes.make(args, change)


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
    if plan.hindrance is not None:
        print(f"Beware: {plan.hindrance.words} {plan.hindrance.remedy} {file}")
