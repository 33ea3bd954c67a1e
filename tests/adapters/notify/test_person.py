"""The person told on every way there is, though some of them fail."""

import asyncio
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sm.adapters.notify.book import NoticeBook
from sm.adapters.notify.person import Person
from sm.core.ids import NoticeId, SessionId
from sm.core.notices import PersonNotice

pytestmark = pytest.mark.anyio


@dataclass
class Desk:
    """Terminals that somebody looks at, and a command of theirs."""

    folder: Path
    clients: int = 1
    command: str = ""
    shown: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def warning(self, event: str, **keys: object) -> None:
        self.warnings.append(f"{event}: {keys['why']}")

    async def show(self, words: str) -> int:
        self.shown.append(words)
        return self.clients

    @property
    def person(self) -> Person:
        """As each daemon makes it."""
        return Person(
            NoticeBook(self.folder / "notices.json"),
            show=self.show,
            command=self.command,
            redact=lambda text: text.replace("sk-secret", "[redacted:key]"),
            log=self,
        )

    async def tell(self, words: str, number: int = 1) -> str:
        return await self.person.tell(
            PersonNotice(id=NoticeId(f"n{number}"), session=SessionId("ada"), words=words, at=1.0)
        )


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def test_it_is_listed_shown_and_given_to_the_command(desk: Desk) -> None:
    """Each way is told; the second time nobody is bothered."""
    desk.clients, desk.command = 2, f"sh -c 'cat > {desk.folder}/told' sh"

    done = await desk.tell("ada crashed")

    assert done == "listed, shown on 2 terminals, given to notify.command"
    assert (desk.folder / "told").read_text() == "ada crashed\n"
    assert await desk.tell("ada crashed") == "was told before"
    assert desk.shown == ["ada crashed"]


async def test_a_blank_command_is_none(desk: Desk) -> None:
    """The text would be taken for the program, and that is what agents say."""
    desk.command = " \t"

    assert await desk.tell("true") == "listed, shown on 1 terminal"


async def test_no_secret_no_control_and_no_novel_is_told(desk: Desk) -> None:
    """It is shown on terminals and kept."""
    await desk.tell("key sk-secret\n\x1b[31m" + "x" * 1000)

    [notice] = await desk.person.all()
    assert desk.shown == [notice.words]
    assert notice.words.startswith("key [redacted:key] [31mxxx")
    assert len(notice.words) == 400


async def test_what_fails_keeps_nothing_else_from_being_tried(desk: Desk) -> None:
    """A list that cannot be written, nobody at a terminal, a command that fails."""
    (desk.folder / "notices.json").mkdir()
    desk.clients, desk.command = 0, "false"

    done = await desk.tell("ada crashed")

    assert done == "could not be listed, notify.command failed: it ended with exit code 1"
    assert [line.partition(":")[0] for line in desk.warnings] == [
        "A notice could not be listed",
        "The command of notify.command failed",
        "A notice could not be listed",
    ]


async def test_seen_and_cleared(desk: Desk) -> None:
    await desk.tell("one", 1)
    await desk.tell("two", 2)
    person = desk.person
    await person.see({"n1"})
    assert [(n.words, n.seen) for n in await person.all()] == [("one", True), ("two", False)]

    assert await person.clear() == 2
    assert await desk.person.all() == []


async def test_a_list_that_is_slow_to_read_holds_nobody_up(desk: Desk) -> None:
    """The list is behind a lock that a slow disk may hold; everybody else has other work."""
    path, goes_on = desk.folder / "notices.json", threading.Event()
    os.mkfifo(path)

    def write() -> bool:
        is_free = goes_on.wait(5)
        path.write_bytes(b"[]")
        return is_free

    async def go_on() -> None:
        goes_on.set()

    is_free, *_ = await asyncio.gather(asyncio.to_thread(write), desk.person.all(), go_on())

    assert is_free
