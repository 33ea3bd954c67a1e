"""What we write is what tmux reads."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sm.adapters.tmux.quote import quote, when
from sm.adapters.tmux.server import TmuxTerminal

TEXT = st.text(
    st.one_of(
        st.sampled_from("\"'\\;$~#{}%,: \t\n\r\x1b\x7f"),
        st.characters(codec="utf-8", exclude_characters="\0"),
    ),
    max_size=40,
)
TRAPS = (
    "", ";", "a;", "\\;", "~", "~root/x", "$HOME", "${HOME}", "#{pid}", "{", "}", "%if 1", "a\nb",
    "\n", "'\"'", "\\", "\\n", "\\u0041", "\\101", "$(x)", "# no comment", "日本語 🦉 e\u0301",
)  # fmt: skip


async def echoed(terminal: TmuxTerminal, value: str) -> str:
    _, lines = await terminal.control.run_list(
        ("set-option", "-s", "@x", value), ("show-option", "-s", "-v", "@x")
    )
    return "\n".join(lines)


async def test_values_full_of_traps_come_back_unchanged(terminal: TmuxTerminal) -> None:
    assert [await echoed(terminal, value) for value in TRAPS] == list(TRAPS)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(value=TEXT)
async def test_every_value_comes_back_unchanged(terminal: TmuxTerminal, value: str) -> None:
    """The server is shared by all examples: each one overwrites the option of the last."""
    assert await echoed(terminal, value) == value


async def test_a_printed_message_comes_back_unchanged(terminal: TmuxTerminal) -> None:
    message = 'it\'s "quoted"; $HOME ~ \\ 🦉;'

    assert await terminal.control.run("display-message", "-p", message) == [message]


async def test_a_conditional_list_is_quoted_twice_and_read_once(terminal: TmuxTerminal) -> None:
    value = 'it\'s "quoted"; $HOME ~ \\ 🦉;'

    await terminal.control.run(*when("1", ("set-option", "-s", "@x", value)))

    assert await terminal.control.run("show-option", "-s", "-v", "@x") == [value]


def test_a_nul_is_refused() -> None:
    with pytest.raises(ValueError, match="NUL"):
        quote("a\0b")
