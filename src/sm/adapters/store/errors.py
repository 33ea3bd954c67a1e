"""How the store fails, in words for a person: what happened, then what to do."""

from sm.core.journal import NotStoredError


class StoreError(Exception):
    """The store cannot be used as it is."""


class StoreWriteError(StoreError, NotStoredError):
    """A commit did not happen; nothing of it was kept."""


class StoreTooNewError(StoreError):
    """A newer sm wrote this store; this one would misread it."""


class StoreDamagedError(StoreError):
    """What lies there is not a store of ours, or no longer a whole one."""
