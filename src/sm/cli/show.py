"""Everything about one session."""

import argparse
import time
from typing import cast

from sm.api.client import segment
from sm.api.types import (
    CompactionView,
    ContextView,
    ExitView,
    PastContextView,
    RecoveryView,
    SessionDetail,
    SessionView,
)
from sm.cli.output import age, brief, client, coloured, listing, print_json

EXAMPLE = "sm show ada"
SHOWN_CONTEXTS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", help="id, unique id prefix, or name")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    session = cast("SessionDetail", client().get(f"/sessions/{segment(args.session)}"))
    if args.json:
        print_json(session)
        return 0
    everyone = cast("list[SessionView]", client().get("/sessions", all="true"))
    listing(_rows(session, {other["id"]: other["name"] for other in everyone}))
    return 0


def full(context: ContextView) -> str:
    """Tokens, window and percent in words."""
    if context["tokens"] is None:
        return "-"
    words = f"{context['tokens']:,} tokens"
    if context["window"] is None:
        return words
    return f"{words} of {context['window']:,} ({context['percent']:g} %)"


def compacted(number: int, last: CompactionView | None) -> str:
    """How often a context was compacted, and the last time in words."""
    if last is None:
        return str(number or "-")
    size = f" at {last['tokens']:,} tokens" if last["tokens"] else ""
    return f"{number}, last {age(last['at'])} ago ({last['trigger']}){size}"


def ended(how: ExitView) -> str:
    """With which signal or exit code, where that is known."""
    if how["signal"] is not None:
        told = f"signal {how['signal']}"
    elif how["status"] is not None:
        told = f"status {how['status']}"
    else:
        told = "status not known"
    return f"{'as asked' if how['intended'] else 'unasked'}, {told}"


def _left(past: PastContextView) -> str:
    """How an earlier context ended, when, and how full it was."""
    tokens = f" at {past['tokens']:,} tokens" if past["tokens"] is not None else ""
    return f"{past['how']} {age(past['ended_at'])} ago{tokens} ({past['id']})"


def _recovered(recovery: RecoveryView) -> str:
    """How a session was brought back, or why it was not."""
    took = f" after {recovery['seconds']:.1f} s" if recovery["seconds"] is not None else ""
    way = f" ({recovery['way']})" if recovery["way"] else ""
    last = recovery["steps"][-1]["evidence"] if recovery["steps"] else ""
    return f"{recovery['state']}{took}{way}, {age(recovery['asked_at'])} ago: {brief(last, 120)}"


def _rows(s: SessionDetail, names: dict[str, str]) -> dict[str, str]:
    tmux, exit_ = s["tmux"], s["exit"]
    rows = {
        "session": f"{s['name']} ({s['id']})",
        "agent": " ".join([s["agent"], *s["arguments"]]),
        "state": f"{coloured(s['state'])} for {age(s['state_since'])}",
        "directory": s["cwd"],
        "parent": names.get(s["parent"] or "", s["parent"] or "-"),
        "children": ", ".join(names.get(c, c) for c in s["children"]) or "-",
        "started": f"{age(s['created_at'])} ago on {s['host']}",
        "process": str(s["pid"] or "-"),
        "tmux": f"{tmux['session']} {tmux['pane']} on {tmux['socket']}" if tmux else "-",
        "context": f"{s['context']['number']} ({s['context']['id'] or 'not known'})",
        "usage": " ".join(filter(None, [full(s["context"]), s["level"]])),
        "compacted": compacted(s["compactions"], s["last_compaction"]),
        "transcript": s["context"]["transcript"] or "-",
        "queued": str(s["queued"]),
        "last words": brief(s["last_words"]) or "-",
        "raw log": s["raw_log"],
    }
    if s["handoff"] is not None:
        rows["handoff"] = f"{s['handoff']} is under way: sm handoffs show {s['handoff']}"
    for past in s["lineage"][-SHOWN_CONTEXTS:]:
        rows[f"context {past['number']}"] = _left(past)
    if s["adopted"]:
        rows["adopted"] = "yes: sm did not start it" + (
            " and cannot promise:" if s["limits"] else ""
        )
    for number, limit in enumerate(s["limits"], 1):
        rows[f"limit {number}"] = limit
    if exit_ is not None:
        rows["ended"] = ended(exit_)
        if exit_["cause"] is not None:
            rows["cause"] = ": ".join(filter(None, [exit_["cause"], exit_["evidence"]]))
    if s["crash"] is not None:
        crash = s["crash"]
        rows["crashed"] = f"{age(crash['at'])} ago: {crash['reason']} ({crash['cause']})"
    if s["hopeless"]:
        rows["hopeless"] = f"{s['hopeless']}. To try again: sm recover {s['name']}"
    elif s["next_recovery"] is not None:
        rows["next try"] = f"in {max(0.0, s['next_recovery'] - time.time()):.0f} s"
    for recovery in s["recoveries"][-SHOWN_CONTEXTS:]:
        rows[f"recovery {recovery['id']}"] = _recovered(recovery)
    for number, words in enumerate(s["degraded"], 1):
        rows[f"missing {number}"] = words
    for reminder in s["reminders"]:
        rows[f"reminder {reminder['id']}"] = brief(reminder["text"])
    return rows
