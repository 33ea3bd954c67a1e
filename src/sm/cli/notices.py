"""What sm wants you to know, such as a crash loop. New notices also follow any other command."""

import argparse
from typing import cast

from sm.api.types import NoticesCleared, NoticeView
from sm.cli import done, unseen
from sm.cli.output import age, client, print_json, table

EXAMPLE = "sm notices --clear"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--clear", action="store_true", help="put all of them away")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    if args.clear:
        cleared = cast("NoticesCleared", client().call("DELETE", "/notices"))
        done.note(f"{cleared['cleared']} put away.")
        if args.json:
            print_json(cleared)
        else:
            print(f"{cleared['cleared']} put away.")
        return 0
    found = cast("list[NoticeView]", client().get("/notices"))
    if args.json:
        print_json(found)
        return 0
    if not found:
        print("Nothing to tell.")
        return 0
    table(["AGO", "SESSION", "NOTICE"], [[age(n["at"]), n["name"], n["words"]] for n in found])
    unseen.mark(client(start=False), found)
    return 0
