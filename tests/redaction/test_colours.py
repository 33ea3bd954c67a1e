"""Secrets among the colours of a terminal."""

import json
import sys

import pytest

from sm.redaction import colours
from sm.redaction.redactor import Redactor

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
ROLLED = "9fKd02LmQx71VbTz84Rw"
REDACTOR = Redactor()


@pytest.mark.parametrize("escape", ["\x1b", r"\x1b", r"\u001b", r"\033", r"\e", "^["])
@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"a.yml:1: €[01;31m€[K{TOKEN}€[m€[K end", "a.yml:1: €[01;31m€[K*€[m€[K end"),
        (f"€[36mAPI_KEY€[0m=€[33m{ROLLED}€[0m", "€[36mAPI_KEY€[0m=€[33m*€[0m"),
        (
            f'€[34;1m"api_key"€[0m€[1;39m:€[0m €[0;32m"{ROLLED}"€[0m',
            '€[34;1m"api_key"€[0m€[1;39m:€[0m €[0;32m"*"€[0m',
        ),
        (f"API_€[31mKEY€[m={ROLLED}", "API_€[31mKEY€[m=*"),
        (f"sk-€[31mant€[m-api03-{ROLLED}{ROLLED}", "*"),
    ],
)
def test_colours_hide_nothing(escape: str, text: str, kept: str) -> None:
    """Between a name and its value, before a token, and within it; the colours themselves stay."""
    output = REDACTOR.redact(text.replace("€", escape))

    assert ROLLED not in output
    assert TOKEN not in output
    assert _starred(output) == kept.replace("€", escape)


def test_json_with_colours_stays_json() -> None:
    text = json.dumps({"out": f"\x1b[1mpassword\x1b[0m: \x1b[2m{ROLLED}\x1b[0m", "n": 1})

    read = json.loads(REDACTOR.redact(text))

    assert _starred(read["out"]) == "\x1b[1mpassword\x1b[0m: \x1b[2m*\x1b[0m"
    assert read["n"] == 1


def test_a_piece_knows_where_it_came_from() -> None:
    text = b"-" * 5000 + b"a\x1b[31mb\x1b[mc" + b"+" * 5000

    (piece,) = colours.pieces(text)

    assert b"-abc+" in piece.text
    places = [piece.place(piece.text.index(letter)) for letter in (b"a", b"b", b"c")]
    assert places == [text.index(letter) for letter in (b"a", b"b\x1b", b"c")]
    assert len(piece.text) < 2000


def test_blanks_take_as_much_room() -> None:
    assert colours.blanked(b"a\x1b[31mb\\u001b[0mc") == b"a     b         c"


def test_far_from_each_other_they_are_pieces_apart() -> None:
    text = b"\x1b[31m" + b"-" * 9000 + b"\x1b[m"

    assert [piece.begin for piece in colours.pieces(text)] == [0, 8749]


def test_what_only_looks_a_little_like_a_colour_does_no_harm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without RE2, only pieces of a sequence are looked for."""
    monkeypatch.setitem(sys.modules, "re2", None)

    assert Redactor().redact(f"row33[0] API_KEY={ROLLED}") == ("row33[0] API_KEY=[redacted:secret]")


def _starred(text: str) -> str:
    before, _, rest = text.partition("[redacted:")
    return f"{before}*{rest.partition(']')[2]}"
