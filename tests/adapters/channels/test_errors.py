"""How the ledger fails."""

import pytest

from sm.adapters.channels.errors import LedgerDamagedError, LedgerError, LedgerTooNewError


@pytest.mark.parametrize("kind", [LedgerDamagedError, LedgerTooNewError])
def test_every_failure_is_one_of_the_ledger(kind: type[Exception]) -> None:
    """Who only wants to tell the person catches one."""
    assert issubclass(kind, LedgerError)
