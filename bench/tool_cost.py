"""What sm costs the real Claude Code: time from one request to the next, with a tool call between.

Two clients side by side, one started by sm and one bare, take turns at the same chain of calls.
"""

from collections.abc import Callable, Iterator

from tests.kit.anthropic_api import AnthropicApi, Reply, Request, ToolUse, anthropic_api
from tests.kit.claude import ClaudeHome, claude_home, find_claude, start_claude, submit
from tests.kit.sm import Sm, sm_home
from tests.kit.tmux import private_tmux, wait_until
from tests.prove.ladder import Desk

from bench.figures import Figure, at_most, median
from bench.sizes import Sizes

CALL = Reply(tools=(ToolUse(name="Bash", input={"command": "true"}),))
GOAL_MS = 5.0


def measure(sizes: Sizes) -> Iterator[Figure]:
    if find_claude() is None:
        return
    with sm_home() as sm, private_tmux() as tmux, anthropic_api() as api:
        chain = _Chain(api, sizes.tool_calls)
        ada = Desk(sm=sm, api=api, home=_home(sm, "with", api))
        ada.start()
        bare = _home(sm, "without", api)
        pane = start_claude(tmux, bare)
        ours: list[float] = []
        floor: list[float] = []
        for _ in range(sizes.tool_rounds):
            ours += chain.run(lambda: ada.prompt("begin"))
            ada.settle()
            floor += chain.run(lambda: submit(tmux, pane, "begin"))
    yield Figure(
        what="a tool call of Claude Code under sm, median",
        measured=1e3 * median(ours),
        unit="ms",
        floor=1e3 * median(floor),
        floor_is="the same client without sm",
    )
    yield Figure(
        what="added by sm to each tool call, median",
        measured=1e3 * (median(ours) - median(floor)),
        unit="ms",
        goal=at_most(GOAL_MS),
    )


def _home(sm: Sm, name: str, api: AnthropicApi) -> ClaudeHome:
    home = claude_home(sm.folder / name, api.url)
    (home.config / "settings.json").write_text('{"permissions":{"allow":["Bash"]}}')
    return home


class _Chain:
    """Every request is answered with one more call, until there were enough."""

    def __init__(self, api: AnthropicApi, length: int) -> None:
        self._api = api
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
        return [after - before for before, after in zip(self._times, self._times[1:], strict=False)]
