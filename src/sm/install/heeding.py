"""Whether an agent would heed hooks in such a settings text, and what keeps it from that.

Pure. What no agent could read at all is refused elsewhere; this reads well, and does nothing.
"""

from collections.abc import Iterator
from typing import NamedTuple

from sm.install.agents import Agent
from sm.install.jsonc import Document, Item, Node


class Hindrance(NamedTuple):
    """Why the hooks will not run, and what to do; about a file that is named elsewhere."""

    words: str
    remedy: str


def hindrance(agent: Agent, text: str) -> Hindrance | None:
    """The first one there is."""
    document = Document(text)
    if (extra := document.line_of_first_extra()) is not None and not agent.reads_comments:
        words = (
            f"{agent.name} skips a settings file with comments or trailing commas as a whole, "
            f"and the hooks with it; the first is in line {extra}."
        )
        return Hindrance(words, "Remove them from")
    if (switch := _switch(agent, document)) is not None:
        line = _line(document, switch.start)
        words = f"{switch.key} is true in line {line}: {agent.name} runs no hook at all."
        return Hindrance(words, f"Remove {switch.key} from")
    for place, node, wanted in _misshapen(document):
        line = _line(document, node.start)
        words = (
            f"what stands in line {line}, under {place}, is not {wanted}: "
            f"{agent.name} may skip the file as a whole, and the hooks with it."
        )
        return Hindrance(words, "Mend it in")
    return None


def _line(document: Document, at: int) -> int:
    return document.error("", at).line


def _switch(agent: Agent, document: Document) -> Item | None:
    found = document.root.last(agent.off_switch)
    return found if found is not None and found.node.scalar is True else None


def _misshapen(document: Document) -> Iterator[tuple[str, Node, str]]:
    """Entries of another shape than any agent gives them: where, and what should be there."""
    hooks = document.root.last("hooks")
    for event in hooks.node.items if hooks is not None else ():
        for group in event.node.items:
            calls = group.node.last("hooks") if group.node.kind == "object" else None
            if calls is None or calls.node.kind != "array":
                yield str(event.key), group.node, 'an object with a list "hooks"'
                continue
            for call in calls.node.items:
                kind = call.node.last("type") if call.node.kind == "object" else None
                if kind is None:
                    yield str(event.key), call.node, 'an object with a "type"'
