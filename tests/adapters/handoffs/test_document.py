"""Whatever an agent names as its handoff document: read, or refused in words that help."""

import os
import re
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sm.adapters.handoffs.document import read_document
from sm.core.passage import DocumentError

LIMIT = 1_000_000


def refusal(source: Path, limit: int = LIMIT) -> str:
    with pytest.raises(DocumentError) as refused:
        read_document(source, limit)
    return str(refused.value).replace(str(source), "IT")


def written(folder: Path, content: bytes) -> Path:
    path = folder / "handoff.md"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("text", ["# Goal\n", "ü ❯ 日本", "\ufeffwith a mark", "x" * LIMIT])
def test_a_text_is_read_as_it_is(tmp_path: Path, text: str) -> None:
    source = written(tmp_path, text.encode())

    assert read_document(source, 4 * LIMIT) == text.encode()


def test_a_link_leads_to_the_document(tmp_path: Path) -> None:
    link = tmp_path / "link.md"
    link.symlink_to(written(tmp_path, b"text"))

    assert read_document(link, LIMIT) == b"text"


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.md") == (
        "There is no file IT. Write the handoff document first, then name it."
    )


def test_a_folder_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path) == "IT is a folder. Name the handoff document in it."


def test_a_pipe_nobody_writes_to_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    assert refusal(tmp_path / "pipe") == ("IT is not a regular file. Write the document to a file.")


def test_devices_and_sockets_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")

        assert "not a regular file" in refusal(Path("socket"))
    assert "not a regular file" in refusal(Path("/dev/zero"))
    assert "not a regular file" in refusal(Path("/dev/tty"))


@pytest.fixture
def plain_user() -> Iterator[None]:
    """Root may read everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_file_that_may_not_be_read_is_refused(plain_user: None) -> None:
    with tempfile.TemporaryDirectory(prefix="sm ") as folder:
        source = written(Path(folder), b"text")
        source.chmod(0)

        assert refusal(source) == "IT may not be read. Run: chmod u+r 'IT'"


@pytest.mark.parametrize("content", [b"", b" \n\t\r\n", "\ufeff\n \u00a0".encode()])
def test_an_empty_document_is_refused(tmp_path: Path, content: bytes) -> None:
    assert refusal(written(tmp_path, content)) == (
        "IT is empty. Write down what your successor needs; sm handoff --template shows an outline."
    )


def test_a_document_over_the_limit_is_refused(tmp_path: Path) -> None:
    """And not read to its end: it may be a log of gigabytes."""
    source = written(tmp_path, b"x" * 1_000_001)
    os.truncate(source, 1 << 40)

    assert refusal(source) == (
        "IT is larger than 1 MB. Shorten it: name the files that hold the details in place of "
        "repeating them."
    )
    assert "larger than 2.5 KB." in refusal(source, 2500)
    assert "larger than 25 bytes." in refusal(source, 25)


@pytest.mark.parametrize("content", [b"\x7fELF\0\0", b"text\0"])
def test_a_program_is_refused(tmp_path: Path, content: bytes) -> None:
    assert refusal(written(tmp_path, content)) == (
        "IT is not a text. Write the handoff document as UTF-8 text."
    )


def test_a_text_in_another_encoding_is_refused(tmp_path: Path) -> None:
    assert refusal(written(tmp_path, "müde".encode("latin-1"))) == (
        "IT is not UTF-8 text. Save it as UTF-8."
    )


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "file/below"])
def test_a_name_that_cannot_be_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()

    assert re.search(r"cannot be read: .+\. Name another file\.$", refusal(tmp_path / name))


def test_a_refusal_stands_on_one_line_and_can_be_sent(tmp_path: Path) -> None:
    """A file's name may be anything."""
    words = refusal(Path(os.fsdecode(b"/none/a\nb\xff\x1b[31m")))

    assert words.isprintable()
    assert words.encode()
