"""What others read of the ledger."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sm.adapters.channels import exports
from sm.adapters.channels.database import Database
from sm.adapters.channels.ledger import Ledger
from sm.core.channel import ChannelError, ChannelHandoff
from sm.core.ids import ContextId
from tests.adapters.channels.samples import ADA, HOUR, NOON, claimant, left


def _manifest(folder: Path, channel: str = "api") -> dict[str, object]:
    told = json.loads((folder / f"{channel}.manifest.json").read_text())
    assert told["channel"] == channel
    current: dict[str, object] = told["current"]
    return current


def test_the_manifest_has_the_founding_form(ledger: Ledger, folder: Path, work: Path) -> None:
    """Who read the files of the scripts before us can go on reading."""
    context = ContextId("c74cc080-94b9-4841-b82f-a62cfb8efdc0")
    made = ledger.create(replace(left(work), context=context))

    told = _manifest(folder)

    assert {key: told[key] for key in list(told)[:7]} == {
        "id": made.id,
        "session_id": context,
        "created_at": "2026-02-02T02:40:00Z",
        "created_by_pid": 4242,
        "working_dir": "/src/api/x",
        "type": "self",
        "status": "active",
    }
    assert (told["session"], told["consumed_by"], told["consumed_at"]) == (ADA, None, None)


def test_the_current_document_is_there_as_long_as_it_waits(
    ledger: Ledger, folder: Path, work: Path
) -> None:
    """Its copy in the history stays."""
    made = ledger.create(left(work))
    document = Path(made.document).read_bytes()
    current = folder / "api-CURRENT.md"
    assert current.read_bytes() == document

    ledger.claim(made.id, claimant(), now=NOON, expiry=HOUR)
    assert (_manifest(folder)["status"], current.exists()) == ("claimed", False)
    assert _manifest(folder)["claimed_by"] == ADA

    ledger.consume(made.id, ADA, NOON + 60)
    told = _manifest(folder)
    assert (told["status"], told["consumed_by"]) == ("consumed", ADA)
    assert told["consumed_at"] == "2026-02-02T02:41:00Z"
    assert (folder / "archive" / "api" / f"{made.id}.md").read_bytes() == document
    assert sorted(path.name for path in folder.iterdir()) == [
        "api.manifest.json", "archive", "channels.db", "channels.db-shm", "channels.db-wal",
        "channels.lock",
    ]  # fmt: skip


def test_an_older_one_that_waits_again_is_the_current_one(
    ledger: Ledger, folder: Path, work: Path
) -> None:
    """Newer ones that are over do not hide it."""
    first = ledger.create(left(work))
    ledger.claim(first.id, claimant(), now=NOON, expiry=HOUR)
    for number in range(1, 25):
        ledger.create(left(work, NOON + number))
    ledger.clear(channel="api", at=NOON + 30)
    ledger.release_stale(lambda *_: False, lambda *_: False, now=NOON + 31)

    assert _manifest(folder)["id"] == first.id
    assert first.id in (folder / "api-CURRENT.md").read_text()


@pytest.mark.parametrize("blocked", ["api.manifest.json", "api-CURRENT.md", "archive"])
def test_an_export_that_fails_undoes_nothing_and_is_made_up_for(
    ledger: Ledger, folder: Path, work: Path, blocked: str
) -> None:
    """Something else is in a file's place; the next change, of any channel, mends it."""
    obstacle = folder / blocked
    if blocked == "archive":
        obstacle.write_text("in the way")
    else:
        obstacle.mkdir()
    made = ledger.create(left(work))

    assert ledger.current("api") == made
    (words,) = ledger.not_exported
    assert words.startswith("api: the ")

    obstacle.unlink() if blocked == "archive" else obstacle.rmdir()
    ledger.create(left(work, NOON + 1, channel="web"))

    assert ledger.not_exported == ()
    assert (_manifest(folder)["id"], _manifest(folder, "web")["status"]) == (made.id, "active")
    assert made.id in (folder / "api-CURRENT.md").read_text()
    assert (folder / "archive" / "api" / f"{made.id}.md").is_file()


def test_only_one_process_at_a_time_writes_the_files(folder: Path, work: Path) -> None:
    """Or an old copy could come after a new one. What is committed does not wait for them."""
    ledger = Ledger(folder, busy_seconds=0.2)
    with Database(folder).alone():
        made = ledger.create(left(work))

        assert ledger.current("api") == made
        (words,) = ledger.not_exported
        assert words.endswith("channels.lock is held by another program. Try again in a moment.")
        assert not (folder / "api.manifest.json").exists()

    assert ledger.export() == ()
    assert _manifest(folder)["id"] == made.id
    ledger.close()


def test_what_a_process_left_undone_another_makes_up_for(
    folder: Path, work: Path, ledger: Ledger
) -> None:
    """It died after its commit and before its files; the manifest tells how new it is."""
    made = ledger.create(left(work))
    (folder / "api.manifest.json").unlink()
    (folder / "api-CURRENT.md").write_text("old")
    other = Ledger(folder)

    other.create(left(work, NOON + 1, channel="web"))

    assert _manifest(folder)["id"] == made.id
    assert made.id in (folder / "api-CURRENT.md").read_text()
    other.close()


def test_nothing_is_written_through_a_link(
    ledger: Ledger, folder: Path, work: Path, tmp_path: Path
) -> None:
    """Neither a folder nor a file elsewhere is touched."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine.md").write_text("mine")
    (folder / "archive").symlink_to(outside)
    (folder / "api-CURRENT.md").symlink_to(outside / "mine.md")
    made = ledger.create(left(work))

    assert [path.name for path in outside.iterdir()] == ["mine.md"]
    assert (outside / "mine.md").read_text() == "mine"
    assert ledger.not_exported == (f"api: the copy of {made.id}: a link leads elsewhere",)


def test_a_name_that_leaves_the_folder_has_no_files(ledger: Ledger, work: Path) -> None:
    made = ledger.create(left(work))
    for name in (exports.manifest_path, exports.current_path):
        with pytest.raises(ChannelError):
            name(work, "../../x")
    with pytest.raises(ChannelError):
        exports.archived_path(work, replace(made, channel="../../x"))


def test_an_unreadable_manifest_is_an_old_one(folder: Path) -> None:
    folder.mkdir(parents=True)
    assert exports.exported_revision(folder, "api") is None
    for text in ("", "[]", '{"revision": null}', "{" * 9):
        (folder / "api.manifest.json").write_text(text)
        assert exports.exported_revision(folder, "api") is None
    (folder / "api.manifest.json").write_text('{"revision": 7}')
    assert exports.exported_revision(folder, "api") == 7


def test_a_document_that_is_gone_does_not_keep_the_rest_from_being_told(
    ledger: Ledger, folder: Path, work: Path
) -> None:
    """Its copy stays; nobody waits for one of a handoff that is over."""
    made = ledger.create(left(work))
    Path(made.document).unlink()
    newer = ledger.create(left(work, NOON + 1))

    assert isinstance(newer, ChannelHandoff)
    assert ledger.not_exported == ()
    assert (folder / "archive" / "api" / f"{made.id}.md").is_file()
