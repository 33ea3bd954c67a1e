"""Moments as text. The one place of the core that knows a calendar; nothing here knows the time."""

from datetime import UTC, datetime


def stamp(at: float) -> str:
    """``20260202-064530``, UTC."""
    return f"{datetime.fromtimestamp(at, UTC):%Y%m%d-%H%M%S}"
