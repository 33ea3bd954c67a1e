"""List sessions: what runs, in which state, since when, and what waits for them."""

import argparse
from typing import cast

from sm.api.types import SessionView
from sm.cli.output import age, client, coloured, not_brought_back, print_json, table

EXAMPLE = "sm ls --all"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="ended ones too")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    found = cast("list[SessionView]", client().get("/sessions", all=str(args.all).lower()))
    if args.json:
        print_json(found)
    elif not found:
        print("No sessions. Start one with: sm new ada --agent demo")
    else:
        names = {s["id"]: s["name"] for s in found}
        table(
            ["ID", "NAME", "AGENT", "STATE", "FOR", "FULL", "QUEUED", "PARENT", "DIRECTORY"],
            [
                [
                    s["id"],
                    s["name"],
                    s["agent"],
                    coloured(s["state"]) + ("!" if s["hopeless"] else ""),
                    age(s["state_since"]),
                    _full(s["context"]["percent"]),
                    str(s["queued"] or "-"),
                    names.get(s["parent"] or "", s["parent"] or "-"),
                    s["cwd"],
                ]
                for s in found
            ],
        )
        for session in found:
            if session["hopeless"]:
                print(f"! {not_brought_back(session)}")
    return 0


def _full(percent: float | None) -> str:
    return "-" if percent is None else f"{percent:.0f} %"
