"""The causes of an end nobody asked for."""

import pytest

from sm.core.crash import Cause


@pytest.mark.parametrize("cause", Cause)
def test_only_what_took_everything_is_one_incident(cause: Cause) -> None:
    """A tmux server or a host that ends is no agent's own fault."""
    assert cause.is_mass is (cause.value in ("server_exit", "reboot"))
