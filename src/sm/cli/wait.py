"""Wait until a session is idle with nothing queued, or has ended."""

import argparse
from typing import cast

from sm.api.client import segment
from sm.api.types import SessionDetail
from sm.cli.output import client, print_json, seconds

EXAMPLE = "sm wait ada --for idle --timeout 10m"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", help="id, unique id prefix, or name")
    parser.add_argument(
        "--for", dest="until", choices=("idle", "ended"), default="idle", help="default: idle"
    )
    parser.add_argument(
        "--timeout", type=seconds, default=3600.0, metavar="N", help="give up after (default: 1h)"
    )
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    query = {"until": args.until, "timeout": args.timeout}
    path = f"/sessions/{segment(args.session)}/wait"
    answer = client().call("GET", path, query=query, within=args.timeout + 30)
    session = cast("SessionDetail", answer)
    if args.json:
        print_json(session)
    else:
        print(f"{session['name']} is {session['state']}.")
    return 0 if session["state"] == args.until or args.until == "ended" else 1
