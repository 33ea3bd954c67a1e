"""The demo agent's keys and screen, in a real tmux."""

import pytest

from sm.core.terminal import Sign

from .rig import Demo


def test_it_answers_a_typed_prompt(demo: Demo) -> None:
    """Text and Enter reach the model once, and its answer is on the screen."""
    demo.start()
    demo.submit("hello")

    demo.until_shown('● Got it: "hello"')
    assert demo.received() == ["hello"]


def test_its_prompt_box_is_read_as_claude_codes(demo: Demo) -> None:
    """The reader of Claude Code's screen sees an empty box, then the half-typed text."""
    demo.start("--name", "ada")
    assert demo.screen().draft == ""
    assert demo.view().title == "✳ ada"

    demo.type("half typed")

    demo.until(lambda: demo.screen().draft == "half typed")
    view = demo.view()
    assert view.lines[view.cursor_y] == "❯\xa0half typed"
    assert view.cursor_x == 12


def test_a_paste_of_100_kb_arrives_byte_identical(demo: Demo) -> None:
    """However long a paste is, the model gets exactly what was pasted."""
    line = "0123456789 abc äöü 漢字 😀 ;\\ $HOME %d"
    text = "\n".join(f"{number} {line}" for number in range(2000))
    assert len(text.encode()) > 100_000
    demo.start()
    demo.prompt(text)

    demo.until(demo.received)
    assert demo.received() == [text]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("one\ntwo\nthree", "one\ntwo\nthree"),
        ("one\ntwo\nthree\nfour", "[Pasted text #1 +3 lines]"),
        ("x" * 900, "[Pasted text #1]"),
    ],
)
def test_a_long_paste_is_folded_in_the_box(demo: Demo, text: str, shown: str) -> None:
    """More than three lines or 800 characters stand in the box as one word."""
    demo.start()
    demo.paste(text)

    demo.until(lambda: demo.screen().draft == shown)
    demo.press("Enter")
    demo.until(lambda: demo.received() == [text])


def test_wide_characters_wrap_inside_the_box(demo: Demo) -> None:
    """Chinese and emoji take two columns each; nothing of them is lost at the edge."""
    text = "漢字😀" * 20
    demo.start(size=(40, 24))
    demo.type(text)

    demo.until(lambda: demo.screen().draft.replace("\n", "") == text)
    view = demo.view()
    assert view.lines[view.cursor_y].startswith("  ")


def test_an_enter_in_the_same_read_as_a_paste_is_lost(demo: Demo) -> None:
    """The text stays in the box; a second Enter submits it."""
    demo.start()
    demo.paste("short", keys="Enter")
    demo.until(lambda: demo.screen().draft == "short")
    assert demo.events().count("UserPromptSubmit") == 0

    demo.press("Enter")
    demo.until(lambda: demo.received() == ["short"])


def test_enters_can_be_swallowed_for_a_test(demo: Demo) -> None:
    """With --swallow-enter 1 the first Enter does nothing."""
    demo.start("--swallow-enter", "1")
    demo.submit("twice")
    demo.until(lambda: demo.screen().draft == "twice")
    assert demo.received() == []

    demo.press("Enter")
    demo.until(lambda: demo.received() == ["twice"])


def test_a_backslash_before_enter_makes_a_new_line(demo: Demo) -> None:
    """The prompt is not submitted, and the backslash is gone."""
    demo.start()
    demo.submit("one\\")
    demo.submit("two")

    demo.until(lambda: demo.received() == ["one\ntwo"])


def test_enter_at_a_permission_dialog_approves_the_tool(demo: Demo) -> None:
    """Text typed at a dialog is lost, but the Enter after it lets the tool run."""
    demo.start()
    demo.submit("%ask touch made")
    demo.until_sign(Sign.DIALOG)
    demo.until(lambda: demo.status().get("waitingFor") == "permission prompt")
    assert not (demo.folder / "made").exists()

    demo.submit("a message that was never meant as an answer")

    demo.until((demo.folder / "made").exists)
    demo.settled()
    assert demo.received() == ["%ask touch made"]


def test_escape_at_a_permission_dialog_declines_the_tool(demo: Demo) -> None:
    """The turn is over without a Stop, and the tool never ran."""
    demo.start()
    demo.submit("%ask touch made")
    demo.until_sign(Sign.DIALOG)
    demo.press("Escape")

    demo.settled()
    assert "Interrupted · What should Claude do instead?" in demo.text()
    assert not (demo.folder / "made").exists()
    assert demo.events()[-1] == "PermissionRequest"


def test_escape_in_a_turn_ends_it_without_a_stop_hook(demo: Demo) -> None:
    """Nothing but the screen tells that the turn is over."""
    demo.start()
    demo.prompt("%say begun\n%work 60")
    demo.until_shown("● begun")
    demo.until_sign(Sign.BUSY)
    demo.press("Escape")

    demo.settled()
    assert "Interrupted · What should Claude do instead?" in demo.text()
    assert "Stop" not in demo.events()


def test_escape_before_any_output_puts_the_prompt_back_into_the_box(demo: Demo) -> None:
    demo.start()
    demo.submit("%work 60")
    demo.until_event("UserPromptSubmit")
    demo.until(demo.received)
    demo.press("Escape")

    demo.until(lambda: demo.screen().draft == "%work 60")
    demo.settled()


