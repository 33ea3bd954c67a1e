"""How full the demo agent's context is."""

import pytest

from sm.adapters.agents.demo.context import Context


def test_tokens_are_a_quarter_of_the_characters_and_a_base() -> None:
    context = Context(200_000)
    context.add("x" * 4000)

    assert context.tokens == 2000
    usage = context.usage("reply")
    kinds = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    assert [usage[kind] for kind in kinds] == [100, 1000, 900]


@pytest.mark.parametrize(
    ("window", "tokens", "full"),
    [
        (200_000, 167_000, False),
        (200_000, 167_001, True),
        (1_000_000, 967_001, True),
        (10_000, 8400, False),
        (10_000, 8401, True),
    ],
)
def test_it_is_full_where_claude_code_compacts(window: int, tokens: int, full: bool) -> None:
    context = Context(window)
    context.pin(tokens)

    assert context.is_full is full


def test_an_emptied_context_counts_anew() -> None:
    context = Context(200_000)
    context.pin(150_000)
    context.empty()

    assert context.tokens == 1000
