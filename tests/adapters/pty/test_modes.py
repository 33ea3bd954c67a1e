"""Known output in, the bytes that undo it out."""

import pytest

from sm.adapters.pty.modes import Modes


def undone(*output: bytes) -> bytes:
    modes = Modes()
    for piece in output:
        modes.feed(piece)
    return modes.undo()


@pytest.mark.parametrize(
    ("output", "undo"),
    [
        (b"plain text, \x1b[31mred\x1b[m", b""),
        (b"\x1b[?1049h", b"\x1b[?1049l"),
        (b"\x1b[?25l", b"\x1b[?25h"),
        (b"\x1b[?2004h text \x1b[?2004l", b""),
        (b"\x1b[?1000;1006h", b"\x1b[?1000l\x1b[?1006l"),
        (b"\x1b[>1u", b"\x1b[<1u"),
        (b"\x1b[>1u\x1b[>5u\x1b[<u", b"\x1b[<1u"),
        (b"\x1b[>4;2m", b"\x1b[>4m"),
        (b"\x1b[>4;2m\x1b[>4m", b""),
        (b"\x1b[?12h\x1b[?9999h", b""),
    ],
)  # fmt: skip
def test_what_was_left_on_is_switched_off(output: bytes, undo: bytes) -> None:
    """And nothing else: to leave a screen that was never entered would move the cursor."""
    assert undone(output) == undo


def test_a_sequence_may_come_in_any_pieces() -> None:
    output = b"text\x1b[?1003;2004hmore\x1b[>4;2m\x1b[>1u"

    for cut in range(len(output)):
        assert undone(output[:cut], output[cut:]) == undone(output)
    assert undone(*(bytes([byte]) for byte in output)) == undone(output)


def test_the_other_screen_is_left_last() -> None:
    """Its keyboard flags are its own: they go while it is shown."""
    assert undone(b"\x1b[?1049h\x1b[?25l\x1b[>1u") == b"\x1b[<1u\x1b[?25h\x1b[?1049l"


def test_what_was_undone_is_not_undone_again() -> None:
    modes = Modes()
    modes.feed(b"\x1b[?25l")
    modes.undo()

    assert modes.undo() == b""
