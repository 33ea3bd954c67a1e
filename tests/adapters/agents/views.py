"""What a terminal shows, as an adapter to an agent is given it."""

from collections.abc import Sequence

from sm.core.terminal import View


def view_of(
    lines: Sequence[str],
    *,
    cursor: tuple[int, int] = (0, 0),
    title: str = "",
    size: tuple[int, int] = (80, 24),
) -> View:
    """Of a living agent, with nothing of ours beside its pane."""
    return View(
        lines=tuple(lines),
        cursor_x=cursor[0],
        cursor_y=cursor[1],
        title=title,
        in_mode=False,
        width=size[0],
        height=size[1],
        dead=False,
        exit_status=None,
        exit_signal=None,
        pasted="",
        entered="",
    )
