"""What tmux is told in order to start one agent: pure, one command list.

The server does the whole list in one step, whatever happens to whoever sent it. The pane's own
tag comes last, so a pane that is found is complete. Nothing global is set.
"""

import re
import shlex

from sm.adapters.tmux.control import PLACEHOLDER
from sm.adapters.tmux.formats import HOME, PANE, SESSION, absent, both, equal
from sm.adapters.tmux.quote import Command, render, when
from sm.core.ids import PaneId
from sm.core.launch import PaneLaunch

COLS = 220
ROWS = 50

# window-resized would miss a split beside the agent; this one fires for both. Whatever the job
# prints, or a status other than 0, would cover the agent's pane with a message.
_RECORD_SIZE = (
    "exec 2>/dev/null; umask 077; "
    "set -- #{P:#{?@sm_pane,#{pane_width} #{pane_height},}}; "
    '[ "$2" ] && echo "{\\"at\\":$(date +%s),\\"cols\\":$1,\\"rows\\":$2,'
    '\\"offset\\":$(($(wc -c < #{@sm_raw})))}" >> #{@sm_sizes} || :'
)


def launch_list(launch: PaneLaunch, *, name: str, home: str, history_limit: int) -> Command:
    """Start the agent in a tmux session of this name, unless it already has a pane."""
    # The session cannot be named by its id in the list that creates it.
    here = f"={name}:"
    return when(
        absent(home, launch.session),
        ("new-session", "-d", "-s", name, "-x", str(COLS), "-y", str(ROWS),
         "-c", launch.cwd.replace("#", "##"), *PLACEHOLDER),
        *_session_options(launch, here, home=home, history_limit=history_limit),
        # tmux would expand a format in a folder's name, but not in an option's value.
        ("new-window", "-t", here, "-c", "#{@sm_cwd}", *_direct(launch.argv)),
        ("kill-window", "-t", f"{here}^"),
        *_started(launch, here, home=home),
    )  # fmt: skip


def window_list(launch: PaneLaunch, into: str, *, home: str, history_limit: int) -> Command:
    """Start the agent in a window of its own, in what is left of its tmux session, unless it
    already has a pane. Who looks at another window there goes on looking at it."""
    here = f"{into}:$"
    mine = both(equal(f"#{{{HOME}}}", home), equal(f"#{{{SESSION}}}", launch.session))
    return when(
        both(mine, absent(home, launch.session)),
        *_session_options(launch, f"{into}:", home=home, history_limit=history_limit),
        ("new-window", "-d", "-a", "-t", here, "-c", "#{@sm_cwd}", *_direct(launch.argv)),
        *_started(launch, here, home=home),
        target=f"{into}:",
    )


def respawn_list(launch: PaneLaunch, pane: PaneId, *, home: str, pipe: str) -> Command:
    """Start the agent in the pane its predecessor died in, if that is still so."""
    dead = both(both(equal(f"#{{{HOME}}}", home), equal(f"#{{{PANE}}}", launch.session)),
                "#{?pane_dead,1,0}")  # fmt: skip
    return when(
        dead,
        ("respawn-pane", "-t", pane, "-c", "#{@sm_cwd}", *_direct(launch.argv)),
        # With -o tmux would close a pipe that outlived the agent.
        when("#{?pane_pipe,0,1}", ("pipe-pane", "-t", pane, pipe), target=pane),
        target=pane,
    )


def _session_options(
    launch: PaneLaunch, here: str, *, home: str, history_limit: int
) -> list[Command]:
    options = {
        HOME: home,
        SESSION: launch.session,
        "@sm_cwd": launch.cwd,
        # Read when a pane is created: hence the placeholder window before the agent's.
        "history-limit": str(history_limit),
        "destroy-unattached": "off",
    }
    return [("set-option", "-t", here, name, value) for name, value in options.items()]


def _started(launch: PaneLaunch, here: str, *, home: str) -> list[Command]:
    """What makes the new window an agent's, its pane's own tag last."""
    options = {
        "remain-on-exit": "on",
        "@sm_raw": shlex.quote(launch.raw_log),
        "@sm_sizes": shlex.quote(launch.sizes_log),
    }
    return [
        *(("set-option", "-w", "-t", here, name, value) for name, value in options.items()),
        ("set-hook", "-w", "-t", here, "window-layout-changed",
         render(("run-shell", "-b", _RECORD_SIZE))),
        ("pipe-pane", "-o", "-t", here, "umask 077; exec cat >> #{@sm_raw}"),
        ("set-option", "-p", "-t", here, HOME, home),
        ("set-option", "-p", "-t", here, PANE, launch.session),
    ]  # fmt: skip


def _direct(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The line as tmux executes it without a shell: it takes a single word for a shell command."""
    return argv if len(argv) > 1 else ("/usr/bin/env", *argv)


def tmux_name(wanted: str, attempt: int) -> str:
    """A name tmux keeps as it is and no format or target can be hidden in."""
    name = re.sub(r"[^\w-]", "_", wanted) or "_"
    return name if attempt == 1 else f"{name}-{attempt}"
