"""What a recovered agent is told: the prompt for a fresh context, the note for a resumed one.

Pure: texts from what others have read. Whatever is too long is shortened here and said to be; how
secrets are taken out is not known here. Sizes are bytes of UTF-8.
"""

import re
from dataclasses import dataclass, replace

from sm.core import chapters, retelling
from sm.core.chapters import Chapter
from sm.core.cut_off import partial_work, still_to_do
from sm.core.remains import AFRESH, AT_WORK, CRASHED, Remains
from sm.core.retelling import NOTHING, Room, Told, When
from sm.core.shortening import Item, brief, code, cut, fenced, listed, size
from sm.core.spans import roughly
from sm.core.story import Request

BYTES_PER_TOKEN = 3
"""Of English about four characters are a token, of code fewer: rather too many than too few."""
SHORTEST, LONGEST = 2_000, 350_000
"""Less says nothing; more is not to be pasted."""
STATE, DOCUMENT, GIT, CUT_OFF, STILL = 0.3, 0.2, 0.05, 0.15, 0.25
"""The most of the space that each of these may take; the conversation has the rest."""
OLDER = "Of an earlier context: nothing of what was said since could be read. "
NOTE = 12_000
"""The most of a note for what was cut off; messages have the rest."""
LINE = 300
OLD_REQUEST = 2_000
_PLACE = re.compile(r"\{(transcript|scrollback|handoff|partial_work|git|reason)\}")
_JOINTS = 100
"""Bytes of titles and empty lines in a note."""
_SHRINK, _TRIES = 0.8, 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    text: str
    lines: int = 0
    """Of the conversation, or of the terminal."""


