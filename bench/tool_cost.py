"""What sm costs the real Claude Code: time from one request to the next, with a tool call between.

One client, with hooks switched on and off in its own settings, which it follows at once: two
clients differ by more than what is to be measured. The client itself takes its time for a hook,
whoever answers it: so the floor is the same hook, answered by a server that does nothing.
"""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

from tests.kit.anthropic_api import AnthropicApi, Reply, Request, ToolUse, anthropic_api
from tests.kit.claude import BOX, ClaudeHome, claude_home, find_claude
from tests.kit.sm import Sm, sm_home
from tests.kit.tmux import wait_until
from tests.prove.ladder import Desk

from bench.figures import Figure, at_most, median
from bench.sizes import Sizes
from sm.adapters.agents.claude.settings import launch_settings

CALL = Reply(tools=(ToolUse(name="Bash", input={"command": "true"}),))
PERMISSIONS = {"permissions": {"allow": ["Bash"]}}
GOAL_MS = 5.0
FOLLOWED_AFTER = 1.5


def measure(sizes: Sizes) -> Iterator[Figure]:
    client = find_claude()
    if client is None:
        return
    with sm_home() as sm, anthropic_api() as api:
        chain = Chain(api, sizes.tool_calls)
        ada = Desk(sm=sm, api=api, home=_home(sm, "ada", api))
        ada.start()
        bare = Desk(sm=sm, api=api, home=_home(sm, "bare", api), name="bare")
        sm.new("bare", agent=str(client), environment=bare.environment, cwd=bare.home.cwd)
        wait_until(lambda: BOX in sm.screen("bare"), 30)
        hooks = _hooks(sm)
        settings = {"none": {}, "empty": answered_by(hooks, f"{api.url}/api/hello"), "sm": hooks}
        rounds = [
            one_round(chain, bare.home, settings, lambda: bare.prompt("begin"))
            for _ in range(sizes.tool_rounds)
        ]
    yield from figures(rounds, "sm's hook")


def one_round(
    chain: "Chain", home: ClaudeHome, settings: dict[str, dict[str, Any]], begin: Callable[[], None]
) -> dict[str, float]:
    """Milliseconds of a call with each of the settings, median."""
    times: dict[str, list[float]] = {name: [] for name in settings}
    # To and fro: every call is a little slower than the one before.
    for name in (*settings, *reversed(settings)):
        use(home, settings[name])
        time.sleep(FOLLOWED_AFTER)
        times[name] += chain.run(begin)
    return {name: 1e3 * median(taken) for name, taken in times.items()}


def figures(rounds: list[dict[str, float]], ours_is: str) -> Iterator[Figure]:
    """What is added is told from the same round: the client itself gets slower and faster."""
    none = median([one["none"] for one in rounds])
    yield Figure(what="a tool call of Claude Code without hooks, median", measured=none, unit="ms")
    yield Figure(
        what=f"  added by {ours_is}, median of {len(rounds)} rounds",
        measured=median([one["sm"] - one["none"] for one in rounds]),
        unit="ms",
        floor=median([one["empty"] - one["none"] for one in rounds]),
        floor_is="the same hook, answered by a server that does nothing",
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
    (home.config / "settings.json").write_text(json.dumps({**settings, **PERMISSIONS}))


class Chain:
    """Every request is answered with one more call, until there were enough."""

    def __init__(self, api: AnthropicApi, length: int) -> None:
        self._length = length
        self._times: list[float] = []
        api.script = self._next

    def _next(self, request: Request) -> Reply:
        self._times.append(request.at)
        return CALL if len(self._times) <= self._length else Reply(text="Done.")

    def run(self, begin: Callable[[], None]) -> list[float]:
        self._times.clear()
        begin()
        wait_until(lambda: len(self._times) == self._length + 1, 120)
        time.sleep(0.5)
        return [after - before for before, after in zip(self._times, self._times[1:], strict=False)]
