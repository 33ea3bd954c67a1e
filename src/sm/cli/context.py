"""How full contexts are, where their levels lie, and whether agents are warned of it."""

import argparse
import time
from typing import cast

from sm.api.client import segment
from sm.api.errors import UsageError
from sm.api.types import ContextUsage, ForecastView, ThresholdView
from sm.cli import done
from sm.cli.output import age, client, coloured, listing, own_session, print_json, table
from sm.cli.show import compacted, full

EXAMPLE = "sm context ada"
_HEADS = ["SESSION", "CONTEXT", "TOKENS", "WINDOW", "FULL", "LEVEL", "COMPACTS AT", "COMPACTED",
          "SOURCE", "AGE"]  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "session",
        nargs="?",
        metavar="SESSION",
        default=own_session(),
        help="id, unique id prefix, or name; inside a session that one, elsewhere all",
    )
    switch = parser.add_mutually_exclusive_group()
    switch.add_argument(
        "--on", dest="monitored", action="store_true", default=None, help="warn its agent again"
    )
    switch.add_argument(
        "--off", dest="monitored", action="store_false", help="leave its agent alone about it"
    )
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    found = _found(args.session, args.monitored)
    if args.json:
        print_json(found)
    elif args.session is not None:
        _print_one(found[0])
    elif not found:
        print("No sessions. Start one with: sm new ada --agent demo")
    else:
        table(_HEADS, [_row(context) for context in found])
    return 0


def _found(session: str | None, monitored: bool | None) -> list[ContextUsage]:
    if session is None:
        if monitored is not None:
            raise UsageError("Name the session to switch: sm context SESSION --on|--off")
        return cast("list[ContextUsage]", client().get("/contexts"))
    path = f"/sessions/{segment(session)}/context"
    if monitored is None:
        return [cast("ContextUsage", client().get(path))]
    switched = cast("ContextUsage", client().call("PATCH", path, {"monitored": monitored}))
    done.note(f"the monitor of {switched['name']} is {'on' if monitored else 'off'}.")
    return [switched]


def _row(context: ContextUsage) -> list[str]:
    return [
        context["name"],
        str(context["number"]),
        _count(context["tokens"]),
        _count(context["window"]),
        "-" if context["percent"] is None else f"{context['percent']:g} %",
        _level(context),
        _count(context["compacts_at"]),
        str(context["compactions"] or "-"),
        context["source"] or "-",
        "-" if context["at"] is None else age(context["at"]),
    ]


def _count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def _level(context: ContextUsage) -> str:
    level = coloured(context["level"] or "-")
    return level if context["monitored"] else f"{level} (off)"


# --- one ---------------------------------------------------------------------------------------


def _print_one(c: ContextUsage) -> None:
    rows = {
        "session": f"{c['name']} ({c['session']})",
        "context": f"{c['number']} ({c['id'] or 'not known'})",
        "usage": full(c) + _origin(c),
        "level": coloured(c["level"] or "-"),
        "monitor": _monitor(c),
        **{t["level"].lower(): _threshold(t) for t in c["thresholds"]},
        "compacts at": _count(c["compacts_at"]),
        "compacted": compacted(c["compactions"], c["last_compaction"]),
        "history": _history(c),
        "forecast": _forecast(c["forecast"]),
    }
    if c["alarm"] is not None:
        rows["alarm"] = c["alarm"]
    listing(rows)


def _origin(c: ContextUsage) -> str:
    if c["tokens"] is None or c["at"] is None:
        return ""
    return f", {age(c['at'])} ago by its {c['source']}"


def _monitor(c: ContextUsage) -> str:
    if c["monitored"]:
        is_measured = c["thresholds"] or c["tokens"] is None
        return "on" if is_measured else "on, by the number of tool calls: its window is not known"
    if c["opted_out"]:
        return f"off: its agent is not warned. Switch it on with: sm context {c['name']} --on"
    return "off: context_monitor.enabled is false in config.toml"


def _threshold(t: ThresholdView) -> str:
    words = f"at {t['tokens']:,} tokens"
    if t["moved"] is not None:
        instead = f" instead of {t['wanted']:,}" if t["wanted"] is not None else ""
        words += f"{instead}: {t['moved']}"
    return f"{words}, reached" if t["reached"] else words


def _history(c: ContextUsage) -> str:
    told = (f"{_minute(s['at'])} {s['tokens']:,}" for s in c["history"])
    return " · ".join(told) or "-"


def _minute(at: float) -> str:
    return time.strftime("%H:%M", time.localtime(at))


def _forecast(forecast: ForecastView | None) -> str:
    if forecast is None:
        return "-"
    return f"{forecast['level']} in about {_span(forecast['seconds'])} at the present pace"


def _span(seconds: float) -> str:
    for limit, unit, size in ((90, "s", 1), (5400, "min", 60), (172_800, "h", 3600)):
        if seconds < limit:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86_400:.0f} days"
