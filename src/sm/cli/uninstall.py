"""Take our hooks out of the settings of agents you start yourself.

The file comes back byte for byte if nothing else in it was changed; otherwise only our entries go.
"""

import argparse

from sm.cli import changes, service
from sm.install import installer
from sm.install.installer import Plan

EXAMPLE = "sm uninstall --dry-run"
add_arguments = changes.add_arguments


def run(args: argparse.Namespace) -> int:
    if args.service:
        return service.uninstall(args)
    change = changes.Change(plan=installer.plan_uninstall, write=installer.uninstall, tell=_tell)
    return changes.make(args, change)


def _tell(plan: Plan, *, is_dry: bool) -> None:
    file = plan.before.path
    if not plan.is_change:
        print(f"Nothing to do: no hooks of this sm are installed in {file}.")
    elif is_dry:
        print("Nothing was written. Without --dry-run, this is what would change.")
    elif plan.after is None:
        print(f"Deleted {file}: sm had created it, and it held nothing else.")
    elif plan.is_restored:
        print(f"Took the hooks out of {file}: it is byte for byte what it was.")
    else:
        print(f"Took the hooks out of {file}; what else was changed since stays.")
    if plan.merged.left_out:
        print(f"You had removed some yourself: {', '.join(plan.merged.left_out)}.")
