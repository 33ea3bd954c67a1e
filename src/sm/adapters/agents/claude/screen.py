"""What Claude Code's screen says, read from its drawn lines and its title.

Nothing here is a guess: a screen that no rule recognises is unknown. The prompt box and the
echo of an earlier prompt differ by one character (U+00A0 or a plain space after the ``❯``).
"""

import re

from sm.core.ids import MessageId
from sm.core.terminal import Screen, Sign, View

CLEAR = "/clear"
_BOX = "❯\xa0"
_RULE = "───"
_IDLE_TITLE = "✳"
_BRAILLE = range(0x2800, 0x2900)
_SELECTION = re.compile(r"\s*❯ \d+\. ")
_QUESTION = re.compile(r"\s*Do you want to proceed\?")
_SEARCH = re.compile(r"\s*(?:search prompts:|no matching )")
"""The line below the box in which a person looks for an earlier prompt."""
_FOLDED = re.compile(r"\[Pasted text #\d+(?: \+\d+ lines)?\]")


def read_screen(view: View) -> Screen:
    """The verdict on one look, with the words it rests on."""
    if view.dead:
        return Screen(sign=Sign.UNKNOWN, detail="the process has ended")
    box = _last_box(view.lines)
    # What is typed goes into an open search, and the box shows what that found.
    has_box = box is not None and not _is_searched(view.lines, box)
    draft = _draft(view.lines, box) if box and has_box else ""
    # Below the box only: a prompt "1. fix it" is echoed above as "❯ 1. fix it".
    dialog = _dialog_line(view.lines[box[1] :] if box else view.lines)
    if dialog is not None:
        return Screen(sign=Sign.DIALOG, draft=draft, detail=dialog, has_box=has_box)
    if view.title and ord(view.title[0]) in _BRAILLE:
        return Screen(sign=Sign.BUSY, draft=draft, detail=view.title, has_box=has_box)
    if has_box and view.title.startswith(_IDLE_TITLE):
        return Screen(sign=Sign.PROMPT, draft=draft, detail=view.title, has_box=True)
    return Screen(sign=Sign.UNKNOWN, draft=draft, detail=view.title, has_box=has_box)


def _is_searched(lines: tuple[str, ...], box: tuple[int, int]) -> bool:
    return any(_SEARCH.match(line) for line in lines[box[1] :])


def is_fresh(view: View) -> bool:
    """Whether the last thing above the box is the echo of the command that cleared the context.

    A moment before, its title says idle already while the rest is still to be drawn.
    """
    box = _last_box(view.lines)
    if box is None or read_screen(view).sign is not Sign.PROMPT:
        return False
    above = (line.rstrip() for line in reversed(view.lines[: box[0] - 1]))
    return next((line for line in above if line), "") == f"❯ {CLEAR}"


def box_holds(screen: Screen, message: MessageId) -> bool:
    """Whether the box holds this message, readable or folded into one paste."""
    if not screen.has_box:
        return False
    # A narrow pane wraps the marker anywhere; the line ends are the screen's, not the text's.
    text = "".join(screen.draft.split())
    marked = f"[smmessage{message}from" in text or f"[endofmessage{message}]" in text
    return marked or _FOLDED.fullmatch(screen.draft.strip()) is not None


def box_holds_only(screen: Screen, message: MessageId, opening: str) -> bool:
    """Whether nothing but this message is in the box: an Enter sends it and nobody's words."""
    if not box_holds(screen, message):
        return False
    text, begin = "".join(screen.draft.split()), "".join(opening.split())
    # A long text scrolls in its box: the end is what is seen, the beginning may not be.
    is_alone = begin not in text or text.startswith(begin)
    is_whole = text.endswith(f"[endofmessage{message}]")
    return (is_whole and is_alone) or _FOLDED.fullmatch(screen.draft.strip()) is not None


def _last_box(lines: tuple[str, ...]) -> tuple[int, int] | None:
    """First line of the lowest prompt box and the line of its closing rule."""
    for top in range(len(lines) - 1, 0, -1):
        if _opens_box(lines[top]) and lines[top - 1].startswith(_RULE):
            end = _closing_rule(lines, top)
            return None if end is None else (top, end)
    return None


def _opens_box(line: str) -> bool:
    # An empty box whose trailing no-break space was trimmed on the way is still a box.
    return line.startswith(_BOX) or line == _BOX.rstrip()


def _closing_rule(lines: tuple[str, ...], top: int) -> int | None:
    for number in range(top + 1, len(lines)):
        if lines[number].startswith(_RULE):
            return number
    return None


def _draft(lines: tuple[str, ...], box: tuple[int, int]) -> str:
    """The text in the box, a screen line each; wrapped lines are indented by two."""
    top, end = box
    first = lines[top][len(_BOX) :].rstrip()
    rest = (line.removeprefix("  ").rstrip() for line in lines[top + 1 : end])
    return "\n".join((first, *rest))


def _dialog_line(lines: tuple[str, ...]) -> str | None:
    for line in lines:
        if _SELECTION.match(line) or _QUESTION.match(line):
            return line.strip()
    return None
