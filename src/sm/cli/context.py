"""How full each session's context is: tokens, window, percent, and who says so."""

import argparse
import os
from typing import cast

from sm.api.client import segment
from sm.api.types import ContextUsage
from sm.cli.output import age, client, print_json, table

EXAMPLE = "sm context ada"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "session",
        nargs="?",
        metavar="SESSION",
        default=os.environ.get("CLAUDE_SESSION_MANAGER_ID"),
        help="id, unique id prefix, or name; inside a session that one, elsewhere all",
    )
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    if args.session is None:
        found = cast("list[ContextUsage]", client().get("/contexts"))
    else:
        path = f"/sessions/{segment(args.session)}/context"
        found = [cast("ContextUsage", client().get(path))]
    if args.json:
        print_json(found)
    elif not found:
        print("No sessions. Start one with: sm new ada --agent demo")
    else:
        heads = [
            "SESSION",
            "CONTEXT",
            "TOKENS",
            "WINDOW",
            "FULL",
            "COMPACTS AT",
            "COMPACTED",
            "SOURCE",
            "AGE",
        ]
        table(heads, [_row(context) for context in found])
    return 0


def _row(context: ContextUsage) -> list[str]:
    return [
        context["name"],
        str(context["number"]),
        _count(context["tokens"]),
        _count(context["window"]),
        "-" if context["percent"] is None else f"{context['percent']:g} %",
        _count(context["compacts_at"]),
        str(context["compactions"] or "-"),
        context["source"] or "-",
        "-" if context["at"] is None else age(context["at"]),
    ]


def _count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"
