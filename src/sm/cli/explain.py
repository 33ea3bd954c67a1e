"""Why we believe a session's state: the evidence, where it comes from, and how old it is."""

import argparse
from typing import cast

from sm.api.client import segment
from sm.api.types import Explanation, SightingView
from sm.cli.output import age, brief, cell, client, clock, coloured, print_json, table

EXAMPLE = "sm explain ada"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", help="id, unique id prefix, or name")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    why = cast("Explanation", client().get(f"/sessions/{segment(args.session)}/explain"))
    if args.json:
        print_json(why)
        return 0
    print(f"{why['name']} is {coloured(why['state'])} for {age(why['state_since'])}")
    print(f"because {_said(why['because'])}\n")
    table(
        ["SOURCE", "SAYS", "AGE"],
        [[e["source"], e["says"], f"{e['age']:.1f}s"] for e in why["evidence"]],
    )
    for fact in why["facts"]:
        print(f"- {cell(fact)}")
    for wait in why["waits"]:
        print(f"- {cell(wait)}")
    print()
    table(
        ["SEQ", "TIME", "EVENT", "WHAT"],
        [
            [str(e["seq"]), clock(e["at"]), e["kind"], brief(_inside(e["body"]), 80)]
            for e in why["recent"]
        ],
    )
    return 0


def _said(evidence: SightingView) -> str:
    return f"{evidence['source']} said {evidence['says']!r}, {evidence['age']:.1f} s ago"


def _inside(body: dict[str, object]) -> str:
    told = {k: v for k, v in body.items() if isinstance(v, str | int | float | bool) and v != ""}
    return " ".join(f"{k}={v}" for k, v in told.items())
