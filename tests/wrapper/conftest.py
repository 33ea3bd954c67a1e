"""A desk of its own for each test; nothing may be left of what ran there."""

from collections.abc import Iterator

import pytest

from tests.kit.runs import Desk, run_desk


@pytest.fixture
def desk() -> Iterator[Desk]:
    with run_desk() as made:
        yield made
        made.expect_nothing_left()
