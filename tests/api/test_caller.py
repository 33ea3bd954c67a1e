"""Whoever runs a command, as far as an agent takes after them."""

import os
from collections.abc import Iterator

import pytest

from sm.api.caller import environment


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


def test_the_callers_environment_and_umask_are_told(
    monkeypatch: pytest.MonkeyPatch, umask: None
) -> None:
    monkeypatch.setenv("PLACE", "it's\nhere ü")
    told = environment()

    assert told["PLACE"] == "it's\nhere ü"
    assert told["SM_UMASK"] == "027"


def test_asking_changes_nothing(umask: None) -> None:
    environment()

    assert os.umask(0o027) == 0o027
    assert "SM_UMASK" not in os.environ


def test_bytes_that_are_no_text_are_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is told travels as JSON."""
    monkeypatch.setitem(os.environb, b"BROKEN", b"\xff\xfe")
    monkeypatch.setitem(os.environb, b"NA\xffME", b"x")

    told = environment()
    assert "BROKEN" not in told
    assert all(name.isprintable() or name.isascii() for name in told)
    "".join([*told, *told.values()]).encode()
