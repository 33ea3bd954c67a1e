"""JSON with comments: read like JSON, edited without touching anything else."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sm.install.jsonc import DEEPEST, Document, JsoncError
from tests.install.texts import VALUES, documents


def _plain(text: str) -> object:
    return Document(text).root.value()


@settings(deadline=None)
@given(VALUES)
def test_json_is_read_as_python_reads_it(value: object) -> None:
    """Any value, spread out or not."""
    for indent in (None, 2, "\t"):
        assert _plain(json.dumps(value, indent=indent)) == value
        assert _plain(json.dumps(value, indent=indent, ensure_ascii=False)) == value


@settings(deadline=None)
@given(st.text('{}[]":10-.eE \n\\utrefalsn', max_size=12))
def test_what_is_taken_is_what_python_takes(text: str) -> None:
    """But for comments and trailing commas, which these texts cannot have."""
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(JsoncError):
            Document(text)
    else:
        assert _plain(text) == expected


def test_comments_trailing_commas_and_a_byte_order_mark_are_read_over() -> None:
    """As people write settings by hand."""
    text = '\ufeff// first\n{ /* a */ "a" /* b */ : [1, // one\n 2,], "b": "/* no // comment",\n}//'

    assert _plain(text) == {"a": [1, 2], "b": "/* no // comment"}


@pytest.mark.parametrize(
    ("text", "words", "line", "column"),
    [
        ("", "it ends too early", 1, 1),
        ("{", "it ends too early", 1, 2),
        ('{"a": 1,\n "b" 2}', "a colon is missing", 2, 6),
        ('{"a": 1\r\n  "b": 2}', "a comma or } is missing", 2, 3),
        ("[1 2]", "a comma or ] is missing", 1, 4),
        ("{a: 1}", "a name is missing", 1, 2),
        ('{"a": }', "a value is missing", 1, 7),
        ("[,]", "a value is missing", 1, 2),
        ("{} x", "there is something behind the end", 1, 4),
        ("{ /* open", "a comment is not closed", 1, 3),
        ('{"a": "x\ny"}', "a value is missing", 1, 7),
        ('\ufeff{"a": NaN}', "a value is missing", 1, 7),
        ("[" * (DEEPEST + 2), "it is nested too deeply", 1, DEEPEST + 2),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str, words: str, line: int, column: int) -> None:
    """Line and column as an editor counts them."""
    with pytest.raises(JsoncError) as caught:
        Document(text)

    assert (caught.value.words, caught.value.line, caught.value.column) == (words, line, column)


def test_of_two_members_with_one_name_the_last_counts() -> None:
    """As it does for those who read the file."""
    root = Document('{"a": 1, "a": 2}').root
    found = root.last("a")

    assert found is not None
    assert found.node.value() == 2
    assert root.last("b") is None


def test_a_number_of_many_digits_is_let_through() -> None:
    """Python would refuse to convert it."""
    assert _plain("9" * 10_000) == "9" * 10_000


@settings(deadline=None)
@given(documents())
def test_an_added_item_is_there_and_everything_else_stays(text: str) -> None:
    """In any text; taking it out again gives the text back."""
    document = Document(text)
    before = document.root.value()
    assert isinstance(before, dict)
    added = Document(document.with_item(document.root, "new key", {"x": [1, {}]}))
    item = added.root.last("new key")

    assert item is not None
    assert added.root.value() == {**before, "new key": {"x": [1, {}]}}
    if document.root.items:
        assert added.without_item(added.root, item) == text


@settings(deadline=None)
@given(documents(), st.data())
def test_a_removed_item_is_gone_and_everything_else_stays(text: str, data: st.DataObject) -> None:
    """First, last or in between; the comments stay too."""
    document = Document(text)
    items = document.root.items
    if not items:
        return
    item = data.draw(st.sampled_from(items))
    left = Document(document.without_item(document.root, item))

    assert [i.key for i in left.root.items] == [i.key for i in items if i is not item]
    assert [i.node.value() for i in left.root.items] == [
        i.node.value() for i in items if i is not item
    ]
    inside = text[item.start : item.node.end]
    assert _comments(text) - _comments(inside) <= _comments(left.text)


def _comments(text: str) -> set[str]:
    return set(re.findall(r"c\d+c", text))


@settings(deadline=None)
@given(documents(), st.data())
def test_a_changed_value_changes_nothing_else(text: str, data: st.DataObject) -> None:
    """The text before and behind it is the same."""
    document = Document(text)
    if not document.root.items:
        return
    node = data.draw(st.sampled_from(document.root.items)).node
    changed = document.with_value(node, "new")

    assert changed == text[: node.start] + '"new"' + text[node.end :]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{\n  "k": [\n    1\n  ]\n}'),
        ('{"a":1}', '{"a":1,"k":[1]}'),
        ('{"a": 1}', '{"a": 1, "k": [1]}'),
        ('{ "a": 1 }', '{ "a": 1, "k": [1] }'),
        ('{\n\t"a": 1\n}\n', '{\n\t"a": 1,\n\t"k": [\n\t\t1\n\t]\n}\n'),
        ('{\r\n    "a": 1\r\n}', '{\r\n    "a": 1,\r\n    "k": [\r\n        1\r\n    ]\r\n}'),
        ('{\n "a": 1, // one\n}', '{\n "a": 1, // one\n "k": [\n  1\n ],\n}'),
        ('{\n "a": 1 // one \n}', '{\n "a": 1, // one \n "k": [\n  1\n ]\n}'),
        ('{"a": 1 // one\n}', '{"a": 1, // one\n  "k": [\n    1\n  ]\n}'),
    ],
)
def test_an_added_item_follows_the_style_it_finds(before: str, after: str) -> None:
    """Indentation, line ends, trailing commas, one line or many."""
    document = Document(before)

    assert document.with_item(document.root, "k", [1]) == after


def test_what_follows_a_line_comment_does_not_become_part_of_it() -> None:
    """When the item between them goes."""
    document = Document("[ // about one\n 1, 2]")
    left = document.without_item(document.root, document.root.items[0])

    assert left == "[ // about one\n 2]"


@pytest.mark.parametrize(
    ("text", "line"),
    [("{}", None), ('{"a": "//"}', None), ("{\n//\n}", 2), ('{"a":\n[1,\n[2,]]}', 3), ("[1,]", 1)],
)
def test_where_strict_json_ends_is_known(text: str, line: int | None) -> None:
    """The first comment or trailing comma."""
    assert Document(text).line_of_first_extra() == line
