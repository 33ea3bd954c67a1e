"""End a session and its agent. Its log and history stay."""

import argparse
from typing import cast

from sm.api.client import segment
from sm.api.types import SessionDetail
from sm.cli.output import client, print_json

EXAMPLE = "sm kill ada"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", nargs="+", help="id, id prefix, or name")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    for reference in args.session:
        ended = cast("SessionDetail", client().call("DELETE", f"/sessions/{segment(reference)}"))
        if args.json:
            print_json(ended)
        else:
            print(f"{ended['name']} has ended.")
    return 0
