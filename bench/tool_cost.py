"""What sm costs the real Claude Code: time from one request to the next, with a tool call between.

One client, with hooks switched on and off in its own settings, which it follows at once: two
clients differ by more than what is to be measured. The client itself takes its time for a hook,
whoever answers it: so the floor is the same hook, answered at once by a server that does nothing.
The tool is one that takes no time of its own, and starts no process.
"""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.kit.anthropic_api import AnthropicApi, Reply, Request, ToolUse, anthropic_api
from tests.kit.claude import BOX, ClaudeHome, claude_home, find_claude
from tests.kit.sm import Sm, sm_home
from tests.kit.tmux import wait_until
from tests.prove.ladder import Desk

from bench.figures import Figure, at_most, median
from bench.floors import answering_at_once
from bench.sizes import Sizes
from sm.adapters.agents.claude.settings import launch_settings

GOAL_MS = 5.0
FOLLOWED_AFTER = 1.5


def measure(sizes: Sizes) -> Iterator[Figure]:
    client = find_claude()
    if client is None:
        return
    with sm_home() as sm, anthropic_api() as api:
        ada = Desk(sm=sm, api=api, home=_home(sm, "ada", api))
        ada.start()
        bare = Desk(sm=sm, api=api, home=_home(sm, "bare", api), name="bare")
        sm.new("bare", agent=str(client), environment=bare.environment, cwd=bare.home.cwd)
        wait_until(lambda: BOX in sm.screen("bare"), 30)
        rounds = measured(api, bare.home, _hooks(sm), bare.prompt, sizes)
    yield from figures(rounds, "sm's hook")


def measured(
    api: AnthropicApi,
    home: ClaudeHome,
    hooks: dict[str, Any],
    prompt: Callable[[str], None],
    sizes: Sizes,
) -> list[dict[str, float]]:
    """Milliseconds of a call without hooks, with ones answered at once, and with ours; by round."""
    chain = Chain(api, sizes.tool_calls, home.cwd)
    with answering_at_once() as url:
        settings = {"none": {}, "floor": answered_by(hooks, url), "sm": hooks}
        return [_round(chain, home, settings, prompt) for _ in range(sizes.tool_rounds)]


def _round(
    chain: "Chain",
    home: ClaudeHome,
    settings: dict[str, dict[str, Any]],
    prompt: Callable[[str], None],
) -> dict[str, float]:
    """Milliseconds of a call with each of the settings, median."""
    times: dict[str, list[float]] = {name: [] for name in settings}
    # To and fro: the client gets slower with its age.
    for name in (*settings, *reversed(settings)):
        # The longer the conversation, the slower each call.
        prompt("/clear")
        use(home, settings[name])
        time.sleep(FOLLOWED_AFTER)
        times[name] += chain.run(lambda: prompt("begin"))
    return {name: 1e3 * median(taken) for name, taken in times.items()}


def figures(rounds: list[dict[str, float]], ours_is: str) -> Iterator[Figure]:
    """What is added is told from the same round: the client itself gets slower and faster."""
    none = median([one["none"] for one in rounds])
    floor = median([one["floor"] - one["none"] for one in rounds])
    yield Figure(what="a tool call of Claude Code without hooks, median", measured=none, unit="ms")
    yield Figure(
        what=f"  added by {ours_is}, median of {len(rounds)} rounds",
        measured=median([one["sm"] - one["none"] for one in rounds]),
        unit="ms",
        floor=floor,
        floor_is="the same hook, answered at once by a server that does nothing",
        goal=at_most(GOAL_MS),
    )


def _hooks(sm: Sm) -> dict[str, Any]:
    """Those of a tool call, as a session of sm has them; they report to ada's address."""
    session = sm.json("show", "ada")["id"]
    token = (sm.home.sessions / session / "token").read_text().strip()
    url = f"http://127.0.0.1:{sm.health()['port']}/hooks/{session}"
    return of_tools(launch_settings(str(sm.home.bin / "hook"), url), token)


def of_tools(settings: bytes, token: str) -> dict[str, Any]:
    """The hooks of a tool call in a session's settings, with its token in its place."""
    hooks = json.loads(settings.decode().replace("$SM_SESSION_TOKEN", token))["hooks"]
    return {"hooks": {event: calls for event, calls in hooks.items() if "ToolUse" in event}}


def answered_by(hooks: dict[str, Any], url: str) -> dict[str, Any]:
    call = [{"matcher": "*", "hooks": [{"type": "http", "url": url, "timeout": 10}]}]
    return {"hooks": dict.fromkeys(hooks["hooks"], call)}


def _home(sm: Sm, name: str, api: AnthropicApi) -> ClaudeHome:
    home = claude_home(sm.folder / name, api.url)
    use(home, {})
    return home


def use(home: ClaudeHome, settings: dict[str, Any]) -> None:
    (home.config / "settings.json").write_text(json.dumps(settings))


class Chain:
    """Every request is answered with one more call, until there were enough."""

    def __init__(self, api: AnthropicApi, length: int, folder: Path) -> None:
        self._length = length
        file = folder / "read-me"
        file.write_text("Nothing much.\n")
        self._call = Reply(tools=(ToolUse(name="Read", input={"file_path": str(file)}),))
        self._times: list[float] = []
        api.script = self._next

    def _next(self, request: Request) -> Reply:
        self._times.append(request.at)
        return self._call if len(self._times) <= self._length else Reply(text="Done.")

    def run(self, begin: Callable[[], None]) -> list[float]:
        self._times.clear()
        begin()
        wait_until(lambda: len(self._times) == self._length + 1, 120)
        time.sleep(0.5)
        return [after - before for before, after in zip(self._times, self._times[1:], strict=False)]
