"""One line in a TOML file, and nothing else."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sm.install.tables import TableError, quoted, with_entry, without_entry

NEW = '"/a" = "api"\n'


def _with(text: str) -> str:
    return with_entry(text, "channels", "/a", "api")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f"[channels]\n{NEW}"),
        ("# mine\n", f"# mine\n\n[channels]\n{NEW}"),
        ("[tmux]\nsocket = 'x'", f"[tmux]\nsocket = 'x'\n\n[channels]\n{NEW}"),
        ("[channels]\n", f"[channels]\n{NEW}"),
        ("[channels]", f"[channels]\n{NEW}"),
        ("[ channels ]  # why\n", f"[ channels ]  # why\n{NEW}"),
        ('["channels"]\n', f'["channels"]\n{NEW}'),
        (
            '[channels]\n"/b" = "b"   # b\n\n# about tmux\n[tmux]\n',
            f'[channels]\n"/b" = "b"   # b\n{NEW}\n# about tmux\n[tmux]\n',
        ),
        ("[channels]\r\n[tmux]\r\n", '[channels]\r\n"/a" = "api"\r\n[tmux]\r\n'),
        ('x = """\n[channels]\n"""\n', f'x = """\n[channels]\n"""\n\n[channels]\n{NEW}'),
        (
            'x = """\n[channels]\n"""\n[channels]\n\t"/b" = "b"',
            f'x = """\n[channels]\n"""\n[channels]\n\t"/b" = "b"\n{NEW}',
        ),
        ('channels."/b" = "b"\n', None),
        ('channels = {"/b" = "b"}\n', None),
    ],
)
def test_an_entry_is_put_where_it_belongs(before: str, after: str | None) -> None:
    """Behind the others of its table; a text that only looks like the table is none."""
    if after is None:
        with pytest.raises(TableError):
            _with(before)
    else:
        assert _with(before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('[channels]\n"/a" = "api"\n', "[channels]\n"),
        ("# x\n[channels]\n'/a'   =   'api' # y\n# z", "# x\n[channels]\n# z"),
        ('x = """\n"/a" = "api"\n"""\n[channels]\n"/a" = "api"\n',
         'x = """\n"/a" = "api"\n"""\n[channels]\n'),
        ('[channels]\n"/b" = "api"\r\n"/a" = "api"\r\n', '[channels]\n"/b" = "api"\r\n'),
    ],
)  # fmt: skip
def test_an_entry_is_taken_out_with_its_line(before: str, after: str) -> None:
    """Everything else stays, also what looks the same elsewhere."""
    assert without_entry(before, "channels", "/a") == after


@pytest.mark.parametrize(
    "text", ['channels = {"/a" = "api", "/b" = "b"}', '[channels]\n"/a" = """\napi"""\n']
)
def test_what_is_not_a_line_is_left_to_its_author(text: str) -> None:
    with pytest.raises(TableError):
        without_entry(text, "channels", "/a")


@given(st.text())
def test_any_text_can_be_written(text: str) -> None:
    """And is read as it was."""
    assert tomllib.loads(f"x = {quoted(text)}") == {"x": text}


_COMMENTS = st.sampled_from(["", "# a = b\n", "# [channels]\n", "\n", "  \n"])
_PARTS = st.lists(
    st.tuples(_COMMENTS, st.sampled_from(["[tmux]\nsocket='a'\n", "[daemon]\n", "[channels]\n"])),
    max_size=3,
    unique_by=lambda part: part[1],
)


@given(parts=_PARTS, top=_COMMENTS, end=_COMMENTS, key=st.text(min_size=1))
def test_what_was_put_in_and_taken_out_leaves_the_rest_as_it_was(
    parts: list[tuple[str, str]], top: str, end: str, key: str
) -> None:
    """Byte for byte, if the table was there; else but for its empty header."""
    text = top + "".join(comment + part for comment, part in parts) + end
    put_in = with_entry(text, "channels", key, "api")
    back = without_entry(put_in, "channels", key)

    assert tomllib.loads(put_in)["channels"] == {key: "api"}
    assert back == text or (
        "\n[channels]\n" not in f"\n{text}"
        and back.removesuffix("[channels]\n").strip() == text.strip()
    )
