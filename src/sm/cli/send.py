"""Send a session a message. It is stored first, and proved to have arrived by the agent itself."""

import argparse
import secrets
import sys
from typing import cast

from sm.api.client import RefusedError, segment
from sm.api.types import MessageView
from sm.cli.output import client, own_session, print_json, seconds

EXAMPLE = 'sm send ada "run the tests" --wait 30'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", help="id, unique id prefix, or name")
    parser.add_argument("text", metavar="TEXT", help="the text, or - to read standard input")
    mode = parser.add_mutually_exclusive_group()
    for name, about in (
        ("sequential", "at the turn's end, in order (the default)"),
        ("important", "ahead of sequential ones"),
        ("urgent", "ahead of all, interrupting the agent once its turn has shown a tool call"),
    ):
        mode.add_argument(f"--{name}", dest="mode", action="store_const", const=name, help=about)
    parser.add_argument(
        "--wait", type=seconds, metavar="N", help="wait so long for the receipt, and print it"
    )
    parser.add_argument(
        "--expire", type=seconds, metavar="N", help="withdraw it if not given by then"
    )
    parser.add_argument(
        "--no-notify", action="store_true", help="no word to this session when the turn ends"
    )
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    text = sys.stdin.buffer.read().decode(errors="replace") if args.text == "-" else args.text
    body = {
        "id": secrets.token_hex(6),
        "text": text.encode(errors="replace").decode(),
        "mode": args.mode or "sequential",
        "sender": own_session(),
        "notify": not args.no_notify,
        "expires_in": args.expire,
    }
    path = f"/sessions/{segment(args.session)}/messages"
    message = cast("MessageView", client().call("POST", path, body))
    if args.wait is not None:
        message = _receipt(message, args.wait)
    if args.json:
        print_json(message)
    else:
        print(message["id"])
    if args.wait is None:
        return 0
    return _verdict(message, quiet=args.json)


def _receipt(message: MessageView, within: float) -> MessageView:
    path = f"/messages/{message['id']}"
    answer = client().call("GET", path, query={"wait": within}, within=within + 30)
    return cast("MessageView", answer)


def _verdict(message: MessageView, *, quiet: bool) -> int:
    state, name = message["state"], message["to_name"]
    if state in ("accepted", "done"):
        proof = next(r["evidence"] for r in message["receipts"] if r["step"] == "accepted")
        if not quiet:
            print(f"accepted by {name} ({message['route']}; {proof})")
        return 0
    if message["unproved"]:
        if not quiet:
            print(f"offered to {name}, unproved: this kind of agent reports nothing")
        return 0
    why = message["waiting"] or (message["receipts"][-1]["evidence"])
    raise RefusedError(f"{state}, not accepted by {name} yet: {why}. It stays in sm messages.", 409)
