"""``sm handoffs load`` and ``clear``: what waits in a channel, taken over or put away."""

import argparse
import sys
from pathlib import Path
from typing import cast

from sm.api.client import RefusedError, named, segment
from sm.api.errors import UsageError
from sm.api.types import ClearedView, LoadedView
from sm.cli import done
from sm.cli.output import client, own_session, print_json


def run(args: argparse.Namespace) -> int:
    return _clear(args) if args.what == "clear" else _load(args)


def channel_name(given: str) -> str:
    """Refused where no channel can have it: nothing could ever wait there."""
    from sm.install import channels
    from sm.install.files import InstallError

    try:
        return channels.checked(given)
    except InstallError as error:
        raise UsageError(f"{error} Which one a folder belongs to: sm channel DIR") from None


def _load(args: argparse.Namespace) -> int:
    own = own_session()
    session = own if args.id is None else named(args.id)
    if session is None:
        raise RefusedError(
            "Run it inside a session, or name the session that is to have it:"
            " sm handoffs load SESSION",
            400,
        )
    channel = None if args.channel is None else channel_name(args.channel)
    body = {"session": session, "channel": channel, "send": session != own}
    loaded = cast("LoadedView", client().call("POST", "/handoffs/load", body))
    done.note(f"{loaded['id']} is taken over by {session}.")
    if args.json:
        print_json(loaded)
    elif loaded["message"] is None:
        sys.stdout.write(f"{loaded['text']}\n")
    else:
        print(f"{loaded['id']} is sent to {session} as message {loaded['message']}.")
    return 0


def _clear(args: argparse.Namespace) -> int:
    channel = _channel_here() if args.channel is None else channel_name(args.channel)
    path = f"/channels/{segment(channel)}/handoff"
    cleared = cast("ClearedView", client().call("DELETE", path))
    done.note(f"{', '.join(cleared['cleared'])}: put away, unread.")
    if args.json:
        print_json(cleared)
    else:
        print(f"{', '.join(cleared['cleared'])}: put away, unread.")
    return 0


def _channel_here() -> str:
    from sm.install import channels
    from sm.install.files import InstallError
    from sm.settings.home import Home

    try:
        return channels.find(Home.from_environment(), Path.cwd()).name
    except FileNotFoundError:
        raise RefusedError("This folder was deleted. Name the channel: --channel", 400) from None
    except InstallError as error:
        raise RefusedError(str(error), 400) from None
