"""What the real Claude Code makes of transcripts that a crash has left behind.

The model's next request shows what is left of the conversation; sm's own verdict on each transcript
must agree with it. The demo agent does as the client does where this is told of it.
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from sm.adapters.agents.claude.integrity import BROKEN, EMPTY, TORN, examine
from tests.kit.anthropic_api import AnthropicApi, Reply, Request, ToolUse, anthropic_api
from tests.kit.claude import ClaudeHome, claude_home, require_claude, start_claude, submit
from tests.kit.tmux import Tmux, private_tmux, wait_until

pytestmark = pytest.mark.claude
ID = "11111111-2222-4333-8444-555555555555"
LONG = "while kill -0 $PPID; do sleep 0.1; done"
"""It lives on after kill -9 of the client, as any tool; but not for long."""
STEPS = ("first hello", "Reply to first hello", "run it", "echo hi", "Reply after the tool",
         "third hello", "Reply to third hello")  # fmt: skip


def script(request: Request) -> Reply:
    if "run it" in request.prompt:
        return Reply(tools=(ToolUse(name="Bash", input={"command": "echo hi"}),))
    if "run long" in request.prompt:
        return Reply(tools=(ToolUse(name="Bash", input={"command": LONG}),))
    return Reply(text=f"Reply to {request.prompt}" if request.prompt else "Reply after the tool")


@dataclass
class Client:
    tmux: Tmux
    api: AnthropicApi
    home: ClaudeHome

    @property
    def transcript(self) -> Path:
        folder = re.sub("[^a-zA-Z0-9]", "-", str(self.home.cwd))
        return self.home.config / "projects" / folder / f"{ID}.jsonl"

    @contextmanager
    def running(self, *arguments: str) -> Iterator[str]:
        """The client in a pane, gone by kill -9 at the end."""
        pane = start_claude(self.tmux, self.home, *arguments, "--allowedTools", "Bash")
        try:
            yield pane
        finally:
            os.kill(self.tmux.pid(pane), 9)
            self.tmux.run("kill-pane", "-t", pane)

    def say(self, pane: str, prompt: str, *, until: str = "") -> None:
        before = len(self.api.main_requests())
        submit(self.tmux, pane, prompt)
        wait_until(lambda: len(self.api.main_requests()) > before, 20)
        ends = until or f"Reply to {prompt}"
        wait_until(lambda: ends in self.recorded(), 20)

    def recorded(self) -> str:
        return self.transcript.read_text(errors="replace") if self.transcript.exists() else ""

    def next_request(self) -> str:
        """What the model is given when the conversation is resumed and goes on."""
        before, replies = len(self.api.main_requests()), self.recorded().count("Reply to what next")
        with self.running("--resume", ID) as pane:
            submit(self.tmux, pane, "what next")
            wait_until(lambda: self.recorded().count("Reply to what next") > replies, 20)
        return json.dumps(self.api.main_requests()[before].body["messages"])

    def refusal(self) -> str:
        """The exit status when it will not resume."""
        # Of a program that ends at once, tmux does not always know the status.
        told = '"$@"; echo "exit $?"; exec sleep 60'
        argv: list[str | Path] = ["sh", "-c", told, "sh", require_claude(), "--resume", ID]
        pane = self.tmux.start(argv, environment=self.home.environment, cwd=self.home.cwd)

        wait_until(lambda: "exit " in self.tmux.screen(pane), 20)
        return self.tmux.screen(pane).partition("exit ")[2].split()[0]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with anthropic_api(script) as api, private_tmux() as tmux:
        yield Client(tmux, api, claude_home(tmp_path_factory.mktemp("claude"), api.url))


@pytest.fixture(scope="module")
def whole(client: Client) -> bytes:
    """Three turns, one of them with a tool, and no mark of the client's own.

    When it makes one depends on the clock: a test that wants one says where.
    """
    with client.running("--session-id", ID) as pane:
        client.say(pane, "first hello")
        client.say(pane, "run it", until="Reply after the tool")
        client.say(pane, "third hello")
    marked = lines(client.transcript.read_bytes())
    return b"".join(one for one in marked if json.loads(one)["type"] != "last-prompt")


def lines(content: bytes) -> list[bytes]:
    return content.splitlines(keepends=True)


def last_said(content: bytes) -> int:
    """The place of the last reply's line."""
    return max(n for n, one in enumerate(lines(content)) if b"Reply to third hello" in one)


