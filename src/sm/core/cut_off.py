"""What a crash cut off: what was begun and has no end, and what to do about it.

Nothing is claimed that is not on record: a call without a result may have taken effect or not.
"""

import re
from collections.abc import Sequence

from sm.core.exchange import Deed, Exchange
from sm.core.ids import HandoffId
from sm.core.remains import Remains
from sm.core.shortening import Item, brief, code, cut, fenced, listed

LINE = 300
"""Characters of a command, or of a process."""
SHORTEST, BEGINNING = 4, 60
"""Characters of a command that are not there by chance; so many of a long one are enough."""


def partial_work(remains: Remains, limit: int) -> str:
    """As a list in at most this many bytes; empty where nothing was cut."""
    lines = _lines(remains)
    items = [Item(text=f"- {line}\n", weight=float(n)) for n, line in enumerate(lines)]
    return listed(items, limit)


def still_to_do(remains: Remains, limit: int) -> str:
    """Messages that the agent never saw, or will not remember: word for word as far as they fit."""
    texts = [(text, "taken by you; your record lacks it") for text in remains.unrecorded]
    texts += [(e.text, "typed while you worked, never given to you") for e in remains.waiting]
    if remains.is_older:
        given = (one.text for one in remains.delivered if one.text not in remains.unrecorded)
        texts += [(text, "given to you by sm; no record of it is left") for text in given]
    if not texts:
        return ""
    each = max(200, limit // len(texts) - 100)
    told = "".join(f"\n({why}):\n\n{fenced(cut(text, each))}" for text, why in texts)
    return f"Still to be done:\n{told}"


def _lines(remains: Remains) -> list[str]:
    calls, crash, last = remains.cut, remains.crash, remains.unanswered
    lines = [*map(_unwritten, remains.unwritten), *(_call(call, remains) for call in calls)]
    if crash.dialog:
        asked = brief(crash.dialog, LINE)
        lines.append(f"A question to the person was open ({asked}) and got no answer: ask again.")
    if crash.handoff:
        lines.append(_handoff(crash.handoff, remains.taken_by))
    if crash.busy and not calls and not crash.dialog and last is None:
        lines.append("You were about to say or do something next: your last words may be lost.")
    if last is not None:
        lines.append(f"Nothing was done yet for the last request: {code(brief(last.text, LINE))}")
    named = {process for call in calls for process in _matching(call, remains.survivors)}
    lines += [
        f"Still running from before the crash: {brief(process, LINE)}"
        for process in remains.survivors
        if process not in named
    ]
    return lines


def _unwritten(call: Exchange) -> str:
    target = f" {code(brief(call.text, LINE))}" if call.text else ""
    what = f"{brief(call.tool, 60)}{target}"
    how = "failed" if call.result and call.result.is_failed else "was done"
    return f"{what} {how}, though your own record lacks it: do not repeat it unseen."


def _handoff(handoff: HandoffId, taken_by: str) -> str:
    if taken_by:
        return (
            f"Handoff {handoff} was under way. {taken_by} has taken it over and does what its"
            " document says: leave that to it."
        )
    return (
        f"Handoff {handoff} was under way and came to nothing: what its document says is still to"
        " be done."
    )


def _call(call: Exchange, remains: Remains) -> str:
    what = f"{brief(call.tool, 60)} {code(brief(call.text, LINE))}"
    match call.deed:
        case _ if remains.crash.dialog and call.deed is not Deed.QUESTION:
            return (
                f"{what} has no result. A question was open at that time: most likely it waited for"
                " the person's consent and did not run. See whether it did, then ask again."
            )
        case Deed.CHANGE:
            return f"{what} was cut: check that the file is complete before you go on."
        case Deed.COMMAND:
            return f"{what} has no result. {_fate(call, remains.survivors)}"
        case Deed.QUESTION:
            return f"{what} was asked and got no answer: ask again."
        case Deed.AGENT:
            return f"{what} was cut: that agent is gone. See what it left, then ask anew."
        case Deed.LOOK:
            return f"{what} was cut: simply repeat it if you need it."
        case _:
            return f"{what} has no result: see whether it took effect before you repeat it."


def _fate(call: Exchange, survivors: Sequence[str]) -> str:
    running = _matching(call, survivors)
    if running:
        which = "; ".join(brief(process, LINE) for process in running[:3])
        return f"It still runs ({which}): wait for it or end it, do not begin it twice."
    if survivors:
        return "It may be among the processes below: look before you repeat it."
    return "No process of it was found running: see how far it came before you repeat it."


def _matching(call: Exchange, survivors: Sequence[str]) -> list[str]:
    """The processes that this command may have begun."""
    if call.deed is not Deed.COMMAND:
        return []
    line = " ".join(call.text.split())
    return [process for process in survivors if _is_of(line, process)]


def _is_of(line: str, process: str) -> bool:
    command = " ".join(process.partition(": ")[2].split())
    if len(command) < SHORTEST or len(line) < SHORTEST:
        return False
    is_part = re.search(rf"(?<!\w){re.escape(command)}(?!\w)", line) is not None
    return is_part or line[:BEGINNING] in command
