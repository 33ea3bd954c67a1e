"""Real clients that lose their tmux server all at once, and come back as they were."""

import secrets
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.kit.anthropic_api import AnthropicApi, Reply, Request, ToolUse, anthropic_api
from tests.kit.claude import claude_home
from tests.kit.sm import Sm
from tests.kit.tmux import wait_until
from tests.prove.claude_rescue import AUTO, QUIET, texts
from tests.prove.ladder import Desk
from tests.prove.ledger import Verdict
from tests.prove.walkaway import configure

MODEL = "claude-sonnet-4-6"
KEPT = ("id", "name", "cwd", "arguments", "parent")
SAY, YES = "What is your variable", "Yes, that is so."


@dataclass(slots=True)
class Crowd:
    """Clients of one home, each with a folder and a variable of its own."""

    sm: Sm
    api: AnthropicApi
    desks: list[Desk] = field(default_factory=list)
    before: dict[str, dict[str, Any]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    killed_at: float = 0.0

    def start(self, number: int) -> None:
        name = f"c{number}x"
        home = claude_home(self.sm.folder / name, self.api.url)
        (home.config / "settings.json").write_text('{"permissions":{"allow":["Bash"]}}')
        one = Desk(sm=self.sm, api=self.api, home=home, name=name)
        self.sm.new(
            name, "--model", MODEL, agent="claude", cwd=home.cwd,
            environment={**one.environment, "OF_THE_CALLER": f"value of {name}"},
        )  # fmt: skip
        self.desks.append(one)

    def live(self) -> None:
        for one in self.desks:
            one.prompt(f"I am {one.name}.")
        for one in self.desks:
            one.settle()
            self.before[one.name] = self.shown(one)
            self.sm.wait_recorded(one.name, YES)

    def shown(self, one: Desk) -> dict[str, Any]:
        found: dict[str, Any] = self.sm.json("show", one.name)
        return found

    def lose_server(self) -> None:
        """With a message on its way to each of them."""
        self.killed_at = time.time()
        self.sm.tmux("kill-server")
        for one in self.desks:
            one.send(f"{SAY}, {one.name}? {secrets.token_hex(4)}")

    def come_back(self) -> float:
        for one in self.desks:
            wait_until(lambda one=one: self._is_back(one), 90, seen=one.report)  # type: ignore[misc]
        for one in self.desks:
            one.settle()
        return max(float(self.shown(one)["recoveries"][-1]["ended_at"]) for one in self.desks)

    def _is_back(self, one: Desk) -> bool:
        recoveries = self.shown(one)["recoveries"]
        return bool(recoveries) and recoveries[-1]["state"] == "done"

    def claim(self, words: str, *, holds: bool) -> None:
        if not holds:
            self.wrong.append(words)

    def judge(self, one: Desk) -> None:
        shown, before, name = self.shown(one), self.before[one.name], one.name
        for key in KEPT:
            self.claim(f"{name}: {key} {shown[key]}", holds=shown[key] == before[key])
        for key in ("session", "socket"):
            was, is_ = before["tmux"].get(key), shown["tmux"].get(key)
            self.claim(f"{name}: tmux {key} {is_}", holds=was == is_)
        self.claim(f"{name}: {shown['crash']}", holds=shown["crash"]["cause"] == "server_exit")
        self.claim(f"{name}: {shown['recoveries']}", holds=len(shown["recoveries"]) == 1)
        alive = Path(f"/proc/{shown['pid']}")
        argv = alive.joinpath("cmdline").read_text().split("\0")
        self.claim(f"{name}: {argv}", holds=argv[argv.index("--model") + 1] == MODEL)
        environment = alive.joinpath("environ").read_text().split("\0")
        mine = f"OF_THE_CALLER=value of {name}"
        self.claim(f"{name}: its variable", holds=mine in environment)
        folder = alive.joinpath("cwd").resolve()
        self.claim(f"{name}: its folder {folder}", holds=folder == one.home.cwd)
        self.claim(f"{name}: messages {one.judge()}", holds=one.judge().holds)
        mine_too = [r for r in self.api.main_requests() if f"I am {name}." in texts(r)]
        last = mine_too[-1]
        self.claim(f"{name}: its model", holds=last.model == MODEL)
        self.claim(f"{name}: asked in its own context", holds=f"{SAY}, {name}" in texts(last))
        others = [other.name for other in self.desks if other is not one]
        mixed = any(f"I am {other}." in texts(last) for other in others)
        self.claim(f"{name}: nobody else's words", holds=not mixed)
        told = str(last.body["messages"])
        self.claim(f"{name}: its tools told {told}", holds=f"value of {name}" in told)


def answer(request: Request) -> Reply:
    # It may have come with a hook: then it is no prompt.
    if SAY in request.last_user_text:
        return Reply(tools=(ToolUse(name="Bash", input={"command": "echo $OF_THE_CALLER"}),))
    return Reply(text=YES)


@contextmanager
def crowd(sm: Sm, *, sessions: int) -> Iterator[Crowd]:
    configure(sm, QUIET + AUTO)
    with ExitStack() as stack:
        one = Crowd(sm, stack.enter_context(anthropic_api(answer)))
        for number in range(1, sessions + 1):
            one.start(number)
        yield one


def lost_server(sm: Sm, *, sessions: int = 5) -> tuple[Verdict, str]:
    with crowd(sm, sessions=sessions) as all_:
        all_.live()
        all_.lose_server()
        seconds = all_.come_back() - all_.killed_at
        for one in all_.desks:
            all_.judge(one)
        for words in all_.wrong:
            print(f"  {words}", flush=True)
        verdict = Verdict(sent=sessions, once=sessions, changed=len(all_.wrong))
        return verdict, f"{sessions} sessions, all back within {seconds:.1f} s"
