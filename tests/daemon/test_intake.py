"""Hooks from the spool: in order at the start, and while the daemon runs."""

import json
import subprocess
import time
import zlib
from pathlib import Path

from tests.kit.sm import Sm
from tests.kit.tmux import wait_until


def _spool(sm: Sm, session: str, hook: str, at: float, payload: bytes) -> Path:
    """As the stub writes it."""
    head = json.dumps({"session": session, "hook": hook, "at": at}).encode()
    body = head + b"\n" + payload
    path = sm.home.spool / f"{round(at * 1e9):020d}-{hook}.hook"
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
