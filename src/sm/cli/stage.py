"""Draws the demo: what happens now, and both agents' screens side by side.

On a terminal it is alive; elsewhere it is plain lines.
"""

import contextlib
import sys
import time
from collections.abc import Iterator
from types import TracebackType

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

SCREEN_LINES = 12


class Stage:
    """Use as a context: what is drawn stays on the terminal afterwards."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._console = Console(quiet=quiet, highlight=False)
        self.is_live = self._console.is_terminal and not quiet
        self._live = Live(console=self._console, refresh_per_second=12) if self.is_live else None
        self._lines: list[Text | Spinner] = []
        self._screens: dict[str, list[str]] = {}

    def __enter__(self) -> "Stage":
        if self._live is not None:
            self._live.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._screens = {}
            self._draw()
            self._live.__exit__(kind, error, trace)

    @contextlib.contextmanager
    def act(self, words: str) -> Iterator[None]:
        """One part of the story, with a spinner while it lasts."""
        began = time.monotonic()
        at = len(self._lines)
        self._lines.append(Spinner("dots", Text(words, style="bold")))
        if self._live is None and not self._quiet:
            sys.stdout.write(f"{words}\n")
            sys.stdout.flush()
        self._draw()
        yield
        took = f"  {time.monotonic() - began:.1f} s"
        self._lines[at] = Text.assemble(("✓ ", "green"), (words, "bold"), (took, "dim"))
        self._draw()

    def line(self, words: str) -> None:
        self._lines.append(Text(f"    {words}", style="cyan"))
        if self._live is None and not self._quiet:
            sys.stdout.write(f"    {words}\n")
            sys.stdout.flush()
        self._draw()

    def tick(self, screens: dict[str, list[str]]) -> None:
        self._screens = screens or self._screens
        self._draw()

    def _draw(self) -> None:
        if self._live is None:
            return
        parts: list[RenderableType] = [*self._lines]
        if self._screens:
            width = max(30, self._console.width // 2 - 2)
            parts.append(Columns([_panel(n, s, width) for n, s in self._screens.items()]))
        self._live.update(Group(*parts))

    def summary(self, figures: dict[str, object], *, kept: str | None) -> None:
        table = Table(title="What reached the agents", title_justify="left", show_header=False)
        table.add_column("")
        table.add_column("", justify="right")
        for key, words in (
            ("messages", "messages sent"),
            ("arrived_once", "arrived exactly once"),
            ("lost", "lost"),
            ("doubled", "doubled"),
            ("daemon_kills", "times the daemon was killed with -9"),
            ("handoffs", "contexts handed over"),
            ("recoveries", "dead agents brought back"),
            ("seconds", "seconds"),
        ):
            bad = key in ("lost", "doubled") and figures[key] != 0
            table.add_row(words, Text(str(figures[key]), style="red" if bad else "green"))
        self._console.print(table)
        if kept:
            self._console.print(f"Look around with: SM_HOME={kept} sm ls")
        else:
            self._console.print("All cleaned up. Now yours: sm new ada --agent demo --attach")


def _panel(name: str, lines: list[str], width: int) -> Panel:
    shown = [line for line in lines if line.strip() and not line.startswith("──")]
    text = Text("\n".join(line[: width - 4] for line in shown[-SCREEN_LINES:]), no_wrap=True)
    return Panel(text, title=name, width=width, height=SCREEN_LINES + 2, border_style="dim")
