"""Start, stop and look at the background process. Every other command starts it by itself."""

import argparse
import sys
from typing import cast

from sm.api import starting
from sm.api.types import Health
from sm.cli import done
from sm.cli.output import age, client, print_json
from sm.settings.home import Home

EXAMPLE = "sm daemon status"
LINES = 50


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", nargs="?", choices=("start", "stop", "status", "logs"), default="status"
    )
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    home = Home.from_environment()
    if args.action == "stop":
        stopped = starting.stop(home)
        done.note("the daemon has stopped.")
        if args.json:
            print_json({"stopped": stopped})
        else:
            print("The daemon has stopped. Agents go on." if stopped else "No daemon was running.")
        return 0
    if args.action == "logs":
        return _logs(home)
    if args.action == "start":
        starting.ensure(home)
    return _status(home, as_json=args.json)


def _status(home: Home, *, as_json: bool) -> int:
    if starting.running_version(home) is None:
        sys.stderr.write("sm: no daemon is running. Any command starts it; or: sm daemon start\n")
        return 1
    health = cast("Health", client(start=False).get("/health"))
    if as_json:
        print_json(health)
    else:
        print(
            f"sm {health['version']} runs since {age(health['started_at'])} "
            f"(parent {health['pid']}, worker {health['worker']}, "
            f"{health['restarts']} restarts), {health['sessions']} sessions"
        )
    return 0


def _logs(home: Home) -> int:
    try:
        lines = home.log.read_text(errors="replace").splitlines()
    except OSError:
        sys.stderr.write(f"sm: there is no log at {home.log} yet.\n")
        return 1
    print("\n".join(lines[-LINES:]))
    return 0
