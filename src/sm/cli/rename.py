"""Give a session another name; its tmux session follows."""

import argparse
from typing import cast

from sm.api.client import segment
from sm.api.types import SessionDetail
from sm.cli import done
from sm.cli.output import client, print_json

EXAMPLE = "sm rename ada grace"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", help="id, unique id prefix, or name")
    parser.add_argument("name", metavar="NEW", help="the new name")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    path = f"/sessions/{segment(args.session)}"
    renamed = cast("SessionDetail", client().call("PATCH", path, {"name": args.name}))
    done.note(f"{renamed['id']} is now {renamed['name']}.")
    if args.json:
        print_json(renamed)
    else:
        print(f"{renamed['id']} is now {renamed['name']}.")
    return 0
