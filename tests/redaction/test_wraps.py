"""Secrets that a terminal program has cut at the edge of its window."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sm.redaction.redactor import Redactor
from sm.redaction.wraps import NARROWEST, crosses, joined

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
BEFORE = "The command printed this, among much else: "
AROUND = "Nothing of it is secret, though the line is as wide as the others are\n"


def shown(text: str, width: int, indent: str = "  ") -> str:
    """As a program draws it that cuts what does not fit."""
    return f"\n{indent}".join(text[at : at + width] for at in range(0, len(text), width))


@pytest.mark.parametrize("width", range(len(BEFORE) + 1, len(BEFORE) + len(TOKEN)))
@pytest.mark.parametrize("indent", ["", "  ", "     "])
def test_a_secret_that_was_cut_is_taken_out_whole(width: int, indent: str) -> None:
    text = shown(f"{BEFORE}{TOKEN} and went on", width, indent)

    came = Redactor().redact_shown(f"{AROUND}{text}\n{AROUND}")

    assert came.startswith(f"{AROUND}{BEFORE}[redacted:github-token]")
    assert came.endswith(AROUND)
    assert "c3D4" not in came


def test_a_secret_over_three_lines_is_found() -> None:
    payload, signature = "eyJzdWIiOiIxMjM0NTY3ODkwIn0" * 4, "dozjgNryP4J3jVmN" * 4
    token = f"eyJhbGciOiJIUzI1NiJ9.{payload}.{signature}"
    came = Redactor().redact_shown(shown(f"{BEFORE}{token}", 80))

    assert came == f"{BEFORE}[redacted:jwt]"


def test_a_secret_is_known_by_what_stands_on_the_line_before_it() -> None:
    url = "https://prod-12.westus.logic.azure.com:443/workflows/1f6624ca33dff89078219c3abd8909a7"
    query = "/triggers/manual/paths/invoke?api-version=2016-06-01&sp=%2Ftriggers%2Fmanual%2Frun"
    sign = "W1C6J_dUd7qj5A3e2HDVOr8RBRQPJveNJZGMAvGKnGH"

    came = Redactor().redact_shown(f"{url}{query}&\n  sv=1.0&sig={sign} (401)")

    assert sign[:6] not in came
    assert came.endswith(" (401)")


def test_lines_that_are_short_are_the_texts_own() -> None:
    """A list of names is not run together."""
    lines = "\n".join(["ghp_", "a1B2c3D4e5F6" * 3])
    assert joined(lines.encode()) is None
    assert Redactor().redact_shown(lines) == lines


@given(st.text(alphabet="ab =\n\t é", max_size=300))
def test_what_holds_no_secret_stays_as_it_is(text: str) -> None:
    assert Redactor().redact_shown(text) == text


@given(st.lists(st.text(alphabet="abc", min_size=NARROWEST, max_size=60), min_size=2, max_size=5))
def test_a_find_that_reaches_across_a_line_is_known_by_its_places(lines: list[str]) -> None:
    text = "\n  ".join(lines).encode()
    piece = joined(text)

    assert piece is not None
    assert piece.text == "".join(lines).encode()
    assert crosses(piece, 0, len(piece.text))
    assert not crosses(piece, 0, len(lines[0]))
    assert text[piece.place(len(lines[0]) - 1)] == ord(lines[0][-1])
