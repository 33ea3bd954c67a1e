"""Send a session a message later, once or again and again; list and cancel reminders."""

import argparse
import secrets
import sys
from typing import cast

from sm.api.client import segment
from sm.api.errors import UsageError
from sm.api.types import ReminderView, SessionDetail
from sm.cli import done
from sm.cli.output import (
    age,
    brief,
    client,
    clock,
    given_text,
    own_session,
    print_json,
    seconds,
    table,
)

EXAMPLE = 'sm remind ada "look at the build" --in 10m'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", nargs="?", help="who is reminded")
    parser.add_argument(
        "text", metavar="TEXT", nargs="?", help="of what, or - to read standard input"
    )
    when = parser.add_mutually_exclusive_group()
    when.add_argument("--in", dest="due_in", type=seconds, metavar="10m", help="once, after this")
    when.add_argument("--every", type=seconds, metavar="1h", help="again and again, 1s or more")
    when.add_argument("--cancel", metavar="ID", help="cancel a reminder")
    when.add_argument("--list", action="store_true", help="all reminders, or SESSION's")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    if args.cancel is not None:
        return _cancel(args.cancel, as_json=args.json)
    if args.list:
        return _list(args.session, as_json=args.json)
    if not args.session or not args.text or (args.due_in is None and args.every is None):
        sys.stderr.write("sm: give SESSION, TEXT and --in or --every. See: sm remind --help\n")
        return 2
    if args.every is not None and args.every < 1:
        raise UsageError("every must be at least 1 second.")
    body = {
        "id": secrets.token_hex(4),
        "text": given_text(args.text),
        "due_in": args.every if args.due_in is None else args.due_in,
        "every": args.every,
        "sender": own_session(),
    }
    path = f"/sessions/{segment(args.session)}/reminders"
    reminder = cast("ReminderView", client().call("POST", path, body))
    done.note(f"reminder {reminder['id']} for {args.session} is stored.")
    if args.json:
        print_json(reminder)
    else:
        print(reminder["id"])
    return 0


def _cancel(reminder: str, *, as_json: bool) -> int:
    client().call("DELETE", f"/reminders/{segment(reminder, 'sm remind --list')}")
    done.note(f"{reminder} is cancelled.")
    if as_json:
        print_json({"id": reminder, "state": "cancelled"})
    else:
        print(f"{reminder} is cancelled.")
    return 0


def _list(session: str | None, *, as_json: bool) -> int:
    if session is None:
        found = cast("list[ReminderView]", client().get("/reminders"))
    else:
        of = cast("SessionDetail", client().get(f"/sessions/{segment(session)}"))
        found = of["reminders"]
    if as_json:
        print_json(found)
    elif not found:
        print("No reminders.")
    else:
        table(
            ["ID", "SESSION", "DUE", "EVERY", "TEXT"],
            [[r["id"], r["session"], clock(r["due"]), _every(r), brief(r["text"])] for r in found],
        )
    return 0


def _every(reminder: ReminderView) -> str:
    import time

    return age(time.time() - reminder["every"]) if reminder["every"] else "-"
