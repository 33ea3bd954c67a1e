"""How the store's failures are told apart."""

import inspect

import pytest

from sm.adapters.store import errors
from sm.adapters.store.errors import StoreError

FAILURES = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if kind.__module__ == errors.__name__
]


@pytest.mark.parametrize("failure", FAILURES)
def test_whoever_catches_a_store_error_catches_every_failure(failure: type[Exception]) -> None:
    """The words meant for a person arrive as they were written, whatever went wrong."""
    with pytest.raises(StoreError) as caught:
        raise failure("The disk is full. Make room.")

    assert str(caught.value) == "The disk is full. Make room."


def test_no_failure_is_taken_for_another() -> None:
    """A store that is too new is not damaged, and a failed commit is neither of them."""
    kinds = {kind.__name__: kind.__bases__[0] for kind in FAILURES if kind is not StoreError}

    assert kinds == dict.fromkeys(
        ("StoreDamagedError", "StoreTooNewError", "StoreWriteError"), StoreError
    )