def cut_at_the_end(content: bytes) -> bytes:
    kept = lines(content)[: last_said(content) + 1]
    return b"".join(kept)[: -len(kept[-1]) // 2]


def without_an_end(content: bytes) -> bytes:
    return b"".join(lines(content)[: last_said(content) + 1]).rstrip(b"\n")


def torn_in_the_middle(content: bytes) -> bytes:
    torn = next(n for n, one in enumerate(lines(content)) if b'"tool_result"' in one)
    return b"".join(one[:90] + b"\n" if n == torn else one for n, one in enumerate(lines(content)))


def with_an_old_mark(content: bytes) -> bytes:
    """The client notes now and then where the conversation ends, and not always anew."""
    every = lines(content)
    reply = next(n for n, one in enumerate(every) if b"Reply to first hello" in one)
    following = every[reply + 1]
    mark = {"type": "last-prompt", "leafUuid": json.loads(following)["uuid"], "sessionId": ID}
    return json.dumps(mark).encode() + b"\n" + content


@pytest.mark.parametrize(
    ("damage", "flaw", "lost"),
    [
        (lambda content: content, None, ()),
        (without_an_end, None, ()),
        (lambda content: content + b"\x00\xff garbage \x80\n", TORN, ()),
        (lambda content: content + b"\0" * 4096, TORN, ()),
        (cut_at_the_end, TORN, STEPS[-1:]),
        (torn_in_the_middle, BROKEN, STEPS[3:4]),
        (with_an_old_mark, None, ()),
        # Silently: the model is never told that there was more.
        (lambda content: torn_in_the_middle(with_an_old_mark(content)), BROKEN, STEPS[2:]),
    ],
    ids=[
        "whole",
        "no end",
        "garbage",
        "zeros",
        "torn at the end",
        "torn in the middle",
        "an old mark",
        "an old mark, torn in the middle",
    ],
)
def test_what_is_left_of_a_conversation(
    client: Client,
    whole: bytes,
    damage: Callable[[bytes], bytes],
    flaw: str | None,
    lost: tuple[str, ...],
) -> None:
    """What sm takes for whole, the client finds whole; where it loses something, sm says so."""
    client.transcript.write_bytes(damage(whole))
    assert examine(client.transcript).flaw == flaw

    given = client.next_request()

    assert [step for step in STEPS if step not in given] == list(lost)
    assert client.transcript.read_bytes().startswith(damage(whole)), "nothing is mended"


def test_a_transcript_without_an_end_can_be_resumed_twice(client: Client, whole: bytes) -> None:
    """The client writes right behind it, and reads both records that stand on one line then."""
    client.transcript.write_bytes(without_an_end(whole))
    client.next_request()
    assert b'}{"type":"file-history-snapshot"' in client.transcript.read_bytes()

    given = client.next_request()

    assert [step for step in STEPS if step not in given] == []


@pytest.mark.parametrize("content", [b"", b'{"type":"mode","mode":"normal"}\n'])
def test_without_a_conversation_it_ends_at_once(
    client: Client, whole: bytes, content: bytes
) -> None:
    assert whole
    client.transcript.write_bytes(content)
    assert examine(client.transcript).flaw == EMPTY

    assert client.refusal() == "1"


def test_killed_in_a_tool_it_forgets_the_call(client: Client, whole: bytes) -> None:
    """So the agent must be told of it: it does not know that it ran anything."""
    client.transcript.write_bytes(whole)
    with client.running("--resume", ID) as pane:
        client.say(pane, "run long", until=LONG)
    assert examine(client.transcript).flaw is None

    given = client.next_request()

    assert "run long" in given
    assert LONG not in given


def test_killed_before_its_reply_it_takes_the_request_for_done(
    client: Client, whole: bytes
) -> None:
    """The client tells the model that no response was requested: it must be asked anew."""
    client.transcript.write_bytes(b"".join(lines(whole)[: last_said(whole)]))
    assert examine(client.transcript).flaw is None

    given = client.next_request()

    assert "third hello" in given
    assert "No response requested." in given
