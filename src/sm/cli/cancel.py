"""Withdraw a message that has not been given to its agent yet."""

import argparse
from typing import cast

from sm.api.client import segment
from sm.api.types import MessageView
from sm.cli import done
from sm.cli.output import client, print_json

EXAMPLE = "sm cancel 3f9a1c2b7d4e"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("message", metavar="MESSAGE", help="the message's id")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    path = f"/messages/{segment(args.message, 'sm messages')}"
    message = cast("MessageView", client().call("DELETE", path))
    done.note(f"{message['id']} is withdrawn.")
    if args.json:
        print_json(message)
    else:
        print(f"{message['id']} is withdrawn.")
    return 0
