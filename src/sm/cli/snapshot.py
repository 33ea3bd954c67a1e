"""Keep what a session's terminal holds, or look at what was kept, also when the terminal is gone.

sm takes one by itself at every turn's end and every few minutes while something is new.
"""

import argparse
from pathlib import Path
from typing import cast

from sm.api.client import segment
from sm.api.types import SnapshotText, SnapshotView
from sm.cli import done
from sm.cli.output import age, client, print_json, size, table

EXAMPLE = "sm snapshot ada --show"
NEWEST = "newest"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", help="id, unique id prefix, or name")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--list", action="store_true", help="those that are kept, newest first")
    instead.add_argument(
        "--show",
        nargs="?",
        const=NEWEST,
        metavar="WHICH",
        help="print one, without secrets: the newest, or the one whose name begins so",
    )
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    path = f"/sessions/{segment(args.session)}/snapshots"
    if args.list:
        _list(cast("list[SnapshotView]", client().get(path)), as_json=args.json)
    elif args.show is not None:
        # A path, as taking one prints it, names it too.
        name = Path(args.show).name.removesuffix(".txt")
        shown = cast("SnapshotText", client().get(f"{path}/{segment(name)}"))
        _print(shown, shown["text"].removesuffix("\n"), as_json=args.json)
    else:
        taken = cast("SnapshotView", client().call("POST", path))
        done.note(f"the snapshot {taken['path']} is kept.")
        _print(taken, taken["path"], as_json=args.json)
    return 0


def _print(snapshot: SnapshotView, words: str, *, as_json: bool) -> None:
    if as_json:
        print_json(snapshot)
    else:
        print(words)


def _list(snapshots: list[SnapshotView], *, as_json: bool) -> None:
    if as_json:
        print_json(snapshots)
    elif not snapshots:
        print("No snapshots.")
    else:
        table(
            ["NAME", "AGE", "LINES", "SIZE", "WHY"],
            [
                [s["name"], age(s["at"]), f"{s['lines']:,}", size(s["size"]), s["why"]]
                for s in snapshots
            ],
        )
