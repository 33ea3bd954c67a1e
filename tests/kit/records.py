"""Records of a transcript in the forms the real client 2.1.197 writes, with keys in its order."""

import base64
import json
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

CWD = "/home/dev/src/harbour"
SESSION = "c74cc080-94b9-4841-b82f-a62cfb8efdc0"
BEGAN = datetime(2026, 11, 3, 7, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    kind: str
    words: tuple[str, ...]
    """All of them stand in a document that tells the fact."""
    behind: bool = False
    """It stands before a compaction."""


NOUNS = ("ledger", "quay", "beacon", "mooring", "tide", "pilot", "cargo", "manifest", "crane",
          "berth", "hull", "anchor", "winch", "buoy", "channel", "sluice", "harbour", "dock",
          "ferry", "lighthouse")  # fmt: skip
VERBS = (
    "parse", "load", "store", "merge", "render", "check", "split", "count", "route", "sign",
)  # fmt: skip
PROMPTS = (
    "continue", "yes", "go on please", "ok", "looks good, next", "run the tests again",
    "what is left?", "please commit that", "hm, are you sure?", "and the docs?",
)  # fmt: skip
SAID = (
    "Let me look at the next file.",
    "The tests pass now. I'll go on with the next part.",
    "That works. Next I'll check how the callers use it.",
    "I see the problem: the loop ends one step early. Fixing it.",
    "Good. Now the same for the other module.",
    "Let me run the whole suite to be sure nothing else broke.",
    "The output shows what I expected, so this part is finished.",
)
COMMANDS = ("git status --short", "git diff --stat", "ls -la src", "wc -l src/*.py", "git log -3",
             "ruff check .", "mypy src", "cat pyproject.toml", "env | sort | head")  # fmt: skip


@dataclass
class Writer:
    """Makes records; remembers what was planted."""

    random: random.Random
    size: int
    facts: list[Fact] = field(default_factory=list)
    latest: list[str] = field(default_factory=list)
    secrets: list[str] = field(default_factory=list)
    never: list[str] = field(default_factory=list)
    first: str = ""
    clock: datetime = BEGAN
    parent: str | None = None
    prompt: str = ""
    _pool: list[str] = field(default_factory=list)

    # --- ids and texts

    def hex(self, digits: int) -> str:
        return f"{self.random.getrandbits(4 * digits):0{digits}x}"

    def uuid(self) -> str:
        h = self.hex(32)
        return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"

    def name(self) -> str:
        """A word that stands nowhere else."""
        return f"{self.random.choice(NOUNS)}-{self.hex(6)}"

    def code(self, length: int) -> str:
        """What files and programs print, of about this length."""
        if not self._pool:
            self._pool = ["".join(self._code_line(n) for n in range(400)) for _ in range(24)]
        text = self.random.choice(self._pool)
        start = self.random.randrange(len(text) // 2)
        whole = text[start:] + text * (length // len(text))
        return whole[:length]

    def _code_line(self, number: int) -> str:
        noun, verb = self.random.choice(NOUNS), self.random.choice(VERBS)
        lines = (
            f"    def {verb}_{noun}(self, value: int) -> str:\n",
            f'        return f"{noun} {{value}} → ok" if value > {number} else ""\n',
            f"# we decided to {verb} the {noun} late; error: none, see issue {number}\n",
            f"{number:6}\t{noun}.{verb}(\"{noun}\\n\")  'quoted'\n",
            "\n",
            '{"type":"user","message":{"role":"user","content":"not a prompt at all"}}\n',
        )
        return lines[self.random.randrange(len(lines))]

    # --- records, with keys in the client's order

    def tick(self, seconds: float) -> str:
        self.clock += timedelta(seconds=seconds)
        return self.clock.strftime("%Y-%m-%dT%H:%M:%S.") + f"{self.clock.microsecond // 1000:03}Z"

    def record(self, *, seconds: float = 1.0, **keys: Any) -> bytes:
        """A record of the conversation: what all of them have stands around the given keys."""
        uuid = self.uuid()
        parent, self.parent = self.parent, uuid
        front = {"parentUuid": parent, "isSidechain": keys.pop("isSidechain", False)}
        back = {"uuid": uuid, "timestamp": self.tick(seconds)}
        late = keys.pop("late", {})
        shared = {"userType": "external", "entrypoint": "cli", "cwd": CWD, "sessionId": SESSION,
                  "version": "2.1.197", "gitBranch": "main"}  # fmt: skip
        return line({**front, **keys, **back, **late, **shared})

    def said(self, text: str, **late: Any) -> bytes:
        """A prompt a person typed."""
        self.prompt = self.uuid()
        typed = {"permissionMode": "default", "origin": {"kind": "human"}, "promptSource": "typed"}
        return self.user(text, seconds=40, **{**typed, **late})

    def user(self, content: object, *, seconds: float = 1.0, **late: Any) -> bytes:
        message = {"role": "user", "content": content}
        return self.record(
            promptId=self.prompt, type="user", message=message, late=late, seconds=seconds
        )

    def reply(self, *blocks: dict[str, Any], stop: str = "end_turn") -> bytes:
        """One message of the model, a record for each block."""
        usage = {"input_tokens": 100, "cache_creation_input_tokens": 1000,
                 "cache_read_input_tokens": 48900, "output_tokens": 50,
                 "service_tier": "standard"}  # fmt: skip
        head = {"id": f"msg_{self.hex(24)}", "type": "message", "role": "assistant",
                "model": "claude-opus-4-8", "stop_sequence": None}  # fmt: skip
        records = [
            self.record(
                message={**head, "content": [block], "stop_reason": stop, "usage": usage},
                requestId=f"req_{self.hex(16)}", type="assistant", seconds=3,
            )
            for block in blocks
        ]  # fmt: skip
        return b"".join(records)

    def call(self, name: str, input_: dict[str, Any], text: str = "") -> tuple[bytes, str]:
        tool_id = f"toolu_{self.hex(24)}"
        said = [{"type": "text", "text": text}] if text else []
        use = {"type": "tool_use", "id": tool_id, "name": name, "input": input_}
        return self.reply(*said, use, stop="tool_use"), tool_id

    def result(self, tool_id: str, content: object, told: object, *, seconds: float = 2.0) -> bytes:
        block = {"tool_use_id": tool_id, "type": "tool_result", "content": content}
        return self.user([block], seconds=seconds, toolUseResult=told)

    def failed(self, tool_id: str, error: str, *, seconds: float = 2.0) -> bytes:
        block = {
            "type": "tool_result", "content": error, "is_error": True, "tool_use_id": tool_id,
        }  # fmt: skip
        plain = error.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
        return self.user([block], seconds=seconds, toolUseResult=f"Error: {plain}")

    # --- whole steps

    def bash(self, command: str, output: str, *, status: int = 0, seconds: float = 2.0) -> bytes:
        call, tool_id = self.call("Bash", {"command": command, "description": "Run it"})
        if status:
            return call + self.failed(tool_id, f"Exit code {status}\n{output}", seconds=seconds)
        told = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False,
                "noOutputExpected": False}  # fmt: skip
        content = output or "(Bash completed with no output)"
        return call + self.result(tool_id, content, told, seconds=seconds)

    def read(self, path: str, length: int) -> bytes:
        call, tool_id = self.call("Read", {"file_path": path})
        text = self.code(length)
        file = {"filePath": path, "content": text, "numLines": 40, "startLine": 1, "totalLines": 40}
        return call + self.result(tool_id, text, {"type": "text", "file": file})

    def edit(self, path: str, length: int, text: str = "") -> bytes:
        old, new = self.code(120), self.code(140)
        asked = {"replace_all": False, "file_path": path, "old_string": old, "new_string": new}
        call, tool_id = self.call("Edit", asked, text)
        told = {"filePath": path, "oldString": old, "newString": new,
                "originalFile": self.code(length), "structuredPatch": [], "userModified": False,
                "replaceAll": False}  # fmt: skip
        return call + self.result(tool_id, f"The file {path} has been updated successfully.", told)

    def write(self, path: str, length: int) -> bytes:
        content = self.code(length)
        call, tool_id = self.call("Write", {"file_path": path, "content": content})
        told = {"type": "create", "filePath": path, "content": content, "structuredPatch": []}
        return call + self.result(tool_id, f"File created successfully at: {path}", told)

    def think(self, text: str) -> bytes:
        signature = base64.b64encode(self.random.randbytes(900)).decode()
        block = {"type": "thinking", "thinking": text, "signature": signature}
        return self.reply(block, stop="tool_use")

    def agent(self, description: str, answer: str) -> bytes:
        asked = {"description": description, "prompt": self.code(300),
                 "subagent_type": "general-purpose"}  # fmt: skip
        call, tool_id = self.call("Agent", asked)
        content = [{"type": "text", "text": answer}]
        told = {"status": "completed", "agentId": f"a{self.hex(16)}", "content": content}
        return call + self.result(tool_id, content, told, seconds=60)

    def launched(self, description: str) -> tuple[bytes, str, str]:
        """A sub-agent in the background: records, task and call."""
        asked = {"description": description, "prompt": self.code(300),
                 "subagent_type": "general-purpose", "run_in_background": True}  # fmt: skip
        call, tool_id = self.call("Agent", asked)
        task = f"a{self.hex(16)}"
        text = f"Async agent launched successfully.\nagentId: {task} (internal ID)"
        told = {"isAsync": True, "status": "async_launched", "agentId": task,
                "description": description}  # fmt: skip
        return call + self.result(tool_id, [{"type": "text", "text": text}], told), task, tool_id

    def background(self, command: str) -> tuple[bytes, str, str]:
        asked = {"command": command, "description": "Serve", "run_in_background": True}
        call, tool_id = self.call("Bash", asked)
        task = f"b{self.hex(8)}"
        text = f"Command running in background with ID: {task}. Output is being written to: /tmp/o."
        told = {"stdout": "", "stderr": "", "interrupted": False, "backgroundTaskId": task}
        return call + self.result(tool_id, text, told), task, tool_id

    def ended(self, task: str, tool_id: str, words: str) -> bytes:
        text = (
            f"<task-notification>\n<task-id>{task}</task-id>\n<tool-use-id>{tool_id}</tool-use-id>"
            f"\n<status>completed</status>\n<summary>{words}</summary>\n</task-notification>"
        )
        attached = {"type": "queued_command", "prompt": text, "commandMode": "task-notification"}
        return self.record(attachment=attached, type="attachment")

    def compaction(self, summary: str) -> bytes:
        before, self.parent = self.parent, None
        metadata = {"trigger": "auto", "preTokens": 167101, "durationMs": 130, "postTokens": 724}
        boundary = self.record(
            logicalParentUuid=before, type="system", subtype="compact_boundary",
            content="Conversation compacted", isMeta=False, compactMetadata=metadata,
        )  # fmt: skip
        text = (
            "This session is being continued from a previous conversation that ran out of context."
            f" The summary below covers the earlier portion of the conversation.\n\n{summary}"
        )
        late = {"isVisibleInTranscriptOnly": True, "isCompactSummary": True}
        return boundary + self.user(text, **late)

    def duration(self) -> bytes:
        return self.record(type="system", subtype="turn_duration", durationMs=2433, isMeta=False)

    def fact(self, kind: str, *words: str, behind: bool = False) -> None:
        self.facts.append(Fact(kind=kind, words=words, behind=behind))


def line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
