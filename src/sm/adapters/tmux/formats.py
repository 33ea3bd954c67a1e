"""The questions put to tmux as formats, and how its answers are read."""

from dataclasses import dataclass

from sm.core.adoption import Spot
from sm.core.ids import PaneId, SessionId
from sm.core.terminal import PaneStatus, Server, View

HOME = "@sm_home"
"""Which home a session and its agent's pane belong to."""
SESSION = "@sm_session"
"""On the tmux session: whose it is."""
PANE = "@sm_pane"
"""On the agent's pane alone, set last: a split beside it inherits the session's tags, not this."""
PASTED = "@sm_pasted"
LOGGED = "@sm_logged"
"""On an adopted agent's pane: the pipe on its output is ours."""
RAW, SIZES = "@sm_log", "@sm_log_sizes"
"""Where that pipe leads, and where the sizes of its window are noted."""
TAGS = (PASTED, "@sm_entered", "@sm_interrupted", "@sm_stashed", LOGGED, RAW, SIZES, PANE, HOME)
"""Everything of ours that an adopted agent's pane may carry."""

# ":" cannot occur in any field but the last, so it separates without doubt.
LISTED = ":".join(
    (
        "#{@sm_home}", "#{@sm_pane}", "#{@sm_session}", "#{pane_id}", "#{pane_pid}",
        "#{pane_dead}", "#{pane_dead_status}", "#{pane_dead_signal}", "#{session_name}",
    )
)  # fmt: skip

VIEWED = ":".join(
    (
        "#{@sm_home}", "#{@sm_pane}", "#{pane_dead}", "#{pane_dead_status}",
        "#{pane_dead_signal}", "#{pane_in_mode}", "#{pane_width}", "#{pane_height}",
        "#{cursor_x}", "#{cursor_y}", "#{@sm_pasted}", "#{@sm_entered}", "#{@sm_interrupted}",
        "#{pane_pid}", "#{pane_title}",
    )
)  # fmt: skip

SERVER = "#{pid}:#{start_time}:#{socket_path}"

FOUND = ":".join(
    (
        "#{pane_id}", "#{pane_pid}", "#{pane_dead}", "#{pane_pipe}", "#{@sm_home}", "#{@sm_pane}",
        "#{pane_current_command}", "#{session_name}",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One line of the list of all panes."""

    home: str
    status: PaneStatus
    in_own_session: bool
    """Listed under the session it was launched in; a grouped session lists it a second time."""


def read_listed(line: str) -> Listed:
    home, owner, session, pane, pid, dead, status, signal, name = line.split(":", 8)
    return Listed(
        home=home,
        in_own_session=owner == session,
        status=PaneStatus(
            id=PaneId(pane),
            sm_session=SessionId(owner),
            tmux_session=name,
            pid=int(pid),
            dead=_flag(dead),
            exit_status=_number(status),
            exit_signal=_number(signal),
        ),
    )


def read_view(line: str, screen: list[str], *, home: str) -> View | None:
    """None when the pane is not an agent's pane of ours."""
    (
        owner, tag, dead, status, signal, mode, width, height, x, y,
        pasted, entered, interrupted, pid, title,
    ) = line.split(":", 14)  # fmt: skip
    if owner != home or not tag:
        return None
    return View(
        lines=tuple(screen),
        cursor_x=int(x),
        cursor_y=int(y),
        title=title,
        in_mode=_flag(mode),
        width=int(width),
        height=int(height),
        dead=_flag(dead),
        exit_status=_number(status),
        exit_signal=_number(signal),
        pasted=pasted,
        entered=entered,
        interrupted=interrupted,
        session=SessionId(tag),
        pid=int(pid),
    )


def read_server(line: str) -> Server:
    pid, started, socket_path = line.split(":", 2)
    return Server(pid=int(pid), started=int(started), socket_path=socket_path)


def read_found(line: str, *, socket: str, home: str, suffix: str) -> Spot | None:
    """None when the target led to no pane: tmux then knows nothing to fill in."""
    pane, pid, dead, piped, owner_home, owner, rest = line.split(":", 6)
    if not pane:
        return None
    # A program may be called anything; a session's name cannot hold ":".
    command, _, name = rest.rpartition(":")
    return Spot(
        pane=PaneId(f"{pane}{suffix}"),
        socket=socket,
        tmux_session=name,
        pid=int(pid),
        dead=_flag(dead),
        command=command,
        owner=SessionId(owner) if owner else None,
        is_ours=owner_home == home,
        piped=_flag(piped),
    )


def is_untold(seen: PaneStatus | View) -> bool:
    """Its terminal is closed, but tmux does not know yet how the process ended."""
    return seen.dead and seen.exit_status is None and seen.exit_signal is None


def both(first: str, second: str) -> str:
    return f"#{{&&:{first},{second}}}"


def equal(left: str, right: str) -> str:
    return f"#{{==:{left},{right}}}"


def ours(home: str) -> str:
    """Whether the pane is an agent's pane of this home."""
    return both(equal(f"#{{{HOME}}}", home), f"#{{!=:#{{{PANE}}},}}")


def typable(home: str) -> str:
    """Ours and alive: tmux 3.3a crashes, with every agent in it, at a paste into a dead pane."""
    return both(ours(home), "#{?pane_dead,0,1}")


def absent(home: str, session: SessionId) -> str:
    """Whether no pane of the whole server belongs to this session."""
    mine = both(equal(f"#{{{HOME}}}", home), equal(f"#{{{PANE}}}", session))
    return f"#{{?#{{S:#{{W:#{{P:#{{?{mine},1,}}}}}}}},0,1}}"


def _flag(value: str) -> bool:
    # A count for modes; older versions say nothing instead of 0.
    return value not in {"", "0"}


def _number(value: str) -> int | None:
    return int(value) if value else None
