"""Whole-program tests: the real command line, daemon, tmux and agents."""

from collections.abc import Iterator

import pytest

from tests.kit.sm import Sm, sm_home


@pytest.fixture
def sm() -> Iterator[Sm]:
    with sm_home() as home:
        yield home
