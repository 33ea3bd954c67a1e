"""What sm knows of agent programs, one dialect each.

Nothing outside this package compares agent names. The modules are loaded when a dialect is first
asked for: the demo program and the hook stub live here too, and start without paying for them.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sm.adapters.agents.claude.dialect import ClaudeDialect
    from sm.adapters.agents.demo.dialect import DemoDialect
    from sm.adapters.agents.generic.dialect import GenericDialect

_NAMES = ("claude", "demo", "generic")


class Dialects:
    """Every dialect by what a person writes after ``--agent``."""

    def __init__(self) -> None:
        self._known: dict[str, ClaudeDialect | DemoDialect | GenericDialect] = {}

    def named(self, agent: str) -> "ClaudeDialect | DemoDialect | GenericDialect":
        """The dialect for an agent; any command line that is no known name is generic."""
        name = agent if agent in _NAMES else "generic"
        if name not in self._known:
            self._known[name] = _load(name)
        return self._known[name]

    def names(self) -> tuple[str, ...]:
        return _NAMES


def _load(name: str) -> "ClaudeDialect | DemoDialect | GenericDialect":
    if name == "claude":
        from sm.adapters.agents.claude.dialect import ClaudeDialect

        return ClaudeDialect()
    if name == "demo":
        from sm.adapters.agents.demo.dialect import DemoDialect

        return DemoDialect()
    from sm.adapters.agents.generic.dialect import GenericDialect

    return GenericDialect()
