"""What can go wrong between a command and the daemon. Costs nothing to import."""


class RefusedError(Exception):
    """The daemon understood and will not; its words say why and what to do."""

    def __init__(self, words: str, status: int) -> None:
        super().__init__(words)
        self.status = status


class UsageError(Exception):
    """What was typed means nothing, whatever the daemon has; the words say what would."""


class UnreachableError(Exception):
    """The daemon cannot be reached or started; the words say what to do."""


class NotInsideError(Exception):
    """The command is for agents inside a session, and this is none."""


class StartError(UnreachableError):
    """The daemon did not come up; the words say why and what to do."""


class UnansweredError(UnreachableError):
    """The call was sent and no answer came: it may have been done, or not."""
