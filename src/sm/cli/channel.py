"""Which channel a folder belongs to, and why; register folders under a channel's name.

sm channel [DIR]         the channel of this folder, or of DIR
sm channel add DIR NAME  DIR and everything below it belongs to NAME
sm channel remove DIR    DIR is no longer registered
"""

import argparse
import os
import sys
from pathlib import Path

from sm.api.errors import RefusedError
from sm.cli import done
from sm.cli.output import path_name, print_json
from sm.install.files import InstallError, shown
from sm.settings.home import Home

EXAMPLE = "sm channel add ~/src/api api"
ACTIONS = ("add", "remove")
"""What the first word may also be; a folder so called is written ./add."""
WHY = {
    "registered": "{root} is registered under this name in {config}.",
    "git": "{root} is the root of its git work tree.",
    "folder": "{root} stands for itself: it is not registered, and in no git work tree.",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what", metavar="DIR", nargs="?", help="default: this folder; or: add, remove"
    )
    parser.add_argument("folder", metavar="DIR", nargs="?", help="the folder, for add and remove")
    parser.add_argument("name", metavar="NAME", nargs="?", help="the channel's name, for add")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    home = Home.from_environment()
    try:
        match args.what, args.folder, args.name:
            case "add", str(folder), str(name):
                return _add(home, folder, name, as_json=args.json)
            case "remove", str(folder), None:
                return _remove(home, folder, as_json=args.json)
            case what, None, None if what not in ACTIONS:
                return _show(home, "." if what is None else what, as_json=args.json)
    except InstallError as error:
        raise RefusedError(str(error), 400) from None
    sys.stderr.write(
        "sm: give one folder, or: add DIR NAME, or: remove DIR. See: sm channel --help\n"
    )
    return 2


def _show(home: Home, given: str, *, as_json: bool) -> int:
    from sm.install import channels

    directory = _folder(given)
    found = channels.find(home, directory)
    if as_json:
        print_json(
            {
                "channel": found.name,
                "directory": _told(directory),
                "root": _told(found.root),
                "why": found.why.value,
            }
        )
    else:
        why = WHY[found.why.value].format(root=shown(found.root), config=shown(home.config))
        print(f"{found.name}: {why}")
    return 0


def _add(home: Home, given: str, name: str, *, as_json: bool) -> int:
    from sm.install import channels

    directory = _folder(given)
    is_new = channels.add(home, directory, name)
    done.note(f"{shown(directory)} belongs to the channel {name} now.")
    if as_json:
        _print_change(home, directory, name, changed=is_new)
    elif is_new:
        print(f"{shown(directory)} belongs to the channel {name} now.")
    else:
        print(f"{shown(directory)} is already registered as {name}.")
    return 0


def _remove(home: Home, given: str, *, as_json: bool) -> int:
    from sm.install import channels

    directory = _absolute(given)
    name = channels.remove(home, directory)
    done.note(f"{shown(directory)} is no longer registered as {name}.")
    if as_json:
        _print_change(home, directory, name, changed=True)
    else:
        print(f"{shown(directory)} is no longer registered as {name}.")
    return 0


def _print_change(home: Home, directory: Path, name: str, *, changed: bool) -> None:
    print_json(
        {
            "channel": name,
            "directory": _told(directory),
            "config": _told(home.config),
            "changed": changed,
        }
    )


def _folder(given: str) -> Path:
    path = _absolute(given)
    if not path.is_dir():
        what = "is not a folder" if path.exists() else "does not exist"
        raise RefusedError(f"{shown(path)} {what}. Name a folder.", 400)
    return path


def _absolute(given: str) -> Path:
    """Without ``..``; links are left for the one who compares."""
    path_name(given)
    try:
        return Path(os.path.abspath(given))  # noqa: PTH100 - a Path would keep the ".."
    except FileNotFoundError:
        raise RefusedError("This folder was deleted. Name another one.", 400) from None


def _told(path: Path | str) -> str:
    return os.fsencode(path).decode(errors="replace")
