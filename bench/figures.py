"""One measured figure, its floor and its goal, and all of them as a table."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

Bound = Literal["at most", "at least"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What a figure, or its ratio to the floor, must keep to."""

    bound: Bound
    value: float
    of_ratio: bool = False

    def is_met(self, measured: float, ratio: float | None) -> bool:
        judged = ratio if self.of_ratio else measured
        assert judged is not None, "a goal for a ratio needs a floor"
        return judged <= self.value if self.bound == "at most" else judged >= self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    what: str
    measured: float
    unit: str
    floor: float | None = None
    floor_is: str = ""
    goal: Goal | None = None

    @property
    def ratio(self) -> float | None:
        return None if self.floor is None else self.measured / self.floor

    @property
    def verdict(self) -> str:
        if self.goal is None:
            return ""
        return "ok" if self.goal.is_met(self.measured, self.ratio) else "MISS"


def at_most(value: float) -> Goal:
    return Goal(bound="at most", value=value)


def at_least(value: float) -> Goal:
    return Goal(bound="at least", value=value)


def at_most_times(value: float) -> Goal:
    return Goal(bound="at most", value=value, of_ratio=True)


def quantile(values: Sequence[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


median: Callable[[Sequence[float]], float] = statistics.median

_HEADS = ("what", "measured", "floor", "ratio", "goal", "", "the floor is")


def table(figures: Sequence[Figure]) -> str:
    rows = [_HEADS, *map(_cells, figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADS))]
    rows.insert(1, tuple("─" * width for width in widths))
    return "\n".join(_line(row, widths) for row in rows)


def _cells(figure: Figure) -> tuple[str, ...]:
    ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}×"
    floor = "" if figure.floor is None else f"{_number(figure.floor)} {figure.unit}"
    measured = f"{_number(figure.measured)} {figure.unit}"
    goal = _goal(figure)
    return figure.what, measured, floor, ratio, goal, figure.verdict, figure.floor_is


def _goal(figure: Figure) -> str:
    if figure.goal is None:
        return ""
    sign = "≤" if figure.goal.bound == "at most" else "≥"
    unit = "×" if figure.goal.of_ratio else f" {figure.unit}"
    return f"{sign} {figure.goal.value:g}{unit}"


def _number(value: float) -> str:
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Words to the left, numbers to the right."""
    placed = [
        cell.rjust(width) if 1 <= column <= 4 else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(placed).rstrip()
