"""Cutting tmux's stream into answers."""

from sm.adapters.tmux.blocks import Block, BlockReader, Notice

ANSWER = b"%begin 7 41 1\none\n\n%end 7 41 1\n"


def read(data: bytes) -> list[Block | Notice]:
    return list(BlockReader().feed(data))


def test_an_answer_is_the_lines_between_its_guards() -> None:
    assert read(ANSWER) == [Block(lines=("one", ""), failed=False)]


def test_an_error_is_a_failed_answer() -> None:
    assert read(b"%begin 7 41 1\nno such thing\n%error 7 41 1\n") == [
        Block(lines=("no such thing",), failed=True)
    ]


def test_a_screen_that_shows_a_guard_does_not_end_the_answer() -> None:
    """An agent that works on tmux may well print %end."""
    data = b"%begin 7 41 1\n%end 7 40 1\n%begin 9 9 1\n%exit\n%end 7 41 1\n"

    assert read(data) == [Block(lines=("%end 7 40 1", "%begin 9 9 1", "%exit"), failed=False)]


def test_answers_to_commands_of_others_are_left_out() -> None:
    assert read(b"%begin 7 40 0\n%end 7 40 0\n" + ANSWER) == read(ANSWER)


def test_a_line_outside_of_answers_is_a_notice() -> None:
    assert read(b"%sessions-changed\n" + ANSWER) == [
        Notice(line="%sessions-changed"),
        *read(ANSWER),
    ]


def test_the_stream_may_be_cut_anywhere() -> None:
    data = "%begin 7 41 1\n日本\n%end 7 41 1\n".encode()
    reader = BlockReader()

    found = [item for byte in data for item in reader.feed(bytes([byte]))]

    assert found == [Block(lines=("日本",), failed=False)]