def test_escape_twice_clears_the_box(demo: Demo) -> None:
    demo.start()
    demo.type("not this")
    demo.until(lambda: demo.screen().draft)
    demo.press("Escape")
    demo.until_shown("Esc again to clear")
    demo.press("Escape")

    demo.until(lambda: demo.screen().draft == "")


def test_a_stashed_draft_comes_back_after_the_next_prompt(demo: Demo) -> None:
    """Ctrl-S puts a half-typed text aside; it returns by itself."""
    demo.start()
    demo.type("my draft")
    demo.press("C-s")
    demo.until_shown("› stashed")
    assert demo.screen().draft == ""
    demo.submit("between")

    demo.until(lambda: demo.screen().draft == "my draft")
    demo.until(lambda: demo.received() == ["between"])


def test_a_prompt_typed_while_busy_rides_on_the_next_tool_result(demo: Demo) -> None:
    """It reaches the model in the same turn; no UserPromptSubmit tells of it."""
    demo.start()
    demo.prompt("%tool while ! [ -f go ]; do sleep 0.02; done\n%say first done")
    demo.until_event("PreToolUse")
    demo.submit("and this")
    demo.until_shown("> and this")
    (demo.folder / "go").touch()

    demo.until_event("Stop")
    demo.settled()
    assert demo.routes() == ["prompt", "queued"]
    assert demo.events().count("UserPromptSubmit") == 1
    assert 'Got it: "and this"' in demo.text()


def test_a_prompt_typed_while_busy_follows_the_turn_when_no_tool_runs(demo: Demo) -> None:
    demo.start()
    demo.submit("%work 0.4")
    demo.until_sign(Sign.BUSY)
    demo.submit("and this")

    demo.until_event("Stop", 2)
    assert demo.received() == ["%work 0.4", "and this"]
    assert demo.events().count("UserPromptSubmit") == 2


def test_escape_with_a_queue_sends_the_queue_at_once(demo: Demo) -> None:
    demo.start()
    demo.prompt("%say begun\n%work 60")
    demo.until_shown("● begun")
    demo.submit("this instead")
    demo.until_shown("> this instead")
    demo.press("Escape")

    demo.until_event("Stop")
    assert demo.received()[1:] == ["this instead"]


def test_an_unknown_command_reaches_no_model(demo: Demo) -> None:
    demo.start()
    demo.submit("/nonsense please")

    demo.until_shown("Unknown command: /nonsense")
    demo.submit("/tmp/x is a path")
    demo.until(lambda: demo.received() == ["/tmp/x is a path"])


def test_a_line_with_a_bang_is_executed_without_asking(demo: Demo) -> None:
    """This is why a message must never begin with one."""
    demo.start()
    demo.submit("!touch made")

    demo.until((demo.folder / "made").exists)
    demo.settled()
    assert demo.events() == ["SessionStart"]


@pytest.mark.parametrize("keys", [("C-c", "C-c"), ("C-d",), ("/exit", "Enter")])
def test_a_person_can_leave(demo: Demo, keys: tuple[str, ...]) -> None:
    """Ctrl-C twice, Ctrl-D at an empty box, or /exit: reported, and no error."""
    demo.start()
    demo.until_event("SessionStart")
    for key in keys:
        demo.press(key)

    assert demo.until_dead() == 0
    assert demo.hooks()[-1]["reason"] == "prompt_input_exit"
    assert demo.status() == {}


def test_ctrl_c_clears_a_draft_before_it_leaves(demo: Demo) -> None:
    demo.start()
    demo.type("not this")
    demo.until(lambda: demo.screen().draft)
    demo.press("C-c")

    demo.until(lambda: demo.screen().draft == "")
    assert not demo.is_dead()


def test_output_scrolls_into_tmux_scrollback(demo: Demo) -> None:
    """Nothing is drawn on an alternate screen: what scrolled away can be read."""
    demo.start()
    demo.submit("%output 500")

    demo.until_shown("● Done.")
    lines = demo.text().split("\n")
    assert [line for line in lines if line.startswith("line ")] == [
        f"line {number}" for number in range(1, 501)
    ]


@pytest.mark.parametrize("size", [(40, 24), (120, 30), (30, 10)])
def test_a_resized_terminal_shows_one_whole_box(demo: Demo, size: tuple[int, int]) -> None:
    demo.start()
    demo.type("a draft that stays where it is")
    demo.until(lambda: demo.screen().draft)
    demo.resize(*size)

    rule = "─" * size[0]
    demo.until(lambda: demo.view().lines.count(rule) == 2)
    assert demo.screen().draft.replace("\n", "") == "a draft that stays where it is"
    assert sum(line.startswith("❯\xa0") for line in demo.view().lines) == 1


def test_keys_pressed_before_the_prompt_are_lost(demo: Demo) -> None:
    """As with Claude Code, an agent that is still starting takes no text."""
    demo.launch("--slow-start", "0.4")
    demo.type("too early")

    demo.until_sign(Sign.PROMPT)
    assert demo.screen().draft == ""


def test_the_first_prompt_can_be_given_on_the_command_line(demo: Demo) -> None:
    demo.launch("from the start")

    demo.until(lambda: demo.received() == ["from the start"])
    demo.until_event("Stop")
    assert demo.events() == ["SessionStart", "UserPromptSubmit", "Stop"]
