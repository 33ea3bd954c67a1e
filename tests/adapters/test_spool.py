"""Hooks on the disk, as the stub left them and as accidents left them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sm
from sm.adapters import spool as spool_module
from sm.adapters.spool import Spool, SpooledHook, TornHook
from sm.core.ids import HookId, SessionId

STUB = Path(sm.__file__).parent / "adapters" / "agents" / "stub.py"
NOON = 1_700_000_000.25


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path / "spool")


def spool_by_stub(spool: Spool, payload: bytes) -> None:
    """As an agent does it while no daemon listens."""
    subprocess.run(
        [sys.executable, "-I", "-S", STUB, "/nowhere.sock", spool.folder],
        input=payload,
        env={"CLAUDE_SESSION_MANAGER_ID": "0a1b2c3d"},
        check=True,
    )


def reject(spool: Spool, *, hook: str = "00ff", at: float = NOON, payload: bytes = b"{") -> None:
    spool.reject(SessionId("0a1b2c3d"), HookId(hook), at, payload, "Not JSON.")


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize("payload", [b'{"a":1}', b"", b"\n", b"two\nlines\n\n", b"\x00\xff" * 9])
def test_what_the_stub_wrote_is_read_back(spool: Spool, payload: bytes) -> None:
    """A hook kept while the daemon was away is the hook the agent sent, byte for byte."""
    spool_by_stub(spool, payload)
    [path] = spool.drain_order()

    read = spool.read(path)

    assert isinstance(read, SpooledHook)
    assert (read.session, read.payload) == ("0a1b2c3d", payload)
    assert path.name == f"{path.name[:20]}-{read.hook}.hook"
    assert read.at == pytest.approx(int(path.name[:20]) / 1e9, abs=2e-6)


def test_hooks_are_drained_in_the_order_they_happened(spool: Spool) -> None:
    """Older hooks come first; files being written and the bad ones are not among them."""
    spool.folder.mkdir()
    names = ["00000000000000000009-b.hook", "00000000000000000010-a.hook"]
    for name in [*reversed(names), ".00000000000000000001-c.hook", "README"]:
        (spool.folder / name).touch()
    reject(spool)

    assert [path.name for path in spool.drain_order()] == names


def test_a_spool_nobody_wrote_to_is_empty(spool: Spool) -> None:
    """Asking costs nothing and makes nothing."""
    assert (spool.drain_order(), spool.bad(), spool.sweep(NOON)) == ([], [], [])
    assert not spool.folder.exists()


def test_every_cut_of_a_file_is_recognised(spool: Spool) -> None:
    """However little of a hook reached the disk, half of it is never taken for the whole."""
    spool_by_stub(spool, b'{"a":1}\n')
    [path] = spool.drain_order()
    whole = path.read_bytes()

    for length in range(len(whole) - 1):
        path.write_bytes(whole[:length])
        assert isinstance(spool.read(path), TornHook), whole[:length]


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (b"{}", "missing required field"),
        (b"nonsense", "malformed"),
        (b'{"session":"a","hook":"b","at":"noon"}', "Expected `float`"),
    ],
)
def test_a_header_that_makes_no_sense_is_torn(spool: Spool, head: bytes, reason: str) -> None:
    """The reason says what is wrong with it."""
    spool.folder.mkdir()
    path = spool.folder / "1.hook"
    body = head + b"\n{}"
    path.write_bytes(body + b"\n" + spool_module._checksum(body) + b"\n")

    read = spool.read(path)

    assert isinstance(read, TornHook)
    assert reason in read.reason


def test_a_file_that_cannot_be_read_is_torn(spool: Spool) -> None:
    """Draining goes on past a file it may not open."""
    assert spool.read(spool.folder) == TornHook(
        reason="It cannot be read: No such file or directory."
    )


def test_a_hook_that_is_done_is_gone(spool: Spool) -> None:
    """Twice done is done."""
    spool_by_stub(spool, b"{}")
    [path] = spool.drain_order()

    spool.done(path)
    spool.done(path)

    assert list(spool.folder.iterdir()) == []


def test_what_is_set_aside_is_kept_with_the_reason(spool: Spool) -> None:
    """A person can see what could not be used and why; only they can."""
    spool_by_stub(spool, b"[]")
    [path] = spool.drain_order()
    content = path.read_bytes()

    spool.set_aside(path, "It names no event.\nAt all.")

    [(kept, why)] = spool.bad()
    assert (kept.name, kept.read_bytes()) == (path.name, content)
    assert why == "It names no event.\nAt all."
    assert spool.drain_order() == []
    assert (mode(kept.parent), mode(kept), mode(kept.with_name(f"{kept.name}.why"))) == (
        0o700,
        0o600,
        0o600,
    )


def test_setting_aside_what_vanished_leaves_nothing(spool: Spool) -> None:
    """A person may tidy up while the daemon drains."""
    spool.set_aside(spool.folder / "1.hook", "Torn.")

    assert list(spool.bad_folder.iterdir()) == []


def test_a_rejected_hook_is_kept_as_if_it_had_been_spooled(spool: Spool) -> None:
    """A malformed hook that came over the socket is there to look at, whole."""
    reject(spool, payload=b'{"half":\n')

    [(path, why)] = spool.bad()
    assert why == "Not JSON."
    assert path.name == "01700000000250000000-00ff.hook"
    assert spool.read(path) == SpooledHook(
        session=SessionId("0a1b2c3d"), hook=HookId("00ff"), at=NOON, payload=b'{"half":\n'
    )
    assert (mode(spool.folder), mode(path)) == (0o700, 0o600)


@pytest.mark.parametrize("hook", ["../../../x", "", "a/b\x00c", ".", "é" * 400])
@pytest.mark.parametrize("at", [-1.0, 1e300, float("nan"), float("inf")])
def test_a_rejected_hook_cannot_choose_its_file(spool: Spool, hook: str, at: float) -> None:
    """Whatever a caller calls its hook, the file stays in the folder."""
    reject(spool, hook=hook, at=at)

    [(path, _)] = spool.bad()
    assert path.parent == spool.bad_folder
    assert isinstance(spool.read(path), SpooledHook)


def test_files_left_by_a_dead_stub_are_set_aside_after_an_hour(spool: Spool) -> None:
    """One that may still be written is left alone."""
    spool.folder.mkdir()
    for name, age in ((".1-a.hook", 3601), (".2-b.hook", 3599)):
        path = spool.folder / name
        path.write_bytes(b"half")
        os.utime(path, (NOON - age, NOON - age))

    assert [path.name for path in spool.sweep(NOON)] == [".1-a.hook"]

    assert [path.name for path, _ in spool.bad()] == ["1-a.hook"]
    assert (spool.folder / ".2-b.hook").exists()


def test_only_the_newest_bad_hooks_are_kept(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that sends nonsense for days does not fill the disk."""
    monkeypatch.setattr(spool_module, "KEPT_BAD", 3)

    for number in range(5):
        reject(spool, at=NOON + number)

    kept = [path.name for path, _ in spool.bad()]
    assert [name[:11] for name in kept] == ["01700000002", "01700000003", "01700000004"]
    assert len(list(spool.bad_folder.iterdir())) == 6
