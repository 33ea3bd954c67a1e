"""Let go of an adopted session. Its agent lives on, without any mark of sm."""

import argparse
from typing import cast

from sm.api.client import segment
from sm.api.types import SessionDetail
from sm.cli import done
from sm.cli.output import client, print_json

EXAMPLE = "sm release ada"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", help="id, unique id prefix, or name")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    path = f"/sessions/{segment(args.session)}/release"
    session = cast("SessionDetail", client().call("POST", path))
    done.note(f"{session['name']} was let go.")
    if args.json:
        print_json(session)
    else:
        print(f"{session['name']} was let go.")
    return 0
