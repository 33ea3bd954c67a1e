"""The configuration of a server of our own. On a user's server nothing global is touched."""

_LINES = """\
# Written by sm; changes are overwritten.
set -g history-limit {history_limit}
set -g remain-on-exit on
set -s default-terminal "tmux-256color"
set -s exit-empty off
set -s escape-time 10
set -s focus-events on
set -g mouse on
set -g set-titles off
set -g window-size latest
set -g status-left-length 40
set -g status-left "[#{{session_name}}] "
set -g status-right ""
set -g window-status-format ""
set -g window-status-current-format ""
"""


def private_conf(*, history_limit: int) -> str:
    return _LINES.format(history_limit=history_limit)
