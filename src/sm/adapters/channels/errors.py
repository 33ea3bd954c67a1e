"""How the ledger fails, in words for a person: what happened, then what to do."""

from sm.core.channel import LedgerFailedError


class LedgerError(LedgerFailedError):
    """The ledger cannot be used now; nothing of what was asked was kept."""


class LedgerTooNewError(LedgerError):
    """A newer sm wrote this ledger; this one would misread it."""


class LedgerDamagedError(LedgerError):
    """What lies there is not a ledger of ours, or no longer a whole one."""
