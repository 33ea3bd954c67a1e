"""Everything a session showed: as text, or the raw bytes its terminal received."""

import argparse
import shutil
import sys
from pathlib import Path
from typing import cast

from sm.api.client import RefusedError, segment
from sm.api.errors import UsageError
from sm.api.types import LogView, SessionDetail
from sm.cli.output import at_least, client, print_json

EXAMPLE = "sm log ada --lines 100"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", help="id, unique id prefix, or name")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--text", action="store_true", help="as lines of text (the default)")
    form.add_argument("--raw", action="store_true", help="the bytes as they came")
    parser.add_argument("--lines", type=at_least(0), default=0, metavar="N", help="only the last N")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    if args.raw and args.json:
        raise UsageError("--raw gives bytes; --json goes with --text.")
    if args.raw and args.lines:
        raise UsageError("--raw gives bytes; --lines goes with --text.")
    if args.raw:
        return _raw(args.session)
    path = f"/sessions/{segment(args.session)}/log"
    log = cast("LogView", client().get(path, lines=args.lines))
    if args.json:
        print_json(log)
    else:
        for line in log["lines"]:
            print(line)
    return 0


def _raw(reference: str) -> int:
    session = cast("SessionDetail", client().get(f"/sessions/{segment(reference)}"))
    try:
        file = Path(session["raw_log"]).open("rb")  # noqa: SIM115 - an output that fails is not its fault
    except OSError as error:
        raise RefusedError(f"Its raw log cannot be read: {error.strerror}.", 409) from None
    with file:
        shutil.copyfileobj(file, sys.stdout.buffer)
    return 0
