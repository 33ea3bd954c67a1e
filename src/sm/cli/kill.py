"""End a session and its agent. Its log and history stay."""

import argparse
from typing import cast

from sm.api.client import segment
from sm.api.types import SessionDetail
from sm.cli import done
from sm.cli.output import client, print_json

EXAMPLE = "sm kill ada"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", nargs="+", help="id, id prefix, or name")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    daemon = client()
    # All are looked up before the first is ended: a typing error ends none.
    meant = [
        cast("SessionDetail", daemon.get(f"/sessions/{segment(name)}")) for name in args.session
    ]
    ended = [
        cast("SessionDetail", daemon.call("DELETE", f"/sessions/{session['id']}"))
        for session in meant
    ]
    done.note(f"{', '.join(session['name'] for session in ended)} ended.")
    if args.json:
        print_json(ended)
    for session in [] if args.json else ended:
        print(f"{session['name']} has ended.")
    return 0
