"""What can be wrong with folders and settings. Costs nothing to import."""

HOPELESS = 78
"""Exit status (EX_CONFIG) of a daemon that no restart can help; it has said why."""


class HomeError(Exception):
    """The folders cannot be used; the message says why and what to do."""
