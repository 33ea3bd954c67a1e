"""Lengths of time in words, as a person would say them. Pure."""

from sm.core.shortening import count

_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


def roughly(seconds: float) -> str:
    """In the largest unit it fills; the rest is left out."""
    for unit, length in _UNITS:
        if seconds >= length:
            return count(int(seconds // length), unit)
    return count(0, "second")


def exactly(seconds: float) -> str:
    """In the largest unit without a rest: what was set as a quarter of an hour is not "0 hours"."""
    for unit, length in _UNITS:
        if seconds >= length and seconds % length == 0:
            return count(int(seconds // length), unit)
    return f"{seconds:g} seconds"
