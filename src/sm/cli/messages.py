"""Messages, with where each one is, by which route it went and what proves it."""

import argparse
from typing import cast

from sm.api.client import named
from sm.api.errors import UsageError
from sm.api.types import MESSAGE_STATES, MessageView
from sm.cli.output import at_least, brief, cell, client, clock, coloured, dim, print_json, table

EXAMPLE = "sm messages ada --state queued"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", nargs="?", help="only to this session")
    parser.add_argument("--state", default="", metavar="STATE", help="only in this state")
    parser.add_argument("--limit", type=at_least(1), default=50, metavar="N", help="the newest N")
    parser.add_argument("--receipts", action="store_true", help="every step of each")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    if args.state not in ("", *MESSAGE_STATES):
        known = ", ".join(MESSAGE_STATES)
        raise UsageError(f"{args.state!r} is no message state. There are: {known}.")
    session = "" if args.session is None else named(args.session)
    query = {"session": session, "state": args.state, "limit": args.limit}
    found = cast("list[MessageView]", client().call("GET", "/messages", query=query))
    if args.json:
        print_json(found)
    elif not found:
        print("No messages.")
    elif args.receipts:
        for message in found:
            _print_trail(message)
    else:
        table(
            ["ID", "TO", "FROM", "MODE", "STATE", "ROUTE", "WHY / EVIDENCE", "TEXT"],
            [
                [
                    m["id"], m["to_name"], m["from"], m["mode"], coloured(m["state"]),
                    m["route"] or "-", _why(m), brief(m["text"], 40),
                ]
                for m in found
            ],
        )  # fmt: skip
    return 0


def _why(message: MessageView) -> str:
    if message["unproved"]:
        return "unproved: the agent reports nothing"
    return brief(message["waiting"] or message["receipts"][-1]["evidence"])


def _print_trail(message: MessageView) -> None:
    print(f"{message['id']}  {message['from']} to {message['to_name']}: {brief(message['text'])}")
    for receipt in message["receipts"]:
        step = coloured(receipt["step"]) + " " * (9 - len(receipt["step"]))
        print(f"  {dim(clock(receipt['at']))}  {step}  {cell(receipt['evidence'])}")
    if message["waiting"]:
        print(f"  waits: {cell(message['waiting'])}")