def tokens(text: str) -> int:
    """An estimate."""
    return -(-size(text) // BYTES_PER_TOKEN)


def budget(percent: float, window: int, warns_at: int | None) -> int:
    """Bytes for a prompt: this part of the window, and clear of the first warning by a tenth."""
    most = window * percent / 100
    if warns_at is not None:
        most = min(most, max(warns_at - window / 10, warns_at / 2))
    return max(SHORTEST, min(LONGEST, int(most) * BYTES_PER_TOKEN))


def prompt(remains: Remains, room: Room, when: When, template: str = "") -> Composed:
    """For a fresh context. A template stands in the place of sm's own words."""
    limit = min(room.size, LONGEST)
    for tried in range(_TRIES):
        smaller = Room(size=int(limit * _SHRINK**tried), lines=room.lines)
        if template:
            composed = _filled(remains, smaller, when, template)
        else:
            composed = _own(remains, smaller, when)
        if size(composed.text) <= limit:
            return composed
    return replace(composed, text=cut(composed.text, limit))


def note(remains: Remains, limit: int, when: When) -> str:
    """For an agent that goes on with its own conversation, in at most this many bytes."""
    for tried in range(_TRIES):
        text = _note(remains, int(limit * _SHRINK**tried), when)
        if size(text) <= limit:
            return text
    return cut(text, limit)


def _note(remains: Remains, limit: int, when: When) -> str:
    """Messages have all that the rest leaves: nobody else tells the agent of them."""
    work = partial_work(remains, min(NOTE, limit // 4))
    head = f"{CRASHED}, and sm has resumed it: {reason(remains, when)}"
    last = f"\n{_instructions(remains)}"
    taken = sum(size(part) for part in (head, work, last)) + _JOINTS
    still = still_to_do(remains, limit - taken)
    return "\n".join([
        head,
        *([f"\nWhat was cut off:\n\n{work.rstrip()}"] if work else []),
        *([f"\n{still.rstrip()}"] if still else []),
        last,
    ])  # fmt: skip


def reason(remains: Remains, when: When) -> str:
    """What happened, in one line."""
    crash = remains.crash
    ago = f"{roughly(remains.now - crash.at)} ago ({when(crash.at)} UTC)"
    what = "in the middle of a turn" if crash.busy else "while no turn was running"
    if crash.dialog:
        what = "while a question to the person was open"
    return f"{crash.words.rstrip('.')}, {ago}, {what}."


def _own(remains: Remains, room: Room, when: When) -> Composed:
    head = f"{_opening(remains)}\n\n{_facts(remains, when)}"
    state = _headed("Your Handoff State", _state(remains, room, when))
    cut_off = _headed("Cut off", _cut_off(remains, room))
    git = _headed("Git", _git(remains, room))
    last = _headed("Instructions", _instructions(remains))
    title = "Your Previous Conversation"
    taken = sum(size(part) for part in (head, state, cut_off, git, last, _headed(title, "-")))
    told = _conversation(remains, replace(room, size=room.size - taken), when)
    conversation = _headed(title, told.text or _nothing(remains, room))
    return Composed(text=f"{head}{conversation}{state}{cut_off}{git}{last}", lines=told.lines)


def _filled(remains: Remains, room: Room, when: When, template: str) -> Composed:
    """Each name replaced by what it stands for; what that says is no template again."""
    names = [found[1] for found in _PLACE.finditer(template)]
    texts = {
        "reason": reason(remains, when),
        "partial_work": _cut_off(remains, room).rstrip("\n") or "Nothing was cut off.",
        "git": _git(remains, room).rstrip("\n"),
        "handoff": _state(remains, room, when).rstrip("\n"),
    }
    left = room.size - size(template) - sum(size(texts.get(name, "")) for name in names)
    of_both = [name for name in names if name not in texts]
    share = replace(room, size=left // max(1, len(of_both)))
    told = retelling.retell(remains.exchanges, share, when)
    shown = _lines_of(remains, share)
    texts["transcript"] = told.text.rstrip("\n") or "No conversation could be read."
    texts["scrollback"] = shown.text.rstrip("\n") or "Nothing of the terminal could be read."
    told_lines = {"transcript": told.lines, "scrollback": shown.lines}
    return Composed(
        text=_PLACE.sub(lambda found: texts[found[1]], template),
        lines=sum(told_lines[name] for name in of_both),
    )


def _lines_of(remains: Remains, room: Room) -> Told:
    return retelling.newest_lines(remains.shown.lines, room) if remains.shown else NOTHING


def _conversation(remains: Remains, room: Room, when: When) -> Told:
    lead, told = "", NOTHING
    if remains.exchanges:
        lead = f"As {remains.source} tells it. " if remains.source else ""
        lead = OLDER if remains.is_older else lead
        told = retelling.retell(remains.exchanges, _less(room, lead), when)
    elif remains.shown is not None:
        lead = f"As {remains.shown.source} shows it, newest last:\n\n"
        told = _lines_of(remains, _less(room, lead))
    return replace(told, text=f"{lead}{told.text}") if told.text else NOTHING


def _less(room: Room, lead: str) -> Room:
    return replace(room, size=room.size - size(lead))


def _nothing(remains: Remains, room: Room) -> str:
    if remains.exchanges or remains.shown:
        return "There is no room for it.\n"
    if not remains.delivered:
        return "Nothing of it could be read.\n"
    each = int(room.size * STILL) // len(remains.delivered)
    given = "".join(f"\n{fenced(cut(one.text, each))}" for one in remains.delivered)
    return f"Nothing of it could be read. What sm had given you last:\n{given}"


def _opening(remains: Remains) -> str:
    what = AT_WORK if remains.is_open else CRASHED
    return f"{what}. {AFRESH}: of what was before you know only what stands here."


def _facts(remains: Remains, when: When) -> str:
    place = code(remains.cwd.replace("\n", "␤"))
    name = brief(remains.name, 80)
    lines = [
        f"What happened: {reason(remains, when)}",
        f"Session {name}, context {remains.context}, working directory: {place}",
    ]
    if remains.transcript:
        path = code(remains.transcript.replace("\n", "␤"))
        whose = "transcript of an earlier context" if remains.is_older else "transcript"
        lines.append(f"The whole {whose} (search it, do not read it): {path}")
    return "".join(f"- {cut(line, 2_000)}\n" for line in lines)


def _headed(title: str, text: str) -> str:
    text = text.rstrip("\n")
    return f"\n## {title}\n\n{text}\n" if text.strip() else ""


def _state(remains: Remains, room: Room, when: When) -> str:
    """The last handoff's document, and what the record tells beside the conversation."""
    parts: list[str] = []
    if remains.handoff:
        document = fenced(cut(remains.handoff.strip("\n"), int(room.size * DOCUMENT)))
        where = f", whole at {code(remains.handoff_path)}" if remains.handoff_path else ""
        lead = f"The document of your last handoff ({remains.handoff_id}{where}):"
        parts.append(f"{lead}\n\n{document}")
    left = int(room.size * STATE) - sum(size(part) for part in parts)
    for chapter in (
        _asked_before(remains, when),
        chapters.todos(remains.story),
        chapters.files(remains.story),
        _background(remains, when),
    ):
        text = chapter.render(min(left, room.size // 8)).rstrip("\n") if left > LINE else ""
        if text:
            parts.append(f"### {chapter.title}\n\n{text}\n")
            left -= size(parts[-1])
    return "\n".join(parts)


def _asked_before(remains: Remains, when: When) -> Chapter:
    """How it all began counts most, then what was asked last."""
    total = len(remains.carried)
    items = [
        Item(text=_before(request, when), weight=float(n or total))
        for n, request in enumerate(remains.carried)
    ]
    return Chapter(title="Asked before that", render=lambda limit: listed(items, limit))


def _before(request: Request, when: When) -> str:
    who = f"the session {brief(request.sender, 60)}, " if request.sender else ""
    if size(request.text) <= LINE and "\n" not in request.text:
        return f"- ({who}{when(request.at)}) {request.text}\n"
    return f"- ({who}{when(request.at)}):\n\n{fenced(cut(request.text, OLD_REQUEST))}"


def _background(remains: Remains, when: When) -> Chapter:
    """It ended with the agent, or is named among what still runs."""
    lines = [
        f"- {u.kind} {u.id}: {code(brief(u.what, LINE))} (begun {when(u.at)}, no end on record)\n"
        for u in remains.story.unfinished
        if u.id
    ]
    lines += [f"- {brief(task, LINE)}\n" for task in remains.background]
    items = [Item(text=line, weight=float(n)) for n, line in enumerate(lines)]
    return Chapter(title="In the background until then", render=lambda limit: listed(items, limit))


def _git(remains: Remains, room: Room) -> str:
    text = remains.git.strip("\n")
    return fenced(cut(text, max(LINE, int(room.size * GIT)))) if text else ""


def _cut_off(remains: Remains, room: Room) -> str:
    work = partial_work(remains, max(LINE, int(room.size * CUT_OFF)))
    still = still_to_do(remains, int(room.size * STILL))
    return "\n".join(part for part in (work, still) if part)


def _instructions(remains: Remains) -> str:
    if not remains.is_open:
        return (
            "No turn was running and nothing was left open, so there is nothing to complete. Say"
            " briefly that you are ready, and wait for the next prompt. Do not apologise for the"
            " crash."
        )
    if remains.is_older:
        return (
            "The conversation above is of an earlier context: what was in progress in it may be"
            " done long since, so do not complete it. See where things stand, do what is still to"
            " be done, and ask the person where you are not sure. Do not apologise for the crash."
        )
    return (
        "Resume from where you left off. Complete what was in progress. If you were waiting for the"
        " person's input, ask again. Do not apologise for the crash: just continue working."
    )
