"""A session nobody watches: its context fills, and sm hands it over."""

import pytest

from tests.kit.sm import Sm
from tests.prove.walkaway import contexts_with_task, finish, unattended


@pytest.mark.claude
def test_a_task_goes_on_through_three_contexts(sm: Sm) -> None:
    with unattended(sm, steps=18) as (ada, task):
        finish(ada, task, 90)

        handoffs = sm.json("handoffs", "ada")
        assert task.lines == task.wanted
        assert [h["kind"] for h in handoffs] == ["auto"] * len(handoffs)
        assert len(task.begun) == len(handoffs) + 1 >= 3
        assert contexts_with_task(ada) == [True] * len(task.begun)
