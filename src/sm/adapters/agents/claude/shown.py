"""What a terminal with Claude Code in it shows of the conversation, read from its lines.

A prompt's echo begins with ``❯`` and a plain space (``>`` in older versions), what the agent says
or calls with ``●`` or ``⏺``, a result with ``⎿``; what goes on is indented. The prompt box, hints,
spinners and dialogs are none of it. Long outputs were never shown whole.
"""

import re
from collections.abc import Iterator, Sequence

from sm.adapters.agents.claude.calls import Call, Input
from sm.core.exchange import Exchange, Result, Role

_ASKED = re.compile(r"(?:❯|>) (?=\S)(.*)")
_SAID = re.compile(r"[●⏺][ \xa0](.*)")
_GIVEN = "  ⎿"
_COMMAND = re.compile(r"/[a-z-]+$")
"""To the client, not to the agent."""
_CALL = re.compile(r"([A-Z][A-Za-z]*|mcp__\w+)\(")
_BOX = re.compile(r"(?:❯|>)(?:\xa0.*)?$")
_CHOICE = re.compile(r"❯ \d+\. ")
_GROUP = re.compile(r"  (?:Read|Searched|Listed|Fetched|Found) \d+ .*\(ctrl\+o to expand\)$")
_RULE = ("───", "╌╌╌")
_RUNS = re.compile(r"(?:Running…|Waiting…|\(\d+s\)$|\(ctrl\+b to run in background\))")
_FAILED = ("Error", "Interrupted", "Exit code")


def read(lines: Sequence[str]) -> tuple[Exchange, ...]:
    """Oldest first; empty where its signs are not there."""
    found = [_exchange(block) for block in _blocks(lines)]
    exchanges = [exchange for exchange in found if exchange is not None]
    # A screen that is drawn anew shows the last of them twice.
    once = [e for n, e in enumerate(exchanges) if n == 0 or e != exchanges[n - 1]]
    is_talk = any(e.role in (Role.ASKED, Role.SAID) for e in once)
    return tuple(once) if is_talk else ()


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """Each begins with a sign at a line's beginning, and goes on as long as lines are indented."""
    block: list[str] = []
    is_boxed = False
    for number, line in enumerate(lines):
        if line.startswith(_RULE):
            is_boxed = not is_boxed and _opens(lines, number)
        is_begun = _ASKED.match(line) or _SAID.match(line)
        if is_begun and not is_boxed and not _CHOICE.match(line):
            yield block
            block = [line]
        elif block and not is_boxed and _goes_on(line):
            block.append(line)
        else:
            yield block
            block = []
    yield block


def _opens(lines: Sequence[str], rule: int) -> bool:
    """Whether the prompt box stands below this rule."""
    return rule + 1 < len(lines) and _BOX.match(lines[rule + 1]) is not None


def _goes_on(line: str) -> bool:
    return (not line or line.startswith("  ")) and not _GROUP.match(line)


def _exchange(block: list[str]) -> Exchange | None:
    while block and not block[-1].strip():
        block.pop()
    if not block:
        return None
    given = next((n for n, line in enumerate(block) if line.startswith(_GIVEN)), len(block))
    if (asked := _ASKED.match(block[0])) is not None:
        text = _text(asked[1], block[1:given])
        return None if _COMMAND.match(text) else Exchange(role=Role.ASKED, text=text)
    said = _SAID.match(block[0])
    begin = _text(said[1] if said is not None else "", block[1:given])
    call = _CALL.match(begin)
    if call is None:
        role = Role.NOTED if begin.startswith("API Error") else Role.SAID
        return Exchange(role=role, text=begin)
    text = re.sub(r"\s*\n\s*", " ", begin).removeprefix(f"{call[1]}(").removesuffix(")")
    deed = Call(call[1], Input(), "", "").deed
    return Exchange(
        role=Role.CALLED, text=text, tool=call[1], deed=deed, result=_result(block[given:])
    )


def _result(given: Sequence[str]) -> Result | None:
    """None while it ran or waited when the screen was drawn."""
    lines = [line.removeprefix("  ⎿").strip() for line in given]
    if not lines or any(_RUNS.match(line) for line in lines):
        return None
    return Result(is_failed=lines[0].startswith(_FAILED), output="\n".join(lines))


def _text(first: str, rest: Sequence[str]) -> str:
    return "\n".join([first, *(line.removeprefix("  ") for line in rest)]).rstrip()
