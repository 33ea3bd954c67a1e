"""Show the configuration in force, tell where its file is, or check it."""

import argparse
import json
import re
import sys

from sm.cli.output import print_json
from sm.install.tables import quoted
from sm.settings.home import Home

EXAMPLE = "sm config check"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=("show", "path", "check"), default="show")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    import msgspec

    from sm.settings.config import ConfigError, load

    home = Home.from_environment()
    if args.action == "path":
        print_json({"path": str(home.config)}) if args.json else print(home.config)
        return 0
    try:
        settings = load(home.config)
    except ConfigError as error:
        sys.stderr.write(f"sm: {error}\n")
        return 1
    if args.action == "check":
        if args.json:
            print_json({"path": str(home.config), "exists": home.config.exists(), "fine": True})
            return 0
        there = "is fine" if home.config.exists() else "is not there; the defaults hold"
        print(f"{home.config} {there}.")
        return 0
    tables: dict[str, dict[str, object]] = msgspec.to_builtins(settings)
    if args.json:
        print_json(tables)
        return 0
    for table, values in tables.items():
        print(f"[{table}]")
        for key, value in values.items():
            print(f"{_key(key)} = {_toml(value)}")
    return 0


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else quoted(key)


def _toml(value: object) -> str:
    """A value as config.toml holds it: as JSON does, but for tables."""
    if isinstance(value, dict):
        inner = ", ".join(f"{quoted(key)} = {_toml(item)}" for key, item in value.items())
        return f"{{{inner}}}"
    return quoted(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_BARE = re.compile(r"[A-Za-z0-9_-]+")
