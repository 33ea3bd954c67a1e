"""The agents whose settings we know how to extend."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sm.adapters.agents.claude import installed
from sm.install.hooks import Entries, Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """Where an agent's settings are, and what we want in them."""

    name: str
    settings_file: Callable[[Mapping[str, str]], Path]
    entries: Callable[[str], Entries]
    """Our entries, for a command that is ready for the shell."""
    reads_comments: bool
    """Whether it takes settings with comments and trailing commas."""
    off_switch: str
    """The setting that, when it is true, has the agent run no hook."""


def _claude_entries(command: str) -> Entries:
    hooks = installed.installed_hooks(command)
    return {hook.event: Entry(call=hook.call, matcher=hook.matcher) for hook in hooks}


_CLAUDE = Agent(
    name="claude",
    settings_file=installed.settings_file,
    entries=_claude_entries,
    # Seen with 2.1.197: such a file is skipped as a whole, with -p even silently.
    reads_comments=False,
    off_switch="disableAllHooks",
)
AGENTS = {agent.name: agent for agent in (_CLAUDE,)}
