"""The causes of an end, from what was left behind."""

from typing import Any

import pytest

from sm.core.crash import Cause
from sm.core.traces import Left, Serving, Traces, cause_of, names_limit, signal_name


def traces(left: Left, **seen: Any) -> Traces:
    return Traces(pane="%1", pid=101, left=left, **seen)


REFUSED = {"limit": "rate_limit"}
REFUSAL = "just after its model's service refused it: rate_limit"
TABLE: list[tuple[Traces, Cause, str]] = [
    # Its pane tells how it ended.
    (traces(Left.DEAD, status=3), Cause.EXIT, "pane %1 is dead"),
    (traces(Left.DEAD, status=0), Cause.EXIT, "pane %1 is dead"),
    (traces(Left.DEAD, signal=9), Cause.SIGNAL, "pane %1 is dead"),
    (
        traces(Left.DEAD, status=143),
        Cause.SIGNAL,
        "pane %1 is dead; the code stands for signal 15 (SIGTERM)",
    ),
    (traces(Left.DEAD, status=200), Cause.EXIT, "pane %1 is dead"),
    (traces(Left.DEAD), Cause.UNKNOWN, "pane %1 is dead"),
    (
        traces(Left.DEAD, status=127, unstartable="sm could not start the agent: no such file"),
        Cause.START,
        "pane %1 is dead: sm could not start the agent: no such file",
    ),
    # A limit explains what nothing else explains.
    (traces(Left.DEAD, status=1, **REFUSED), Cause.LIMIT, f"pane %1 is dead, {REFUSAL}"),
    (traces(Left.DEAD, signal=9, **REFUSED), Cause.SIGNAL, "pane %1 is dead"),
    (traces(Left.THERE, **REFUSED), Cause.LIMIT, f"process 101 is gone, {REFUSAL}"),
    (traces(Left.GONE, serving=Serving.OTHER, **REFUSED), Cause.SERVER, ""),
    # The kernel's own word goes before what the pane shows.
    (traces(Left.DEAD, signal=9, memory="the kernel took it"), Cause.MEMORY, "the kernel took it"),
    # Somebody else's program.
    (
        traces(Left.TAKEN, taken_by="bash (process 401)"),
        Cause.SHELL,
        "bash (process 401) is where the agent was, in pane %1",
    ),
    # The pane is gone: alone, or with its server.
    (traces(Left.GONE, serving=Serving.SAME), Cause.PANE, "pane %1 is gone"),
    (traces(Left.GONE), Cause.UNKNOWN, "pane %1 is gone"),
    (
        traces(Left.GONE, serving=Serving.OTHER),
        Cause.SERVER,
        "its tmux server ended: the one that answers is a later one",
    ),
    (
        traces(Left.HIDDEN, serving=Serving.NONE),
        Cause.SERVER,
        "its tmux server ended: none listens on its socket",
    ),
    (traces(Left.HIDDEN, serving=Serving.OTHER), Cause.SERVER, ""),
    # Unreachable is no evidence.
    (traces(Left.HIDDEN), Cause.UNKNOWN, "process 101 is gone"),
    (traces(Left.HIDDEN, serving=Serving.SAME), Cause.UNKNOWN, "process 101 is gone"),
    # In a person's pane the agent and the pane may end together.
    (
        traces(Left.GONE, serving=Serving.SAME, adopted=True),
        Cause.UNKNOWN,
        "process 101 is gone, and pane %1 with it",
    ),
    (
        traces(Left.GONE, serving=Serving.SAME, adopted=True, lives=True),
        Cause.PANE,
        "pane %1 is gone, its process lives on",
    ),
    (traces(Left.THERE), Cause.UNKNOWN, "process 101 is gone"),
    # After a reboot nothing else counts.
    (
        traces(Left.HIDDEN, rebooted=7200.0),
        Cause.REBOOT,
        "the host was started anew 2 hours after the agent",
    ),
    (traces(Left.GONE, serving=Serving.OTHER, rebooted=5.0), Cause.REBOOT, ""),
]


@pytest.mark.parametrize(("seen", "cause", "words"), TABLE)
def test_each_end_has_the_cause_its_traces_speak_for(
    seen: Traces, cause: Cause, words: str
) -> None:
    """And says what speaks for it."""
    found, said = cause_of(seen)

    assert found is cause
    assert said == (words or said)


def test_a_process_that_outlived_its_pane_is_told_of() -> None:
    """Whoever starts another must end it first."""
    seen = traces(Left.GONE, serving=Serving.OTHER, lives=True)

    assert cause_of(seen)[1].endswith(", its process lives on")


def test_an_empty_session_of_the_same_name_is_told_of() -> None:
    """A plugin put it back after the server's end: a shell, and no agent."""
    seen = traces(
        Left.GONE,
        serving=Serving.OTHER,
        namesake="tmux session ada was made anew, with bash in it",
    )

    cause, words = cause_of(seen)

    assert cause is Cause.SERVER
    assert words.endswith("; tmux session ada was made anew, with bash in it")


@pytest.mark.parametrize(
    "error",
    [
        "rate_limit", "overloaded", "billing_error", "Repeated 529 Overloaded errors",
        "You've hit your usage limit", "Quota exceeded. Check your plan and billing details.",
        "429 Too Many Requests", "Your credit balance is too low", "weekly limit reached",
    ],
)  # fmt: skip
def test_a_limit_is_known_by_its_words(error: str) -> None:
    assert names_limit(error)


@pytest.mark.parametrize(
    "error",
    [
        "", "unknown", "invalid_request", "authentication_failed", "server_error",
        "Context limit reached", "max_output_tokens", "port 4290 refused",
    ],
)  # fmt: skip
def test_other_errors_are_no_limit(error: str) -> None:
    """Also a context that is full: that is the agent's own limit."""
    assert not names_limit(error)


def test_signals_have_names() -> None:
    assert signal_name(9) == "signal 9 (SIGKILL)"
    assert signal_name(64) == "signal 64"
