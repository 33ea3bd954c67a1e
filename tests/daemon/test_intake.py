"""Hooks from the spool: in order at the start, and while the daemon runs."""

import json
import os
import subprocess
import time
import zlib
from pathlib import Path

from sm.adapters.spool import Spool
from sm.adapters.store import StoreWriteError
from sm.daemon.intake import AT_ONCE, Intake
from tests.engine.rig import ADA, FlakyStore, Rig
from tests.kit.sm import Sm
from tests.kit.tmux import wait_until


def _spool(sm: Sm, session: str, hook: str, at: float, payload: bytes) -> Path:
    return _waiting(sm.home.spool, session, hook, at, payload)


def _waiting(spool: Path, session: str, hook: str, at: float, payload: bytes) -> Path:
    """As the stub writes it."""
    head = json.dumps({"session": session, "hook": hook, "at": at}).encode()
    body = head + b"\n" + payload
    path = spool / f"{round(at * 1e9):020d}-{hook}.hook"
    path.write_bytes(body + b"\n%08x\n" % zlib.crc32(body))
    return path


def _hooks(sm: Sm, *names: str) -> list[str]:
    events = sm.client().get("/sessions/ada/timeline", limit=1000)
    assert isinstance(events, list)
    found = [e["body"]["hook"]["id"] for e in events if "hook" in e["body"]]
    return [hook for hook in found if hook in names]


NOTE = b'{"hook_event_name": "Notification", "notification_type": "other"}'


def test_what_was_spooled_while_nobody_listened_is_taken_in_in_order(fresh: Sm) -> None:
    """By the time it happened, before the first caller is answered; a hook spooled twice, or
    taken before the daemon died, counts once."""
    session = fresh.new_demo("ada")
    fresh.run("daemon", "stop")
    now = time.time()
    for hook, ago in (("b", 2.0), ("c", 1.0), ("a", 3.0), ("b", 0.5)):
        _spool(fresh, session, hook, now - ago, NOTE)

    fresh.run("daemon", "start")
    taken = _hooks(fresh, "a", "b", "c")
    fresh.run("daemon", "stop")
    _spool(fresh, session, "a", now, NOTE)
    fresh.run("daemon", "start")

    assert taken == _hooks(fresh, "a", "b", "c") == ["a", "b", "c"]
    assert fresh.health()["spool"] == {"waiting": 0, "bad": []}


def test_what_cannot_be_used_is_set_aside_with_the_reason(shared: Sm) -> None:
    """Torn, of nobody, or no hook at all: kept, and shown by doctor."""
    session = shared.json("show", "ada")["id"]
    torn = _spool(shared, session, "torn", time.time(), NOTE)
    torn.write_bytes(torn.read_bytes()[:-12])
    nobody = _spool(shared, "ffffffff", "nobody", time.time(), NOTE)
    noise = _spool(shared, session, "noise", time.time(), b"{}")

    wait_until(lambda: len(shared.health()["spool"]["bad"]) == 3)

    told = dict(bad.split(": ", 1) for bad in shared.health()["spool"]["bad"])
    assert shared.health()["spool"]["waiting"] == 0
    assert told[torn.name] == "Its checksum does not fit: it was not written to the end."
    assert told[nobody.name] == "ffffffff"
    assert told[noise.name].startswith("not a Claude Code hook: ")
    assert (shared.home.spool / "bad" / torn.name).exists()


async def test_what_waits_shares_a_commit_and_keeps_its_order(tmp_path: Path) -> None:
    """A night's worth of hooks does not cost a night's worth of commits."""
    rig = Rig(store=(store := FlakyStore()))
    intake, spool = _intake(rig, tmp_path)
    async with rig.running() as engine:
        agent = await rig.start(engine)
        for number in range(AT_ONCE + 50):
            agent.use_tool()
            _waiting(tmp_path, ADA, f"h{number:03}", number, f"ada {number}".encode())
        before = len(store.batches)

        await intake.drain(engine)

    hooks = [entry.hook for entry in store.entries if str(entry.hook).startswith("h")]
    assert hooks == [f"h{number:03}" for number in range(AT_ONCE + 50)]
    assert len(store.batches) - before == 2
    assert spool.drain_order() == []


async def test_a_file_stays_until_its_hook_is_on_the_disk(tmp_path: Path) -> None:
    """A full disk: nothing is lost, what cannot be used does not stop the rest, order is kept."""
    rig = Rig(store=(store := FlakyStore()))
    intake, spool = _intake(rig, tmp_path)
    async with rig.running() as engine:
        agent = await rig.start(engine)
        agent.use_tool()
        for number, payload in enumerate((b"ada 0", b"noise", b"ada 0")):
            _waiting(tmp_path, ADA, f"h{number}", number, payload)
        store.failures = 1
        store.error = StoreWriteError("no space")

        await intake.drain(engine)
        kept = [path.name[-7:] for path in spool.drain_order()]
        await intake.drain(engine)

    assert kept == ["h0.hook", "h2.hook"]
    assert rig.log.lines == ["A spooled hook was set aside", "Spooled hooks have to wait"]
    assert [e.hook for e in store.entries if e.hook in ("h0", "h2")] == ["h0", "h2"]
    assert spool.drain_order() == []


def _intake(rig: Rig, folder: Path) -> tuple[Intake, Spool]:
    spool = Spool(folder)
    return Intake(spool, rig.build(), rig.log), spool


def test_what_a_dead_stub_left_unfinished_is_set_aside_at_the_start(fresh: Sm) -> None:
    """Not for ever in the spool, where nobody looks at it."""
    fresh.home.make()
    torn = fresh.home.spool / ".1-torn.hook"
    torn.write_bytes(b"half")
    os.utime(torn, (time.time() - 86_400,) * 2)

    fresh.run("daemon", "start")

    assert fresh.health()["spool"]["bad"] == ["1-torn.hook: The stub that wrote it did not finish."]
    assert not torn.exists()


def test_a_real_hook_reaches_a_stopped_daemon_through_the_spool(fresh: Sm) -> None:
    """The stub of a working agent, the daemon down, then up again."""
    fresh.new_demo("ada")
    fresh.run("daemon", "stop")
    _type(fresh, "hello by hand")
    wait_until(lambda: len(list(fresh.home.spool.glob("*.hook"))) >= 2)

    fresh.run("wait", "ada", "--timeout", "20")

    assert fresh.json("show", "ada")["last_words"] == 'Got it: "hello by hand"'
    assert not list(fresh.home.spool.glob("*.hook"))


def _type(sm: Sm, text: str) -> None:
    """With a person's own hands: the daemon is not there."""
    tmux = ["tmux", "-L", sm.home.tmux_socket("sm")]
    subprocess.run([*tmux, "send-keys", "-t", "ada", "-l", text], check=True)
    subprocess.run([*tmux, "send-keys", "-t", "ada", "Enter"], check=True)


def test_a_spooled_hook_without_a_session_is_nobodys_unless_adopted(shared: Sm) -> None:
    """A client that sm did not start told nobody; it is neither taken in nor set aside."""
    bad = shared.health()["spool"]["bad"]
    stray = _spool(shared, "", "stray", time.time(), NOTE)

    wait_until(lambda: not stray.exists())

    assert _hooks(shared, "stray") == []
    assert shared.health()["spool"]["bad"] == bad
