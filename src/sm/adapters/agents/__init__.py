"""What sm knows of agent programs, one dialect each.

Nothing outside this package compares agent names. The modules are loaded when a dialect is first
asked for: the demo program and the hook stub live here too, and start without paying for them.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sm.settings.variables import SESSION_ID

if TYPE_CHECKING:
    from sm.adapters.agents.claude.dialect import ClaudeDialect
    from sm.adapters.agents.demo.dialect import DemoDialect
    from sm.adapters.agents.generic.dialect import GenericDialect

_NAMES = ("claude", "demo", "generic")
# One of these, inherited from the agent that started us, keeps its child from starting or makes
# it speak in its parent's name or to its parent's home. Whoever starts it gives its own.
_INHERITED = frozenset(
    {
        "CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_SSE_PORT", "CLAUDE_EFFORT", "CLAUDE_ENV_FILE",
        "CLAUDE_PROJECT_DIR", SESSION_ID, "CODEX_THREAD_ID", "SM_CONFIG", "SM_DEMO_CONFIG",
        "SM_HOME", "TMUX", "TMUX_PANE",
    }
)  # fmt: skip
_INHERITED_PREFIXES = ("SM_SESSION_", "CODEX_SANDBOX")


class Dialects:
    """Every dialect by what a person writes after ``--agent``."""

    recognisable: tuple[str, ...] = ("claude", "demo")
    """Those that know a running agent of theirs when they see one."""

    def __init__(self) -> None:
        self._known: dict[str, ClaudeDialect | DemoDialect | GenericDialect] = {}

    def named(self, agent: str) -> "ClaudeDialect | DemoDialect | GenericDialect":
        """The dialect for an agent; any command line that is no known name is generic."""
        name = agent if agent in _NAMES else "generic"
        if name not in self._known:
            self._known[name] = _load(name)
        return self._known[name]

    def clean(self, environment: Mapping[str, str]) -> dict[str, str]:
        """An environment without what belongs to the caller's own agent and session."""
        return {
            name: value
            for name, value in environment.items()
            if name not in _INHERITED and not name.startswith(_INHERITED_PREFIXES)
        }


def _load(name: str) -> "ClaudeDialect | DemoDialect | GenericDialect":
    if name == "claude":
        from sm.adapters.agents.claude.dialect import ClaudeDialect

        return ClaudeDialect()
    if name == "demo":
        from sm.adapters.agents.demo.dialect import DemoDialect

        return DemoDialect()
    from sm.adapters.agents.generic.dialect import GenericDialect

    return GenericDialect()
