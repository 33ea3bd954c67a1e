"""Print the version."""

import argparse

from sm.version import VERSION

EXAMPLE = "sm version"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    print(f'{{"version": "{VERSION}"}}' if args.json else f"sm {VERSION}")
    return 0
