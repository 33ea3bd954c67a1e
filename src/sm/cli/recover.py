"""Bring sessions back to work whose agent, terminal or host died.

Without an argument: lists them, and asks. The agent goes on with its own record where that is whole
and has room, else in a fresh context that is told what was going on.
"""

import argparse
import contextlib
import secrets
import shlex
import sys
import time
from collections.abc import Sequence
from typing import cast

from sm.api import caller
from sm.api.client import Client, segment
from sm.api.errors import RefusedError
from sm.api.runs import is_left
from sm.api.types import RecoverableView, RecoveryPlanView, RecoveryView, SessionDetail
from sm.cli import done
from sm.cli.output import age, brief, cell, client, dim, is_colourful, plain, print_json

EXAMPLE = "sm recover ada"
LOOK_EVERY = 0.1
BACK_WITHIN = 120.0
TAKEN_WITHIN = 4.0

Followed = tuple[str, RecoveryView]
"""A session's id, and how it was brought back."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", nargs="*", help="id, id prefix, or name")
    parser.add_argument("--all", action="store_true", help="every session that crashed")
    parser.add_argument(
        "--dry-run", action="store_true", help="show the command and the prompt; do nothing"
    )
    way = parser.add_mutually_exclusive_group()
    way.add_argument(
        "--resume", dest="way", action="store_const", const="resume",
        help="with its own record, or not at all",
    )  # fmt: skip
    way.add_argument(
        "--fresh", dest="way", action="store_const", const="fresh",
        help="in a fresh context, whatever is on record",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    daemon = client()
    if args.all and args.session:
        sys.stderr.write("sm: name sessions, or say --all\n")
        return 2
    _await_runs(daemon)
    names = list(dict.fromkeys(args.session)) or _chosen(daemon, args)
    if not names:
        return 0
    if args.dry_run:
        return _show_plans(daemon, names, args)
    return _bring_back(daemon, names, args)


def _await_runs(daemon: Client) -> None:
    """A run that was killed a moment ago is the daemon's within the next."""
    if not is_left(daemon.home):
        return
    # Starts it, if need be.
    daemon.get("/health")
    deadline = time.monotonic() + TAKEN_WITHIN
    while is_left(daemon.home) and time.monotonic() < deadline:
        time.sleep(LOOK_EVERY)


def _chosen(daemon: Client, args: argparse.Namespace) -> list[str]:
    found = cast("list[RecoverableView]", daemon.get("/recoverable"))
    found = [one for one in found if one["state"] == "crashed"]
    if args.all:
        if not found and not args.json:
            print("Nothing to bring back: no session has crashed.")
        if not found and args.json:
            print_json([])
        return [one["id"] for one in found]
    if args.json:
        print_json(found)
        return []
    _list(found)
    if not found:
        return []
    if sys.stdin is None or not sys.stdin.isatty() or not sys.stdout.isatty():
        print("\nBring them back with: sm recover --all, or sm recover NAME")
        return []
    return _asked(found)


def _list(found: Sequence[RecoverableView]) -> None:
    if not found:
        print("Nothing to bring back: no session has crashed.")
        return
    print("Recoverable sessions:")
    width = max(len(one["name"]) for one in found)
    for number, one in enumerate(found, 1):
        print(f"{number:>3}. {one['name']:<{width}}  {_summary(one)}")


def _summary(one: RecoverableView) -> str:
    parts = [f"{_thousands(one['lines'])} lines"]
    if one["percent"] is not None:
        parts.append(f"context {one['percent']:.0f} %")
    parts.append(cell(one["reason"]))
    if one["hopeless"]:
        parts.append(cell(one["hopeless"]))
    elif one["next_recovery"] is not None:
        wait = max(0.0, one["next_recovery"] - time.time())
        parts.append(f"is brought back in {wait:.0f} s")
    return f"[crashed {age(one['crashed_at'])} ago] {', '.join(parts)}"


def _thousands(number: int) -> str:
    return f"{number / 1000:.1f}k" if number >= 1000 else str(number)


def _asked(found: Sequence[RecoverableView]) -> list[str]:
    """Which of them a person wants back."""
    while True:
        try:
            answer = input(
                f"\nRecover which session? [1-{len(found)}, a name, all, none]: "
            ).strip()
        except EOFError:
            return []
        if answer.lower() in ("", "none", "n", "q"):
            return []
        if answer.lower() in ("all", "a"):
            return [one["id"] for one in found]
        meant = {word: _meant(word, found) for word in answer.replace(",", " ").split()}
        wrong = [word for word, session in meant.items() if session is None]
        if not wrong:
            return list(dict.fromkeys(session for session in meant.values() if session))
        print(f"{wrong[0]!r} is none of them.")


def _meant(word: str, found: Sequence[RecoverableView]) -> str | None:
    """The session at this place of the list, or that is called so."""
    if word.isdecimal() and 1 <= int(word) <= len(found):
        return found[int(word) - 1]["id"]
    return next((one["id"] for one in found if word in (one["name"], one["id"])), None)


def _plan(daemon: Client, name: str, way: str | None) -> RecoveryPlanView:
    # As the recovery itself: whoever asks lends an environment where none is kept.
    body = {"way": way, "environment": caller.environment()}
    path = f"/sessions/{segment(name)}/recovery"
    return cast("RecoveryPlanView", daemon.call("POST", path, body))


