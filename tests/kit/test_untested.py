"""What cannot be tested is never passed over in CI."""

import pytest

from tests.kit.untested import leave_untested


def test_what_cannot_be_tested_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)

    with pytest.raises(pytest.skip.Exception, match="no disk"):
        leave_untested("no disk")


def test_what_cannot_be_tested_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that lost a right would otherwise test less, and nobody would see it."""
    monkeypatch.setenv("CI", "true")

    with pytest.raises(pytest.fail.Exception, match="no disk"):
        leave_untested("no disk")
