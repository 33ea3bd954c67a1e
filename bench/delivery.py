"""From a message's queueing to the agent's own word that it took it.

The floor is the same by tmux's own commands alone: paste, see it stand there, Enter, the same hook
of the same agent. The difference is sm's looking twice, committing and making sure.
"""

import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from tests.kit.sm import Sm, sm_home
from tests.kit.tmux import Tmux, private_tmux, wait_until

from bench.figures import Figure, median, quantile
from bench.sizes import Sizes
from sm.adapters.agents import stub
from sm.adapters.agents.claude.settings import launch_settings
from sm.adapters.tmux.launching import COLS, ROWS
from sm.api.types import MessageView

TEXT = "Please run the tests and tell me what fails."
_ANSWER = b"HTTP/1.1 204 No Content\r\n\r\n"


def measure(sizes: Sizes) -> Iterator[Figure]:
    with sm_home() as sm:
        sm.new_demo("ada")
        ours = [_delivered(sm) for _ in range(sizes.messages)]
        plain = _by_hand(sm.folder, sizes.messages)
    for name, part in (("p50", 0.5), ("p95", 0.95)):
        yield Figure(
            what=f"message queued → accepted, {name}",
            measured=_at(ours, part),
            unit="ms",
            floor=_at(plain, part),
            floor_is=f"tmux paste, look, Enter → hook, {name}",
        )


def _at(seconds: list[float], part: float) -> float:
    return 1e3 * (median(seconds) if part == 0.5 else quantile(seconds, part))


def _delivered(sm: Sm) -> float:
    """Send one message to the idle agent; the time between two of its receipts."""
    client = sm.client()
    sent = cast("MessageView", client.call("POST", "/sessions/ada/messages", {"text": TEXT}))
    client.call("GET", "/sessions/ada/wait", query={"until": "idle", "timeout": 30})
    message = cast("MessageView", client.get(f"/messages/{sent['id']}"))
    times = {receipt["step"]: receipt["at"] for receipt in message["receipts"]}
    return times["accepted"] - times["queued"]


def _by_hand(folder: Path, messages: int) -> list[float]:
    """The same agent in a tmux of its own, with a hook listener that does nothing."""
    with private_tmux() as tmux, _listening(folder) as listener:
        pane = _agent(tmux, folder)
        _wait_for(listener, b"SessionStart")
        return [_typed(tmux, pane, listener) for _ in range(messages)]


def _listening(folder: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(folder / "hooks.sock"))
    listener.listen(16)
    listener.settimeout(30)
    return listener


def _agent(tmux: Tmux, folder: Path) -> str:
    hook = folder / "hook"
    call = f"{sys.executable} -I -S {stub.__file__} {folder}/hooks.sock {folder}/spool"
    hook.write_text(f"#!/bin/sh\nexec {call}\n")
    hook.chmod(0o700)
    settings = folder / "settings.json"
    settings.write_bytes(launch_settings(str(hook)))
    program = [sys.executable, "-I", "-m", "sm.adapters.agents.demo"]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "TERM": "tmux-256color",
        "SM_DEMO_CONFIG": str(folder / "demo"),
        "CLAUDE_SESSION_MANAGER_ID": "0",
    }
    options = ["--settings", str(settings), "--delay", "0"]
    return tmux.start([*program, *options], environment=environment, cwd=folder, size=(COLS, ROWS))


def _typed(tmux: Tmux, pane: str, listener: socket.socket) -> float:
    wait_until(lambda: "? for shortcuts" in tmux.screen(pane))
    began = time.perf_counter()
    tmux.paste(pane, TEXT)
    # As Claude Code does, the agent swallows an Enter that comes in one read with a paste.
    while f"❯\xa0{TEXT}" not in tmux.screen(pane):
        time.sleep(0.002)
    tmux.press(pane, "Enter")
    _wait_for(listener, b"UserPromptSubmit")
    taken = time.perf_counter() - began
    _wait_for(listener, b"Stop")
    return taken


def _wait_for(listener: socket.socket, event: bytes) -> None:
    """Answer hooks until this one comes."""
    while True:
        connection, _ = listener.accept()
        with connection:
            received = connection.recv(1 << 16)
            connection.sendall(_ANSWER)
        if b'"hook_event_name":"%s"' % event in received:
            return