def _show_plans(daemon: Client, names: Sequence[str], args: argparse.Namespace) -> int:
    plans = [_plan(daemon, name, args.way) for name in names]
    if args.json:
        print_json(plans)
        return 0
    for plan in plans:
        _found(plan)
        print(f"way       {plan['way']}: {plain(plan['why'])}")
        print(f"command   {plain(shlex.join(plan['command']))}")
        if not plan["prompt"]:
            print("prompt    none: it was idle, and goes on where it was")
            continue
        print(f"prompt    about {plan['tokens']:,} tokens:")
        print(dim("-" * 60))
        print(plain(plan["prompt"]))
        print(dim("-" * 60))
    return 0


def _found(plan: RecoveryPlanView) -> None:
    """What was found of a session, as far as it tells a person something."""
    print(f"{plan['name']}")
    print(f"Capturing context... {plan['lines']:,} lines")
    requests, replies = _count(plan["requests"], "request"), _count(plan["replies"], "response")
    print(f"Parsing exchanges... {requests}, {replies}")
    if plan["last_activity"]:
        print(f"Last activity: {brief(plan['last_activity'], 100)}")
    for source in plan["sources"]:
        print(f"  from {plain(source)}")
    for skipped in plan["skipped"]:
        print(f"  not used: {plain(skipped)}")


def _bring_back(daemon: Client, names: Sequence[str], args: argparse.Namespace) -> int:
    asked: list[SessionDetail] = []
    refused = 0
    for name in names:
        if len(names) == 1 and not args.json:
            _look_back(daemon, name, args.way)
        try:
            asked.append(_ask(daemon, name, args.way))
            done.note(f"{asked[-1]['name']} ({asked[-1]['id']}) is being brought back.")
        except RefusedError as error:
            there = _on_its_way(daemon, name) if args.all or args.way is None else None
            is_coming = there is not None and there["state"] == "recovering"
            if there is not None and (is_coming or args.all):
                asked += [there] if is_coming else []
                continue
            if len(names) == 1:
                raise
            refused += 1
            sys.stderr.write(f"sm: {error}\n")
    ended = _followed(daemon, asked, quiet=args.json)
    if args.json:
        print_json([recovery | {"session": session} for session, recovery in ended])
    failed = sum(recovery["state"] != "done" for _, recovery in ended)
    return 1 if failed or refused else 0


def _on_its_way(daemon: Client, name: str) -> SessionDetail | None:
    """The session, if somebody else has brought it back meanwhile, or is about to."""
    session = cast("SessionDetail", daemon.get(f"/sessions/{segment(name)}"))
    return None if session["state"] in ("crashed", "ended") else session


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _look_back(daemon: Client, name: str, way: str | None) -> None:
    """What was going on, where there is something to bring back; the request itself is refused."""
    session = cast("SessionDetail", daemon.get(f"/sessions/{segment(name)}"))
    if session["state"] == "crashed":
        with contextlib.suppress(RefusedError):
            _found(_plan(daemon, session["id"], way))


def _ask(daemon: Client, name: str, way: str | None) -> SessionDetail:
    body = {"id": secrets.token_hex(4), "way": way, "environment": caller.environment()}
    path = f"/sessions/{segment(name)}/recover"
    return cast("SessionDetail", daemon.call("POST", path, body))


def _followed(daemon: Client, asked: Sequence[SessionDetail], *, quiet: bool) -> list[Followed]:
    """Each session's recovery at its end; what happens meanwhile is told as it happens."""
    deadline = time.monotonic() + BACK_WITHIN
    waiting = {session["id"]: session["recoveries"][-1] for session in asked}
    told: dict[str, int] = dict.fromkeys(waiting, 1)
    ended: list[Followed] = []
    while waiting and time.monotonic() < deadline:
        for session_id, before in list(waiting.items()):
            session = cast("SessionDetail", daemon.get(f"/sessions/{session_id}"))
            waiting[session_id] = recovery = _the_same(session, before)
            if not quiet:
                _tell(session, recovery, told, len(asked))
            if recovery["ended_at"] is not None:
                ended.append((session_id, recovery))
                del waiting[session_id]
        if waiting:
            time.sleep(LOOK_EVERY)
    for session in asked:
        if session["id"] in waiting:
            name = session["name"]
            sys.stderr.write(f"sm: {name} is not back yet. See: sm show {name}\n")
    return [*ended, *waiting.items()]


def _the_same(session: SessionDetail, recovery: RecoveryView) -> RecoveryView:
    """That very one: another may have followed by itself."""
    found = (one for one in session["recoveries"] if one["id"] == recovery["id"])
    return next(found, recovery)


_STEPS = {
    "started": "{agent} started: {evidence}",
    "told": "context given to it ({evidence})",
    "done": "back at work ({evidence})",
}


def _tell(session: SessionDetail, recovery: RecoveryView, told: dict[str, int], many: int) -> None:
    whose = f"{session['name']}: " if many > 1 else ""
    for step in recovery["steps"][told[session["id"]] :]:
        told[session["id"]] += 1
        if step["step"] == "failed":
            sys.stdout.flush()
            why = cell(step["evidence"])
            sys.stderr.write(f"sm: {whose}it was not brought back: {why}\n")
            continue
        words = _STEPS.get(step["step"], step["step"] + ": {evidence}")
        mark = coloured_mark()
        evidence = brief(step["evidence"], 160)
        print(f"{mark} {whose}{words.format(agent=session['agent'], evidence=evidence)}")
    if recovery["state"] == "done" and many == 1:
        print(f"\nLook at it with: sm attach {session['name']}")


def coloured_mark() -> str:
    return "\x1b[32m✓\x1b[0m" if is_colourful() else "✓"
