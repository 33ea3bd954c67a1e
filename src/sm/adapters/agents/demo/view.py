"""The lines at the bottom of the screen, in the forms Claude Code draws. Pure."""

from typing import NamedTuple

from sm.adapters.agents.demo import cells
from sm.adapters.agents.demo.box import Box
from sm.adapters.agents.demo.stage import Waiting

_SPINNER = "✻ Thinking…"
_OPTIONS = ("Yes", "No, and tell Claude what to do differently (esc)")
_STATUS_LINES = 3


class Bottom(NamedTuple):
    lines: list[str]
    row: int
    column: int


def with_box(
    box: Box,
    *,
    size: tuple[int, int],
    busy: bool,
    queued: list[str],
    notice: str,
    status: str = "",
) -> Bottom:
    """The prompt box between two rules, with what waits above it, a hint or the status below."""
    columns, rows = size
    above = [_SPINNER, ""] if busy else []
    above += [f"  > {text}" for text in queued[-3:]]
    rule = "─" * columns
    hint = notice or ("esc to interrupt" if busy else "? for shortcuts")
    # A status line takes the place of the hint, not of a notice.
    below = [*status.split("\n")[:_STATUS_LINES], *([notice] if notice else [])]
    below = below if status else [hint]
    spare = rows - len(above) - 3 - len(below)
    typed, column = box.draw(columns, spare)
    lines = [
        *(_cut(line, columns) for line in above),
        rule,
        *typed,
        rule,
        *(_cut(f"  {line}", columns) for line in below),
    ]
    return Bottom(lines, row=len(above) + len(typed), column=min(column, columns - 1))


def with_dialog(command: str, selected: int, *, size: tuple[int, int]) -> Bottom:
    """A question in the place of the box: an Enter here lets the tool run."""
    columns, _ = size
    shown = cells.wrap(cells.plain(command), columns - 4)[:3]
    options = [
        f"{' ❯' if number == selected else '  '} {number + 1}. {text}"
        for number, text in enumerate(_OPTIONS)
    ]
    head = ["─" * columns, " Bash command", "", *(f"   {line}" for line in shown), ""]
    question = [" Do you want to proceed?", *options, "", " Esc to cancel"]
    row = len(head) + 1 + selected
    return Bottom([_cut(line, columns) for line in [*head, *question]], row=row, column=1)


def announced(waiting: Waiting) -> str:
    """What the history says of something submitted, by a person or by a hook's wake."""
    return echo(waiting.shown) if waiting.by_person else f"● {waiting.shown}\n"


def echo(shown: str) -> str:
    """A submitted prompt in the history: a plain space where the box has a no-break one."""
    return "❯ " + shown.replace("\n", "\n  ") + "\n"


def title(name: str, *, busy: bool, tick: int) -> str:
    if not busy:
        return f"✳ {name}"
    return f"{'⠂⠐'[tick % 2]} {name}"


def _cut(line: str, columns: int) -> str:
    return cells.wrap(cells.plain(line).replace("\n", " "), columns)[0]
