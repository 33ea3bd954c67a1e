"""One real daemon for the tests that do it no harm."""

from collections.abc import Iterator

import pytest

from tests.kit.sm import Sm, sm_home


@pytest.fixture(scope="session")
def shared() -> Iterator[Sm]:
    with sm_home() as sm:
        sm.new_demo("ada")
        yield sm


@pytest.fixture
def fresh() -> Iterator[Sm]:
    """A home nobody else uses: its daemon may be killed."""
    with sm_home() as sm:
        yield sm
