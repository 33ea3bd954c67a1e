"""What can be wrong with folders. Costs nothing to import."""


class HomeError(Exception):
    """The folders cannot be used; the message says why and what to do."""
