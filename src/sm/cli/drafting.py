"""``sm handoffs draft``: the document sm would write, printed; nothing is done."""

import argparse
import sys
from pathlib import Path
from typing import cast

from sm.api.client import segment
from sm.api.errors import UsageError
from sm.api.types import DraftView
from sm.cli.output import client, own_session, print_json, tellable

BUDGET = "30KB"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--transcript", metavar="FILE", help="for draft: of this transcript")
    parser.add_argument(
        "--budget", type=_bytes, default=BUDGET, metavar="SIZE",
        help=f"for draft: how large the document may be ({BUDGET})",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    draft = _draft(args.id, args.transcript, args.budget)
    if args.json:
        print_json(draft)
        return 0
    sys.stdout.write(draft["document"])
    for aside in draft["asides"]:
        sys.stderr.write(
            f"sm: {aside['name']} would be kept beside it: a request of"
            f" {len(aside['text'].encode())} bytes, whole (--json shows it)\n"
        )
    return 0


def _draft(session: str | None, transcript: str | None, budget: int) -> DraftView:
    if transcript is not None:
        if session is not None:
            raise UsageError("Name a session or a transcript, not both.")
        path = tellable(Path(transcript).absolute(), "Link the transcript under another.")
        query = {"transcript": path, "budget": budget}
        return cast("DraftView", client().call("GET", "/draft", query=query))
    session = session or own_session()
    if session is None:
        raise UsageError(
            "Name a session or a transcript: sm handoffs draft SESSION, or --transcript FILE"
        )
    path = f"/sessions/{segment(session)}/draft"
    return cast("DraftView", client().call("GET", path, query={"budget": budget}))


def _bytes(text: str) -> int:
    from sm.settings.config import size

    try:
        value = size(text)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is no size; write 30KB or 1MB") from None
    if value >= 2**63:
        raise argparse.ArgumentTypeError(f"{text!r} is too large; write 30KB or 1MB")
    return value
