"""Send a session a message. It is stored first, and proved to have arrived by the agent itself."""

import argparse
import secrets
from typing import cast

from sm.api.client import RefusedError, UnansweredError, segment
from sm.api.types import MessageView, NewMessageBody
from sm.cli import done
from sm.cli.output import client, given_text, own_session, print_json, seconds, some_seconds

EXAMPLE = 'sm send ada "run the tests" --wait 30'
_OVER = ("expired", "refused", "cancelled")


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
        "--expire", type=some_seconds, metavar="N", help="withdraw it if not given by then"
    )
    parser.add_argument(
        "--no-notify", action="store_true", help="no word to this session when the turn ends"
    )
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    body: NewMessageBody = {
        "id": secrets.token_hex(6),
        "text": given_text(args.text),
        "mode": args.mode or "sequential",
        "sender": own_session(),
        "notify": not args.no_notify,
        "expires_in": args.expire,
    }
    message = _stored(args.session, body)
    done.note(f"message {message['id']} for {message['to_name']} is stored.")
    if not args.json:
        # At once: whoever stops waiting knows what to look for.
        print(message["id"], flush=True)
    if args.wait is not None:
        message = _receipt(message, args.wait)
    if args.json:
        print_json(message)
    return 0 if args.wait is None else _verdict(message, quiet=args.json)


def _stored(session: str, body: NewMessageBody) -> MessageView:
    try:
        answer = client().call("POST", f"/sessions/{segment(session)}/messages", body)
    except UnansweredError as error:
        raise UnansweredError(
            f"{error}. Message {body['id']} may have been stored all the same: "
            f"before sending it again, look for it with sm messages {session}"
        ) from None
    return cast("MessageView", answer)


def _receipt(message: MessageView, within: float) -> MessageView:
    path = f"/messages/{message['id']}"
    try:
        answer = client().call("GET", path, query={"wait": within}, within=within + 30)
    except UnansweredError as error:
        raise UnansweredError(
            f"{error}. Message {message['id']} is stored: "
            f"look what became of it with sm messages {message['to_name']}"
        ) from None
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
    if state in _OVER:
        raise RefusedError(f"{state}, never accepted by {name}: {why}.", 409)
    raise RefusedError(f"{state}, not accepted by {name} yet: {why}. It stays in sm messages.", 409)
