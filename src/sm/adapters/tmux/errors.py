"""What tmux says when it will not do something."""


class TmuxError(Exception):
    """tmux was reached and refused the command; the message is tmux's own."""

    @property
    def is_gone(self) -> bool:
        """The pane, window or session that was named does not exist."""
        return str(self).startswith("can't find ")

    @property
    def is_duplicate(self) -> bool:
        """The session name that was asked for is taken."""
        return str(self).startswith("duplicate session")
