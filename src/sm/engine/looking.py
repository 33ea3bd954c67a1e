"""One look at a session's own pane, and at nobody else's.

A new tmux server counts its panes from %0 again, so a pane id alone may lead to another session:
the tag tmux keeps beside the pane says whose it is.
"""

from sm.core.state import Session
from sm.core.terminal import View
from sm.engine.ports import Terminal


async def look_at(terminal: Terminal, session: Session) -> View | None:
    """What the session's pane shows; None if it has none or it is gone."""
    if session.pane is None:
        return None
    view = await terminal.look(session.pane.id)
    return view if view is not None and view.session == session.id else None
