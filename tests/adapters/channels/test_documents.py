"""A handoff's document."""

from pathlib import Path

import pytest

from sm.adapters.channels.documents import read_named
from sm.core.ids import HandoffId
from sm.core.passage import DocumentError

NAME = HandoffId("HO-20260202-064530-c74cc080")


def test_a_document_that_says_its_name_is_read(tmp_path: Path) -> None:
    """Windows line ends and a byte order mark do not matter."""
    file = tmp_path / "d.md"
    content = f"\ufeff<!-- HANDOFF-ID: {NAME} -->\r\nwork\r\n".encode()
    file.write_bytes(content)

    assert read_named(str(file), NAME) == content


@pytest.mark.parametrize(
    ("first", "says"),
    [
        ("<!-- HANDOFF-ID: HO-9 -->", "says it is HO-9"),
        ("# Work", "does not say which handoff it is"),
    ],
)
def test_another_ones_document_is_refused(tmp_path: Path, first: str, says: str) -> None:
    file = tmp_path / "d.md"
    file.write_text(f"{first}\n<!-- HANDOFF-ID: {NAME} -->\n")

    with pytest.raises(DocumentError) as refused:
        read_named(str(file), NAME)

    assert str(refused.value) == (
        f"{str(file)!r} {says}. Its first line must be <!-- HANDOFF-ID: {NAME} -->"
    )


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    """A folder, or nothing; never waited for."""
    with pytest.raises(DocumentError, match="is a folder"):
        read_named(str(tmp_path), NAME)
    with pytest.raises(DocumentError, match="There is no file"):
        read_named(str(tmp_path / "d.md"), NAME)
