"""What reaches an agent's terminal: every byte, once."""

import asyncio

import pytest

from sm.adapters.tmux.server import TmuxTerminal
from sm.core.ids import PaneId

from .rig import Rig, until, until_true

TEXTS = {
    "trailing semicolon": "done;",
    "lone semicolon": ";",
    "quotes": 'it\'s "quoted" `so`',
    "shell": "$(x) ${HOME} ~ && | > #{pid} %H",
    "backslashes": "\\ \\\\ \\n \\;",
    "emoji": "🦉👩‍👩‍👧 é",
    "cjk": "日本語 中文 한국어",
    "looks like a key": "Enter",
    "looks like a flag": "-w",
    "a list": "- one\n- two",
    "500 lines": "\n".join(f"line {n}" for n in range(500)),
    "100 KB": "0123456789abcde;" * 6400,
}


async def received(rig: Rig, size: int) -> bytes:
    await until_true(lambda: rig.received.stat().st_size >= size)
    return rig.received.read_bytes()


async def settled(rig: Rig, terminal: TmuxTerminal, pane: PaneId) -> bytes:
    """All that was received before a last key that can be told from the rest."""
    await terminal.press(pane, "C-g", option="@sm_entered", mark="settled")
    await until_true(lambda: rig.received.read_bytes().endswith(b"\x07"))
    return rig.received.read_bytes().removesuffix(b"\x07")


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
async def test_a_paste_arrives_byte_for_byte_in_its_bracket(
    rig: Rig, terminal: TmuxTerminal, text: str
) -> None:
    pane = await rig.start_raw_program(terminal)
    expected = b"\x1b[200~" + text.encode() + b"\x1b[201~"

    await terminal.paste(pane.id, "a1b2c3d4e5f6.1", text)

    assert await received(rig, len(expected)) == expected


async def test_a_program_that_did_not_ask_for_brackets_gets_none(
    rig: Rig, terminal: TmuxTerminal
) -> None:
    pane = await rig.start_raw_program(terminal, "READY")

    await terminal.paste(pane.id, "a.1", "plain\ntext")

    assert await received(rig, 10) == b"plain\ntext"


async def test_a_paste_repeated_with_its_mark_is_pasted_once(
    rig: Rig, terminal: TmuxTerminal
) -> None:
    """A daemon that died in between cannot know, so it asks again; tmux remembers."""
    pane = await rig.start_raw_program(terminal, "READY")

    await terminal.paste(pane.id, "a.1", "one")
    await terminal.paste(pane.id, "a.1", "one")
    await terminal.paste(pane.id, "a.2", "two")

    assert await settled(rig, terminal, pane.id) == b"onetwo"
    view = await terminal.look(pane.id)
    assert view is not None
    assert view.pasted == "a.2"


async def test_two_pastes_at_once_with_one_mark_are_one(rig: Rig, terminal: TmuxTerminal) -> None:
    pane = await rig.start_raw_program(terminal, "READY")

    await asyncio.gather(
        *(terminal.paste(pane.id, "a.1", "one") for _ in range(3)), return_exceptions=True
    )

    assert await settled(rig, terminal, pane.id) == b"one"


async def test_no_text_stays_behind_in_the_paste_buffers(rig: Rig, terminal: TmuxTerminal) -> None:
    pane = await rig.start_raw_program(terminal, "READY")

    await terminal.paste(pane.id, "a.1", "one")
    await terminal.paste(pane.id, "a.1", "one")
    await terminal.paste(PaneId("%999"), "a.1", "one")

    assert rig.tmux("list-buffers") == ""


async def test_a_paste_into_a_dead_pane_is_not_done(rig: Rig, terminal: TmuxTerminal) -> None:
    """tmux 3.3a itself would crash, and take every agent with it."""
    pane = await terminal.launch(rig.launch("true", "x"))
    server = terminal.server

    async def dead() -> bool:
        view = await terminal.look(pane.id)
        return view is not None and view.dead

    await until(dead)
    await terminal.paste(pane.id, "a.1", "text")
    await terminal.press(pane.id, "Enter", option="@sm_entered", mark="a.1")

    view = await terminal.look(pane.id)
    assert view is not None
    assert (view.pasted, view.entered) == ("", "")
    assert terminal.server == server


async def test_a_strangers_pane_gets_neither_text_nor_keys(
    rig: Rig, terminal: TmuxTerminal
) -> None:
    """After a restart of tmux an old pane id may be anybody's."""
    other = await rig.terminal("home2")
    pane = await rig.start_raw_program(other, "READY")

    await terminal.paste(pane.id, "a.1", "text")
    await terminal.press(pane.id, "Enter", option="@sm_entered", mark="a.1")
    await terminal.leave_mode(pane.id)

    assert await settled(rig, other, pane.id) == b""


@pytest.mark.parametrize(
    ("key", "option", "byte"),
    [("Enter", "@sm_entered", b"\r"), ("Escape", "@sm_interrupted", b"\x1b")],
)
async def test_a_key_and_its_mark_come_together(
    rig: Rig, terminal: TmuxTerminal, key: str, option: str, byte: bytes
) -> None:
    pane = await rig.start_raw_program(terminal)

    await terminal.press(pane.id, key, option=option, mark="a1b2c3d4e5f6.1")

    assert await received(rig, 1) == byte
    view = await terminal.look(pane.id)
    assert view is not None
    assert {"@sm_entered": view.entered, "@sm_interrupted": view.interrupted}[option] == (
        "a1b2c3d4e5f6.1"
    )


async def test_a_key_repeated_with_its_mark_is_pressed_once(
    rig: Rig, terminal: TmuxTerminal
) -> None:
    pane = await rig.start_raw_program(terminal)

    await terminal.press(pane.id, "Enter", option="@sm_entered", mark="a.1")
    await terminal.press(pane.id, "Enter", option="@sm_entered", mark="a.1")

    assert await settled(rig, terminal, pane.id) == b"\r"


async def test_a_mark_that_could_be_read_as_a_format_is_refused(terminal: TmuxTerminal) -> None:
    with pytest.raises(ValueError, match="not a plain word"):
        await terminal.paste(PaneId("%1"), "#{pid}", "text")
