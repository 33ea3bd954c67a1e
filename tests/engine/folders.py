"""What the engine keeps in folders, in memory: sessions' own, and inboxes."""

import errno
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sm.core.ids import SessionId
from sm.core.launch import AgentLine
from sm.core.terminal import NoteState
from tests.engine.timelapse import in_a_thread


@dataclass(slots=True)
class Inboxes:
    """Notes in memory, with the rules of the real inbox."""

    notes: dict[tuple[SessionId, str], str] = field(default_factory=dict)
    states: dict[tuple[SessionId, str], NoteState] = field(default_factory=dict)

    def folder(self, session: SessionId) -> str:
        return f"/inbox/{session}"

    def leave(self, session: SessionId, mark: str, text: str) -> None:
        if self.look(session, mark) is NoteState.NEVER:
            self.notes[session, mark] = text
            self.states[session, mark] = NoteState.WAITING

    def look(self, session: SessionId, mark: str) -> NoteState:
        return self.states.get((session, mark), NoteState.NEVER)

    def waiting(self) -> list[tuple[SessionId, str]]:
        return [note for note, state in self.states.items() if state is NoteState.WAITING]

    def take(self, session: SessionId, mark: str) -> str:
        """What the agent's hook does."""
        self.states[session, mark] = NoteState.TAKEN
        return self.notes[session, mark]

    def withdraw(self, session: SessionId, mark: str) -> bool:
        if self.look(session, mark) is NoteState.WAITING:
            self.states[session, mark] = NoteState.WITHDRAWN
        return self.look(session, mark) is NoteState.WITHDRAWN


@dataclass(slots=True)
class NoFolders:
    """Folders that are only asked for their names."""

    prepared: dict[SessionId, Mapping[str, str]] = field(default_factory=dict)
    lines: dict[SessionId, AgentLine] = field(default_factory=dict)
    recovered: dict[SessionId, Mapping[str, str]] = field(default_factory=dict)
    forgotten: list[SessionId] = field(default_factory=list)
    adopted: set[SessionId] = field(default_factory=set)

    keeps: bool = True
    """Environments, until their sessions end."""
    trouble: OSError | None = None
    """What comes of reading one."""
    full: bool = False
    """Nothing can be written."""

    hook_command: Path = Path("/home/bin/hook")

    def folder(self, session: SessionId) -> Path:
        return Path("/home/sessions") / session

    def prepare(
        self,
        session: SessionId,
        line: AgentLine,
        environment: Mapping[str, str],
        cwd: str,
        *,
        recovery: Mapping[str, str] | None = None,
    ) -> None:
        in_a_thread()
        self.prepared[session] = environment
        self.lines[session] = line
        self.recovered[session] = dict(recovery or {})

    def recovery(self, session: SessionId) -> dict[str, str]:
        return dict(self.recovered.get(session, {}))

    def environment(self, session: SessionId) -> dict[str, str]:
        if self.trouble is not None:
            raise self.trouble
        if session not in self.prepared:
            raise FileNotFoundError(session)
        return dict(self.prepared[session])

    def lend(self, session: SessionId, environment: Mapping[str, str]) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.prepared[session] = environment

    def discard(self, session: SessionId) -> None:
        del self.prepared[session]

    def tidy(self, known: Iterable[SessionId]) -> None:
        self.prepared = {s: e for s, e in self.prepared.items() if s in set(known)}

    def launch_argv(self, session: SessionId) -> tuple[str, ...]:
        return ("/home/bin/launch", session)

    def raw_log(self, session: SessionId) -> str:
        return f"/home/sessions/{session}/raw.log"

    def sizes_log(self, session: SessionId) -> str:
        return f"/home/sessions/{session}/sizes.jsonl"

    def forget_environment(self, session: SessionId) -> None:
        self.forgotten.append(session)

    def forget_unkept(self, session: SessionId) -> None:
        if not self.keeps:
            self.prepared.pop(session, None)

    def make(self, session: SessionId) -> None:
        self.prepared[session] = {}

    def with_sm(self, environment: Mapping[str, str]) -> dict[str, str]:
        return dict(environment)

    def note_adopted(self, session: SessionId) -> None:
        self.adopted.add(session)

    def forget_adopted(self, session: SessionId) -> None:
        self.adopted.discard(session)
