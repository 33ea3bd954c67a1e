"""The real Claude Code, told things in every state it can be in; the fake API says what arrived.

A person works beside sm: starts turns that think, that run a tool, types half a sentence, clears
the context. In the middle of that, messages of all modes, sizes and hostile texts are sent.
"""

import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sm.core.envelope import sanitise
from tests.kit.anthropic_api import AnthropicApi, Reply, Request, ToolUse, anthropic_api, by_prompt
from tests.kit.claude import BOX, ClaudeHome, claude_home, require_claude
from tests.kit.sm import Sm
from tests.kit.tmux import wait_until
from tests.prove.ledger import Verdict, is_whole
from tests.prove.texts import TEXTS

MODES = ("sequential", "sequential", "important", "urgent")
THINK, TOOL = "PERSON-THINKS", "PERSON-RUNS-A-TOOL"
REPLIES = (
    (THINK, Reply(text="Well.", delay=0.3, pause=0.9)),
    (TOOL, Reply(text="I run it.", tools=(ToolUse(name="Bash", input={"command": "sleep 0.8"}),))),
)
_ENVELOPE = re.compile(
    r"\[sm message ([0-9a-f]{12}) from [^\]\n]*\]\n(.*?)\n\[end of message \1\]", re.DOTALL
)


@dataclass(slots=True)
class Desk:
    """One real client under sm, a person before it, and the model behind it."""

    sm: Sm
    api: AnthropicApi
    home: ClaudeHome
    name: str = "ada"
    sent: list[dict[str, str]] = field(default_factory=list)
    drafts_lost: int = 0
    source: str = ""
    """Where its usage is to come from, for tests of that."""

    @property
    def environment(self) -> dict[str, str]:
        """The caller's, with the real client on its PATH."""
        client = require_claude()
        path = f"{client.parent}:{self.sm.environment['PATH']}"
        own = {"HOME": str(self.home.home), "PATH": path}
        return {**self.home.environment, **self.sm.environment, **own}

    def start(self, *arguments: str) -> None:
        self.sm.new(
            self.name, *arguments, agent="claude", environment=self.environment, cwd=self.home.cwd
        )

    def send(self, text: str, mode: str = "sequential") -> str:
        told = self.sm.json("send", self.name, "-", f"--{mode}", input=text)
        self.sent.append({"id": told["id"], "text": text, "mode": mode})
        return str(told["id"])

    def messages(self) -> list[dict[str, Any]]:
        return self.sm.messages(self.name)

    def settled(self) -> bool:
        done = all(m["state"] == "done" for m in self.messages())
        return done and self.sm.state(self.name) == "idle"

    def settle(self, timeout: float = 60) -> None:
        wait_until(self.settled, timeout, seen=self.report)

    def report(self) -> str:
        waiting = [m for m in self.messages() if m["state"] != "done"]
        lines = [f"{m['id']} {m['state']} {m['route']} {m['waiting']} {m['receipts']}"
                 for m in waiting]  # fmt: skip
        state = self.sm.run("explain", self.name)
        return "\n".join([*lines, state, self.sm.screen(self.name)])

    # --- the person ------------------------------------------------------------------------

    def type(self, text: str) -> None:
        self.sm.tmux("send-keys", "-t", self.sm.pane(self.name), "-l", text)

    def press(self, key: str) -> None:
        self.sm.tmux("send-keys", "-t", self.sm.pane(self.name), key)

    def box(self) -> str:
        """What stands in the prompt box."""
        found = re.search(rf"^{BOX}(.*)$", self.sm.screen(self.name), re.MULTILINE)
        return found.group(1).strip() if found else ""

    def prompt(self, text: str) -> None:
        """A person's own prompt; returns when the client has taken it."""
        self.type(text)
        wait_until(lambda: self.box() == text, 10, seen=self.report)
        self.press("Enter")
        wait_until(lambda: self.box() != text, 10, seen=self.report)

    def prompt_for_tool(self, text: str) -> None:
        """A prompt whose turn runs a tool; returns when the client has noted that it runs."""
        before = self.tools_called()
        self.prompt(text)
        wait_until(lambda: self.tools_called() > before, 10, seen=self.report)

    def tools_called(self) -> int:
        """As its transcripts say; a call is noted before its result is there."""
        transcripts = (self.home.config / "projects").glob("*/*.jsonl")
        return sum(path.read_text().count('"type":"tool_use"') for path in transcripts)

    # --- the verdict -----------------------------------------------------------------------

    def arrived(self) -> Counter[tuple[str, str]]:
        """How often the model was given each message, with its text as it came."""
        most: dict[str, Counter[tuple[str, str]]] = {}
        for request in self.api.main_requests():
            seen = Counter(given(request))
            most[request.session] = most.get(request.session, Counter()) | seen
        return sum(most.values(), Counter())

    def judge(self) -> Verdict:
        verdict = Verdict(sent=len(self.sent))
        arrived = self.arrived()
        receipts = {m["id"]: [r["step"] for r in m["receipts"]] for m in self.messages()}
        for message in self.sent:
            texts = {text: n for (found, text), n in arrived.items() if found == message["id"]}
            count = sum(texts.values())
            verdict.once += count == 1
            verdict.lost += count == 0
            verdict.doubled += count > 1
            verdict.changed += count > 0 and set(texts) != {sanitise(message["text"])}
            verdict.unreceipted += not is_whole(receipts.get(message["id"], []))
        return verdict

    def routes(self) -> Counter[str]:
        return Counter(str(m["route"]) for m in self.messages())


