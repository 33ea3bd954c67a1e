"""Moments as text."""

from sm.core.moments import stamp


def test_a_moment_is_written_in_utc() -> None:
    """Whatever the machine's own time zone is; parts of a second are left away."""
    assert stamp(0.0) == "19700101-000000"
    assert stamp(1_770_014_730.9) == "20260202-064530"
