"""What a test cannot do on this machine: skipped loudly here, a failure in CI, where all counts."""

import os
from typing import NoReturn

import pytest


def leave_untested(reason: str) -> NoReturn:
    """Skip the test; with CI set, fail it: there nothing may go untested unnoticed."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
