"""How an agent is started, as values, and the errors that mean different things."""

from sm.core.launch import (
    AgentLine,
    LaunchFailedError,
    MalformedHookError,
    TerminalUnreachableError,
)


def test_an_agent_need_not_be_given_a_context() -> None:
    """Only some agents take the id of their context at launch."""
    assert AgentLine(argv=("cat",), environment={}, files={}).context is None


def test_each_failure_is_of_its_own_kind() -> None:
    """A failed launch, a silent tmux and a bad payload are answered differently."""
    kinds = (LaunchFailedError, TerminalUnreachableError, MalformedHookError)

    assert not any(issubclass(a, b) for a in kinds for b in kinds if a is not b)
    assert issubclass(MalformedHookError, ValueError)