def given(request: Request) -> Iterator[tuple[str, str]]:
    """Every message of ours the conversation holds; what tools printed and replies left out."""
    for message in request.body["messages"]:
        if message["role"] == "assistant":
            continue
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            if block.get("type") == "text":
                yield from ((m.group(1), m.group(2)) for m in _ENVELOPE.finditer(block["text"]))


@contextmanager
def desk(sm: Sm, replies: Any = REPLIES) -> Iterator[Desk]:
    """A home for the client, allowed to run commands."""
    script = replies if callable(replies) else by_prompt(replies)
    with anthropic_api(script) as api:
        home = claude_home(sm.folder / "claude", api.url)
        (home.config / "settings.json").write_text('{"permissions":{"allow":["Bash"]}}')
        yield Desk(sm=sm, api=api, home=home)


def texts(seed: random.Random) -> Iterator[str]:
    """Hostile ones and plain ones of every size, each unlike the others."""
    number = 0
    while True:
        for text in seed.sample(list(TEXTS.values()), len(TEXTS)):
            number += 1
            yield f"{number}. {text}" if seed.random() < 0.5 else f"{text}"
            number += 1
            yield f"{number}. " + "word " * seed.choice([1, 20, 1500, 2500, 8000])


def idle(d: Desk, send: Callable[[], None]) -> None:
    d.settle()
    send()


def working(d: Desk, send: Callable[[], None]) -> None:
    d.settle()
    d.prompt(f"{THINK} {time.time_ns()}")
    send()


def mid_tool(d: Desk, send: Callable[[], None]) -> None:
    d.settle()
    d.prompt_for_tool(f"{TOOL} {time.time_ns()}")
    send()


def with_draft(d: Desk, send: Callable[[], None]) -> None:
    d.settle()
    draft = f"half a thought {time.time_ns() % 10_000}"
    d.type(draft)
    wait_until(lambda: d.box() == draft, 10, seen=d.report)
    send()
    d.settle()
    d.drafts_lost += d.box() != draft
    d.press("C-u")
    wait_until(lambda: d.box() in ("", 'Try "edit <filepath> to..."'), 10, seen=d.report)


def after_clear(d: Desk, send: Callable[[], None]) -> None:
    d.settle()
    d.prompt("/clear")
    send()


SITUATIONS = (idle, working, mid_tool, with_draft, after_clear)


def mixed(sm: Sm, *, messages: int, seed: int, installed: bool = False) -> tuple[Verdict, str]:
    """Messages of mixed modes, sizes and texts to one session in random states."""
    chance = random.Random(seed)
    source = texts(chance)
    with desk(sm) as d:
        settings = d.home.config / "settings.json"
        before = settings.read_bytes()
        if installed:
            sm.run("install", "--yes", environment=d.environment)
            assert settings.read_bytes() != before
        d.start()
        while len(d.sent) < messages:
            burst = min(chance.choice([1, 1, 2, 3]), messages - len(d.sent))

            def send(count: int = burst) -> None:
                for _ in range(count):
                    d.send(next(source), chance.choice(MODES))

            chance.choice(SITUATIONS)(d, send)
        d.settle()
        verdict = d.judge()
        routes = ", ".join(f"{n} {route}" for route, n in d.routes().most_common())
        assert not list(Path(d.home.cwd).glob("should-not-exist")), "a text was executed"
        verdict.changed += d.drafts_lost
        if installed:
            sm.run("uninstall", "--yes", environment=d.environment)
        assert settings.read_bytes() == before, "the user's settings were changed"
        return verdict, f"{routes}; {d.drafts_lost} drafts lost"
