"""What commands share: the client, tables, colours, ages, JSON."""

import io
import json
import os
import re
import sys
import time
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sm.api.client import Client, RefusedError
from sm.api.types import SessionView
from sm.settings import times
from sm.settings.home import Home
from sm.settings.variables import SESSION_ID

_COLOURS = {
    "idle": "32",
    "working": "36",
    "waiting": "33",
    "rotating": "36",
    "requested": "33",
    "capturing": "36",
    "clearing": "36",
    "prompting": "36",
    "failed": "31",
    "superseded": "90",
    "starting": "34",
    "crashed": "31",
    "unknown": "35",
    "ended": "90",
    "queued": "33",
    "offered": "36",
    "accepted": "32",
    "done": "32",
    "expired": "31",
    "refused": "31",
    "cancelled": "90",
    "OK": "32",
    "EARLY_WARN": "36",
    "WARN": "33",
    "CRITICAL": "31",
}


def client(*, start: bool = True) -> Client:
    return Client(Home.from_environment(), start=start, tell=_tell)


def _tell(words: str) -> None:
    """Beside the output: it may be read by a program."""
    if sys.stderr is not None:
        sys.stderr.write(f"sm: {words}\n")


def own_session() -> str | None:
    """The id of the session this command runs in, if any."""
    return os.environ.get(SESSION_ID) or None


def standard_input(instead: str, longest: int) -> str:
    """All of it, or one character more than a text may have, byte for byte; ``instead`` says what
    to do where there is none."""
    if sys.stdin is None:
        raise RefusedError(f"Standard input is closed. {instead}", 400)
    try:
        # Not the stream that is there: it would change line ends, and goes by the locale.
        told = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8", newline="")
        return told.read(longest + 1)
    except UnicodeDecodeError:
        raise RefusedError(
            "Standard input is not valid UTF-8. Convert it first, as with: iconv -f LATIN1", 400
        ) from None


def given_text(given: str) -> str:
    """A message's text, from where it is to be read."""
    return given if given != "-" else standard_input("Give the text itself.", LONGEST)


LONGEST = 1_000_000
"""No message has more characters: the daemon refuses what does."""


def path_name(given: str) -> str:
    """A file's or folder's name: an empty one would quietly mean this folder."""
    if not given:
        raise RefusedError("An empty name is no file and no folder. Give its name.", 400)
    return given


def tellable(path: Path, instead: str) -> str:
    """A path as the daemon can be told of it; ``instead`` says what to do where it cannot."""
    try:
        return str(path).encode().decode()
    except UnicodeEncodeError:
        name = os.fsencode(path).decode(errors="replace")
        raise RefusedError(f"The name {name} is not valid UTF-8. {instead}", 400) from None


def print_json(value: object) -> None:
    # Where the output's encoding cannot hold everything, JSON's own escapes can.
    print(json.dumps(value, indent=2, ensure_ascii=sys.stdout.encoding.lower() != "utf-8"))


def is_colourful() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def coloured(word: str) -> str:
    """A state in its colour, on a terminal."""
    colour = _COLOURS.get(word)
    return f"\x1b[{colour}m{word}\x1b[0m" if colour and is_colourful() else word


def dim(text: str) -> str:
    return f"\x1b[2m{text}\x1b[0m" if is_colourful() else text


def age(since: float) -> str:
    """How long ago, in one short word."""
    seconds = max(0.0, time.time() - since)
    for limit, unit, size in ((90, "s", 1), (5400, "m", 60), (172_800, "h", 3600)):
        if seconds < limit:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds / 86_400:.0f}d"


def size(number: int) -> str:
    """So many bytes, in the unit that fits."""
    for unit, scale in (("B", 1), ("KB", 1_000), ("MB", 1_000_000)):
        if number < 1_000 * scale:
            return f"{number / scale:.0f} {unit}"
    return f"{number / 1e9:.1f} GB"


def clock(at: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at)) + f".{int(at % 1 * 1000):03d}"


def plain(text: str) -> str:
    """A text from outside, which must not give orders to the terminal it is shown on."""
    return _ORDERS.sub("\ufffd", text)


_ORDERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def cell(text: str) -> str:
    """One cell of a table: plain and on one line; a state keeps the colour we gave it."""
    parts = _COLOURED.split(text)
    return "".join(
        part if number % 2 else plain(re.sub(r"[\t\n]", "\ufffd", part))
        for number, part in enumerate(parts)
    )


_COLOURED = re.compile(rf"(\x1b\[\d+m(?:{'|'.join(_COLOURS)})\x1b\[0m)")


def width(text: str) -> int:
    """Columns a text takes on a terminal; colours take none."""
    plain = text
    while "\x1b[" in plain:
        before, _, rest = plain.partition("\x1b[")
        plain = before + rest.partition("m")[2]
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in plain)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as their widest cell; the last one runs on."""
    lines = [list(head), *([cell(text) for text in row] for row in rows)]
    widths = [max(width(line[i]) for line in lines) for i in range(len(head))]
    for number, line in enumerate(lines):
        cells = [c + " " * (w - width(c)) for c, w in zip(line, widths, strict=True)]
        text = "  ".join(cells).rstrip()
        print(dim(text) if number == 0 else text)


def listing(rows: Mapping[str, str]) -> None:
    """One line for each, its name before it."""
    widest = max(map(len, rows))
    for name, value in rows.items():
        print(f"{name:<{widest}}  {cell(value)}")


def brief(text: str, limit: int = 60) -> str:
    line = plain(" ".join(text.split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def not_brought_back(session: SessionView) -> str:
    """Why it is left alone, and what to do."""
    name = session["name"]
    return f"{name}: {session['hopeless']}. To try again: sm recover {name}"


def seconds(text: str) -> float:
    """``10m``, ``1h``, ``90`` (seconds) as seconds, for argparse."""
    import argparse

    try:
        value = times.seconds(f"{text}s" if _PLAIN.fullmatch(text) else text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 10 * 365 * 86_400:
        raise argparse.ArgumentTypeError(f"{text!r} is no time; write 30s, 10m, 1h or 2d")
    return value


_PLAIN = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def some_seconds(text: str) -> float:
    """As ``seconds``, where no time at all has no meaning."""
    import argparse

    value = seconds(text)
    if value == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no time to wait; write 30s, 10m, 1h or 2d")
    return value


def at_least(least: int) -> Callable[[str], int]:
    """A whole number not below this one, for argparse."""

    def number(text: str) -> int:
        import argparse

        value = int(text) if _WHOLE.fullmatch(text) else least - 1
        if value < least:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least} on")
        return value

    return number


OLDEST_TMUX = (3, 2)
_WHOLE = re.compile(r"[0-9]{1,18}")


def tmux_program(path: str | None = None) -> str:
    """Where tmux is, on this PATH or on ours; one that is new enough."""
    import shutil
    import subprocess

    found = shutil.which("tmux", path=path)
    if found is None:
        raise RefusedError("tmux is not installed. On Debian or Ubuntu: apt install tmux", 409)
    told = subprocess.run([found, "-V"], capture_output=True, text=True, check=False).stdout.strip()
    if is_too_old(told):
        raise RefusedError(
            f"{told} ({found}) is too old: sm needs tmux 3.2 or newer. Install that, or put it"
            " first on your PATH.",
            409,
        )
    return found


def is_too_old(told: str) -> bool:
    """Whether a tmux that calls itself so lacks what sm needs. One that names no number is the
    development version."""
    version = re.search(r"(\d+)\.(\d+)", told)
    return version is not None and tuple(map(int, version.groups())) < OLDEST_TMUX
