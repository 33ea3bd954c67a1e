"""Recognises a Claude Code that somebody else started, among the processes of a pane.

A client is known by the file it keeps about itself, not by its name: a wrapper, an alias or a
version manager may call it anything.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sm.adapters.agents.claude import status
from sm.core.adoption import Found, Process

ConfigOf = Callable[[Mapping[str, str]], Path]
_SCRIPTS = ("cli.js", "claude.exe", "claude")


def config_of(environment: Mapping[str, str]) -> Path:
    """The configuration folder of a client that was started with this environment."""
    given = environment.get("CLAUDE_CONFIG_DIR")
    if given:
        return Path(given)
    return Path(environment.get("HOME") or Path.home(), ".claude")


def find(processes: Sequence[Process], config: ConfigOf) -> list[Found]:
    """Every client among them; one that another client started is that one's business."""
    clients: dict[int, Found] = {}
    inside: set[int] = set()
    for process in processes:
        if process.parent in inside or process.parent in clients:
            inside.add(process.pid)
            continue
        found = _recognise(process, config(process.environment))
        if found is not None:
            clients[process.pid] = found
    return list(clients.values())


def _recognise(process: Process, config: Path) -> Found | None:
    told = status.find(config, process.pid, process.started)
    if told is None:
        return None
    said, cwd = told
    return Found(
        pid=process.pid,
        started=process.started,
        context=said.context,
        transcript=said.transcript,
        cwd=cwd,
        arguments=_arguments(process.command),
        status=said,
    )


def _arguments(command: tuple[str, ...]) -> tuple[str, ...]:
    """What was handed to the client, behind the interpreter and the script that run it."""
    for number, word in enumerate(command):
        if Path(word).name in _SCRIPTS:
            return command[number + 1 :]
    return command[1:]
