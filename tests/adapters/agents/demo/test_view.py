"""The lines at the bottom of the demo agent's screen."""

import pytest

from sm.adapters.agents.demo import cells
from sm.adapters.agents.demo.box import Box
from sm.adapters.agents.demo.view import Bottom, echo, title, with_box, with_dialog


def typed(text: str) -> Box:
    box = Box()
    box.type(text)
    return box


def test_an_idle_box_stands_between_two_rules() -> None:
    """The cursor is behind the typed text, and the hint is below."""
    bottom = with_box(typed("hi"), size=(20, 24), busy=False, queued=[], notice="")

    rule = "─" * 20
    assert bottom == Bottom([rule, "❯\xa0hi", rule, "  ? for shortcuts"], row=1, column=4)


def test_a_busy_box_shows_the_spinner_and_the_last_of_the_queue() -> None:
    """Someone who typed ahead sees the last three texts that wait, and how to interrupt."""
    queued = ["one", "two", "three", "four"]
    bottom = with_box(typed("a\nb"), size=(20, 24), busy=True, queued=queued, notice="")

    above = ["✻ Thinking…", "", "  > two", "  > three", "  > four"]
    rule = "─" * 20
    assert bottom.lines == [*above, rule, "❯\xa0a", "  b", rule, "  esc to interrupt"]
    assert (bottom.lines[bottom.row], bottom.column) == ("  b", 3)


@pytest.mark.parametrize("busy", [True, False])
def test_a_notice_takes_the_place_of_the_hint(busy: bool) -> None:
    """\"Press again to leave\" is said where the person looks anyway."""
    bottom = with_box(Box(), size=(30, 24), busy=busy, queued=[], notice="Press again")

    assert bottom.lines[-1] == "  Press again"


def test_a_box_never_grows_higher_than_the_screen() -> None:
    """Of a long draft the end is shown, with the cursor in it and a row to spare."""
    draft = "\n".join(str(number) for number in range(99))
    bottom = with_box(typed(draft), size=(20, 12), busy=True, queued=["one"], notice="")

    assert len(bottom.lines) == 11
    assert bottom.lines[bottom.row] == "  98"


@pytest.mark.parametrize("text", ["x" * 99, "漢字" * 30, "a\tb\nc" * 20, "\x1b[2J" * 9])
def test_nothing_is_wider_than_the_screen_or_moves_the_cursor(text: str) -> None:
    """Whatever is queued, noticed or asked, each line stays one line."""
    box = with_box(Box(), size=(17, 24), busy=True, queued=[text], notice=text)
    dialog = with_dialog(text, 0, size=(17, 24))

    for line in [*box.lines, *dialog.lines]:
        assert cells.width(line) <= 17
        assert cells.plain(line).replace("\n", "") == line
    assert box.column <= 16


@pytest.mark.parametrize(("selected", "marked"), [(0, " ❯ 1. Yes"), (1, " ❯ 2. No")])
def test_a_dialog_marks_one_answer_and_puts_the_cursor_there(selected: int, marked: str) -> None:
    """A person sees which answer an Enter would give."""
    bottom = with_dialog("ls", selected, size=(80, 24))

    assert bottom.lines[bottom.row].startswith(marked)
    assert sum("❯" in line for line in bottom.lines) == 1
    assert bottom.column == 1


def test_a_dialog_asks_about_the_command_it_shows() -> None:
    """The command stands above the question; of a very long one the beginning is shown."""
    bottom = with_dialog("x" * 100, 0, size=(20, 24))

    assert bottom.lines == [
        "─" * 20,
        " Bash command",
        "",
        *["   " + "x" * 16] * 3,
        "",
        " Do you want to proc",
        " ❯ 1. Yes",
        "   2. No, and tell C",
        "",
        " Esc to cancel",
    ]


def test_an_echoed_prompt_is_not_taken_for_the_box() -> None:
    """In the history a plain space follows the mark, and further lines are set in."""
    assert echo("one\ntwo") == "❯ one\n  two\n"


def test_the_title_tells_idle_from_busy() -> None:
    """The star is still while idle; while busy two dots take turns."""
    assert title("ada", busy=False, tick=1) == "✳ ada"
    busy = [title("ada", busy=True, tick=tick) for tick in range(3)]
    assert busy == ["⠂ ada", "⠐ ada", "⠂ ada"]
