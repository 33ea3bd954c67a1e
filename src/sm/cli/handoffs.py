"""Handoffs: how each session passed from one context to the next, and what proves each step.

sm handoffs [SESSION]     list them
sm handoffs show ID       one, with its steps and files
sm handoffs cancel ID     withdraw one whose context was not cleared yet
sm handoffs draft SESSION the document sm would write by itself; nothing is done
sm handoffs load          take over what waits in this channel, inside a session
sm handoffs clear         put away what waits in a channel, unread
"""

import argparse
from typing import cast

from sm.api.client import named, segment
from sm.api.errors import UsageError
from sm.api.types import HandoffView
from sm.cli import done, drafting, loading
from sm.cli.output import at_least, brief, cell, client, clock, coloured, dim, print_json, table

EXAMPLE = "sm handoffs ada"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        metavar="SESSION",
        nargs="?",
        help="of one session only; or: show, cancel, draft, load, clear",
    )
    parser.add_argument(
        "id",
        metavar="ID",
        nargs="?",
        help="the handoff, for show and cancel; the session, for draft and load",
    )
    drafting.add_arguments(parser)
    parser.add_argument("--channel", metavar="NAME", help="of this channel; for load and clear too")
    parser.add_argument("--limit", type=at_least(1), default=50, metavar="N", help="the newest N")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    if args.what in ("show", "cancel"):
        return _one(args.what, args.id, as_json=args.json)
    if args.what == "draft":
        return drafting.run(args)
    if args.what in ("load", "clear"):
        return loading.run(args)
    if args.transcript is not None:
        raise UsageError("--transcript is for: sm handoffs draft --transcript FILE")
    if args.id is not None:
        raise UsageError(
            f"{args.what!r} is no action. There are: sm handoffs show ID, cancel ID,"
            " draft SESSION, load, clear."
        )
    query = {
        "session": "" if args.what is None else named(args.what),
        "channel": "" if args.channel is None else loading.channel_name(args.channel),
        "limit": args.limit,
    }
    found = cast("list[HandoffView]", client().call("GET", "/handoffs", query=query))
    if args.json:
        print_json(found)
    elif not found:
        print("No handoffs.")
    else:
        table(
            ["ID", "SESSION", "KIND", "STATE", "CHANNEL", "STATUS", "CONTEXT", "ASKED",
             "WHY / EVIDENCE"],
            [
                [
                    h["id"], h["session_name"], h["kind"], coloured(h["state"]),
                    h["channel"] or "-", h["status"] or "-", _contexts(h),
                    clock(h["requested_at"]), brief(h["waiting"] or h["steps"][-1]["evidence"]),
                ]
                for h in found
            ],
        )  # fmt: skip
    return 0


def _contexts(handoff: HandoffView) -> str:
    """From which context; and to which, where it came so far."""
    left = handoff["context"]
    if not left:
        return "-"
    return f"{left} → {left + 1}" if handoff["state"] in ("prompting", "done") else str(left)


def _one(action: str, handoff_id: str | None, *, as_json: bool) -> int:
    if handoff_id is None:
        raise UsageError(f"Name the handoff: sm handoffs {action} ID. See: sm handoffs")
    method = "GET" if action == "show" else "DELETE"
    handoff = cast(
        "HandoffView", client().call(method, f"/handoffs/{segment(handoff_id, 'sm handoffs')}")
    )
    if action == "cancel":
        done.note(f"{handoff['id']} is withdrawn.")
    if as_json:
        print_json(handoff)
    elif action == "cancel":
        print(f"{handoff['id']} is withdrawn.")
    else:
        _print(handoff)
    return 0


def _print(handoff: HandoffView) -> None:
    print(
        f"{handoff['id']}  {handoff['session_name']}, context {_contexts(handoff)}: "
        f"{coloured(handoff['state'])}"
    )
    for step in handoff["steps"]:
        name = coloured(step["step"]) + " " * (10 - len(step["step"]))
        print(f"  {dim(clock(step['at']))}  {name}  {cell(step['evidence'])}")
    if handoff["waiting"]:
        print(f"  waits: {cell(handoff['waiting'])}")
    if handoff["channel"]:
        by = f" by {handoff['consumed_by']}" if handoff["consumed_by"] else ""
        print(f"  {'channel':10}  {cell(handoff['channel'])}: {handoff['status']}{by}")
    for name, path in (
        ("document", handoff["document"]),
        ("dump", handoff["dump"]),
        ("raw log", handoff["raw_log"]),
        ("transcript", handoff["transcript"]),
        ("artifacts", handoff["artifacts"]),
    ):
        if path:
            print(f"  {name:10}  {cell(path)}")
