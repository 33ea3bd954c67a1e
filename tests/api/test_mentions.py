"""Which words of a text name a file, and which only look like it."""

import pytest

from sm.api.mentions import prose, unknown_files

THERE = {"src", "src/app.py", "docs", "docs/guide.md", "/etc", "/etc/hosts", "tests", "client"}


def unknown(text: str, listing: str = "") -> list[str]:
    return unknown_files(text, listing, THERE.__contains__)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("See `src/none.py`.", "src/none.py"),
        ("See `src/none.py:42`.", "src/none.py"),
        ("See `src/none.py:42-50` there.", "src/none.py"),
        ("See `tests/none.py::test_it`.", "tests/none.py"),
        ("See `other/none.py`.", "other/none.py"),
        ("See `/etc/none`.", "/etc/none"),
        ("See `/somewhere/none.log`.", "/somewhere/none.log"),
        ("See `src/none`.", "src/none"),
        ("See `./none`.", "./none"),
        ("See `../../none.md`.", "../../none.md"),
        ("See `~/none/`.", "~/none/"),
        ("See [the guide](docs/none.md#top).", "docs/none.md"),
        ("- src/none.py: the parser", "src/none.py"),
        ("* [ ] fix src/none.py, then go on", "src/none.py"),
        ("1. **src/none.py** — the parser", "src/none.py"),
        ("- Added `src/none.py`", "src/none.py"),
        ("- ./none.py and (src/app.py).", "./none.py"),
        ("Fix `src/add/remove.py`.", "src/add/remove.py"),
        ("- fix src/delete.py", "src/delete.py"),
    ],
)
def test_a_file_that_is_not_there_is_found(text: str, path: str) -> None:
    assert unknown(text) == [path]


@pytest.mark.parametrize(
    "text",
    [
        "See `src/app.py:42`, `docs/guide.md#top`, `/etc/hosts` and `docs`.",
        "On branch `origin/main`, from `feature/login-form`; pull `acme/shop#12`.",
        "`POST /api/v1/users` and `/api/v1/users` answer `application/json`.",
        "Run `/clear` or `/help`; `pytest tests/none.py -k it`; `cat src/none.py | wc`.",
        "`https://example.com/none.html`, `example.com/none.md`, `git@host.org:acme/shop.git`.",
        "`src/**/*.py`, `src/{a,b}.py`, `src/<name>.py`, `$HOME/none.py`, `src/.../none.py`.",
        "`@acme/tools`, `sm.core.none`, `Node.js`, `none.py`, `3.11`, `1/2`, `e.g`, `and/or`.",
        "- talk client/server, and/or use Next.js or 3.11 e.g. with https://example.com/none.md",
        "- Deleted `src/none.py`; src/none2.py is gone",
        "- `src/none.py` was renamed to `src/app.py`",
        "1. Write `tests/test_none.py`, or add tests/test_other.py",
        "- `docs/none.md` does not exist yet; `docs/two.md` is not there.",
        "- `docs/none.md` doesn't exist",
        "`docs/none.md` is half of it.\n\n1. Create `docs/none.md`.",
        "```sh\npython src/none.py\n- src/none.py\n```",
        "~~~\n`src/none.py`\n",
        "`HEAD:src/none.py` and `host:/srv/none.log`",
        '`{"a": "b/c.json"}` and `x = a/b.py`',
    ],
)
def test_what_only_looks_like_a_missing_file_is_left_alone(text: str) -> None:
    assert unknown(text) == []


def test_a_bare_name_is_a_file_where_files_are_listed() -> None:
    """Elsewhere it is short for a file that a reader knows how to find."""
    text = "It is in `none.py`."

    assert unknown(text) == []
    assert unknown(text, text) == ["none.py"]


def test_a_short_name_stands_for_a_path_that_is_given() -> None:
    text = "- `src/app.py`\n- `app.py` again\n- `docs/guide.md`, guide.md"

    assert unknown(text, text) == []


def test_a_bare_name_may_stand_for_a_file_beside_one_whose_path_is_given() -> None:
    text = "- `src/other/../app.py`, deleted\n- `src/one.py`\n- app.py"

    assert unknown(text, text) == ["src/one.py"]


def test_each_is_told_once() -> None:
    assert unknown("`src/none.py`\n- src/none.py\n`src/two.py`") == ["src/none.py", "src/two.py"]


def test_prose_keeps_its_lines() -> None:
    text = "one\n```\ncode\n```\nfive"

    assert prose(text).split("\n") == ["one", "", "", "", "five"]
