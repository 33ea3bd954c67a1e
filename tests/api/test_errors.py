"""Errors that a command turns into one line."""

from sm.api.errors import RefusedError, StartError, UnreachableError


def test_a_refusal_keeps_its_words_and_its_status() -> None:
    refused = RefusedError("ada has ended. Start a new session with: sm new", 409)

    assert (str(refused), refused.status) == (
        "ada has ended. Start a new session with: sm new",
        409,
    )


def test_a_daemon_that_does_not_start_is_unreachable() -> None:
    """Both end a command with exit code 2."""
    assert issubclass(StartError, UnreachableError)
