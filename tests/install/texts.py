"""Settings as people write them: every style, with comments and trailing commas."""

import json

from hypothesis import strategies as st

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)
_GAPS = ("", " ", "\n", "\n  ", "\n\t", "\r\n    ", " \t")
_COMMENTS = ("/* c{}c */", "// c{}c \n", "//c{}c\r\n", "/*c{}c\n*/")


@st.composite
def trivia(draw: st.DrawFn) -> str:
    """Space, now and then with a comment in it."""
    before = draw(st.sampled_from(_GAPS))
    if draw(st.integers(0, 4)):
        return before
    comment = draw(st.sampled_from(_COMMENTS)).format(draw(st.integers(0, 10**6)))
    return before + comment + draw(st.sampled_from(_GAPS))


@st.composite
def written(draw: st.DrawFn, value: object) -> str:
    """A value in some style."""
    if not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=draw(st.booleans()))
    items = []
    for entry in value.items() if isinstance(value, dict) else value:
        item = draw(trivia())
        if isinstance(value, dict):
            key, entry = entry
            item += json.dumps(key) + draw(trivia()) + ":" + draw(trivia())
        items.append(item + draw(written(entry)) + draw(trivia()))
    begin, end = "{}" if isinstance(value, dict) else "[]"
    trailing = draw(st.sampled_from(["", ","])) if items else ""
    return begin + ",".join(items) + trailing + draw(trivia()) + end


OBJECTS: st.SearchStrategy[object] = st.dictionaries(st.text(max_size=4), VALUES, max_size=4)


@st.composite
def documents(draw: st.DrawFn, values: st.SearchStrategy[object] = OBJECTS) -> str:
    """A whole file that holds an object."""
    value = draw(values)
    bom = draw(st.sampled_from(("", "\ufeff")))
    return bom + draw(trivia()) + draw(written(value)) + draw(trivia())
