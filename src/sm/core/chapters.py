"""The parts of an automatic document, each made of one kind of fact and cut to a given size.

Each part says when something was left out. Paths are shown as they are seen from the working
directory. ``when`` turns a time into words.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log2

from sm.core.decisions import sureness
from sm.core.shortening import Item, brief, chosen, code, count, cut, fenced, listed, size
from sm.core.story import (
    AGENT,
    Command,
    Failure,
    Request,
    Story,
    TouchedFile,
    Unfinished,
    Utterance,
)

When = Callable[[float], str]
LINE = 220
"""Characters of a command or an error in a list."""
PLAN, OLD_PLAN = 1_500, 400
LAST_WORDS = 2_000
SMALLEST_LIST = 80
FIRST_OF_A_FOLDER = 8
"""What the newest file of a folder weighs more; the next one half of it, and so on."""
MANY_ALIKE = 3
LAST_OUTPUTS, OUTPUT, OLD_OUTPUT = 3, 1_200, 240
"""Of so many tools what they printed is told, in so many bytes; of those before, in so many."""
UTTERANCE = 6_000
"""Bytes of what the agent said in the last exchanges, each time."""
ASKED = 600
"""Bytes of a request; it stands whole where the document begins."""
SAID = 300
"""Characters of what the agent said before the last exchanges, each time."""
# Of the programs agents look around with; what they found is in the talk or it did not matter.
_LOOKS = re.compile(
    r"\s*(?:cd [^&;|]+(?:&&|;)\s*)?(?:ls|cat|head|tail|less|grep|rg|find|fd|wc|pwd|echo|env|which"
    r"|file|stat|du|df|tree|sleep|date|whoami|ps|sed -n|git (?:status|diff|log|show|branch|blame))"
    r"\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    title: str
    render: Callable[[int], str]
    """The text in at most this many bytes; empty where there is nothing to tell."""
    share: int = 0
    """How much of what is left it may have, beside the others; 0: it has what it needs."""


def todos(story: Story) -> Chapter:
    items = [
        Item(text=f"- [ ] {brief(t.text, 300)}{' (begun)' if t.is_begun else ''}\n", weight=-n)
        for n, t in enumerate(sorted(story.todos, key=lambda t: not t.is_begun))
    ]
    return Chapter(title="Open todo items", render=lambda limit: listed(items, limit))


def next_actions(story: Story, latest: Request | None) -> Chapter:
    """``latest``: what was asked last, in whatever context."""
    lines = [_first_step(story, latest)]
    halves = [u for u in story.unfinished if _is_half(u)]
    lines += [
        f"{code(brief(u.what, LINE))} was begun and has no result: see whether it took effect"
        " before you repeat it."
        for u in halves[-3:]
    ]
    if len(halves) < len(story.unfinished):
        lines.append("Look after what still runs: see In flight.")
    lines += [f"Go on with: {brief(t.text, 200)}" for t in story.todos if t.is_begun]
    lines += [f"Then: {brief(t.text, 200)}" for t in story.todos if not t.is_begun][:3]
    if story.commands and story.commands[-1].is_failed:
        failed = code(brief(story.commands[-1].line, LINE))
        lines.append(f"The last command failed ({failed}): see Failed attempts.")
    items = [Item(text=f"{n}. {line}\n", weight=-n) for n, line in enumerate(lines, 1)]
    return Chapter(title="Next actions", render=lambda limit: listed(items, limit))


def _first_step(story: Story, latest: Request | None) -> str:
    if latest is None:
        return "Nobody has asked for anything yet."
    if story.requests and not story.is_answered:
        return "Begin with the latest request above: nothing was done after it."
    words = "the agent's last words are under State."
    if latest.answered_in is not None:
        return (
            f"The latest request was answered in context {latest.answered_in}: do what is left of"
            f" it, and nothing again that is done; {words}"
        )
    return f"Go on with the latest request above; {words}"


def _is_half(one: Unfinished) -> bool:
    return not one.id


def state(story: Story, facts: Sequence[str], when: When) -> Chapter:
    lines = [*facts]
    if story.branch:
        lines.append(f"Branch when it was last recorded: {code(story.branch)}")
    if story.ended_at:
        lines.append(
            f"Worked from {when(story.began_at)} to {when(story.ended_at)}: "
            f"{count(len(story.requests), 'request')}, "
            f"{count(story.replies, 'answer')}, "
            f"{count(story.compactions, 'compaction')}"
            + (f", {story.model}" if story.model else "")
        )
    items = [Item(text=f"- {line}\n", weight=-n) for n, line in enumerate(lines)]

    def render(limit: int) -> str:
        words = cut(story.last_words, min(LAST_WORDS, max(limit // 3, limit - 1_000)))
        said = f"\nThe agent's last words:\n\n{fenced(words)}" if words else ""
        return listed(items, limit - size(said)) + said

    return Chapter(title="State", render=render)


def decisions(story: Story, when: When) -> Chapter:
    total = len(story.decisions)
    plans = [d for d in story.decisions if d.is_plan]
    items = []
    for number, decision in enumerate(story.decisions):
        # The newest count most, then the oldest: the middle is where least is lost.
        weight = float(max(number, (total - number) * 0.9))
        if decision.is_plan:
            limit = PLAN if decision in plans[-1:] else OLD_PLAN
            text = f"- Plan ({when(decision.at)}):\n\n{fenced(cut(decision.text, limit))}"
            items.append(Item(text=text, weight=weight + 2 * total))
        else:
            text = f"- {brief(decision.text, 2 * LINE)}\n"
            items.append(Item(text=text, weight=weight + total * sureness(decision.text) / 2))
    return Chapter(title="Decisions and plans", share=5, render=lambda limit: listed(items, limit))


def files(story: Story) -> Chapter:
    changed = [f for f in story.files if f.changes]
    read = [f for f in story.files if not f.changes]

    def render(limit: int) -> str:
        if not story.files:
            return ""
        needed = size(_by_folder("Read", read, story.cwd, limit))
        first = _by_folder("Changed", changed, story.cwd, max(limit * 3 // 4, limit - needed))
        return first + _by_folder("Read", read, story.cwd, limit - size(first))

    return Chapter(title="Files", share=5, render=render)


def _by_folder(title: str, touched: Sequence[TouchedFile], cwd: str, limit: int) -> str:
    """Folder by folder, each named once."""
    if not touched or limit < SMALLEST_LIST:
        return ""
    shown, _ = chosen(_file_items(touched, cwd), limit - SMALLEST_LIST)
    while size(text := _grouped(shown)) > limit - SMALLEST_LIST and shown:
        over = size(text) - limit + SMALLEST_LIST
        shown, _ = chosen(shown, sum(size(item.text) for item in shown) - over)
    missing = len(touched) - len(shown)
    more = f"(… {missing} more left out …)\n" if missing else ""
    return f"{title} (× how often):\n\n{fenced(text)}{more}\n" if shown else ""


def _file_items(touched: Sequence[TouchedFile], cwd: str) -> list[Item]:
    """Recently and often: what was touched once and long ago matters least. No folder is hidden."""
    items: list[Item] = []
    of_folder: Counter[str] = Counter()
    for age, file in enumerate(reversed(touched)):
        path, times = seen_from(cwd, file.path), file.changes or file.reads
        folder = path.rpartition("/")[0]
        of_folder[folder] += 1
        weight = 4 * (1 - age / len(touched)) + min(log2(1 + times), 3.0)
        weight += FIRST_OF_A_FOLDER / of_folder[folder]
        items.append(Item(text=f"{path}\0{times}", weight=weight))
    return items[::-1]


def _grouped(items: Sequence[Item]) -> str:
    folders: dict[str, list[str]] = {}
    for item in items:
        path, _, times = item.text.partition("\0")
        folder, slash, name = path.rpartition("/")
        often = f" ×{times}" if times != "1" else ""
        folders.setdefault(folder + slash, []).append(f"{name}{often}".replace("\n", "␤"))
    lines = (f"{folder}: {', '.join(names)}" if folder else ", ".join(names)
             for folder, names in folders.items())  # fmt: skip
    return "\n".join(lines)


def seen_from(cwd: str, path: str) -> str:
    return path.removeprefix(f"{cwd}/") if cwd else path


def commands(story: Story) -> Chapter:
    count = len(story.commands)
    items = [
        Item(text=command_told(c, story.cwd), weight=command_weight(c, count - n, count))
        for n, c in enumerate(story.commands)
    ]
    return Chapter(title="Commands", share=5, render=lambda limit: listed(items, limit))


def command_weight(command: Command, age: int, count: int) -> float:
    """What does something says more than what only looks; the last few tell where it stands."""
    recent = 10.0 * (1 - age / count)
    if age <= 3:
        return 40.0 + recent
    if _LOOKS.match(command.line):
        return recent / 10
    return 10.0 + recent + 3 * min(log2(command.runs), 5.0)


def command_told(command: Command, cwd: str) -> str:
    """A line of a list: what was run, and what came of it."""
    often = f", run {command.runs}×" if command.runs > 1 else ""
    took = f" in {command.seconds:.0f} s" if command.seconds and command.seconds >= 1 else ""
    if command.is_background:
        return f"- {_shown(command.line, cwd)} → started in the background{often}\n"
    if command.is_failed and command.status is None:
        outcome = "failed"
    else:
        outcome = f"exit {command.status}" if command.status else "ok"
    said = f": {code(brief(command.said[-LINE:], 100))}" if command.said else ""
    return f"- {_shown(command.line, cwd)} → {outcome}{took}{often}{said}\n"


def _shown(what: str, cwd: str) -> str:
    """A command or call as code; paths as seen from the working directory."""
    return code(brief(what.replace(f"{cwd}/", "") if cwd else what, LINE))


def failures(story: Story, when: When) -> Chapter:
    troubles = [
        Item(text=f"- {brief(t.text, LINE)}{_times(t.times)} ({when(t.at)})\n", weight=1000.0 + n)
        for n, t in enumerate(story.troubles)
    ]
    told = _without_repeats(story.failures)
    items = [
        Item(text=failure_told(f, others, story.cwd), weight=_failure_weight(f, len(told) - n))
        for n, (f, others) in enumerate(told)
    ]

    def render(limit: int) -> str:
        return listed([*troubles, *items], limit) if troubles or items else "None on record.\n"

    return Chapter(title="Failed attempts and errors", share=5, render=render)


def _without_repeats(failures: Sequence[Failure]) -> list[tuple[Failure, int]]:
    """The same error of the same program counts once, with how many others there are of it."""
    alike = Counter(_likeness(f) for f in failures)
    last = {_likeness(f): f for f in failures if f.tries == 1}
    told: list[tuple[Failure, int]] = []
    for failure in failures:
        like = _likeness(failure)
        if failure.tries > 1 or alike[like] <= MANY_ALIKE:
            told.append((failure, 0))
        elif last[like] is failure:
            told.append((failure, alike[like] - 1))
    return told


def _likeness(failure: Failure) -> tuple[str, str, bool]:
    return failure.what.partition(" ")[0], failure.error[:100], failure.is_mended


def _failure_weight(failure: Failure, age: int) -> float:
    weight = 10.0 * min(failure.tries, 10) + (20.0 - age if age <= 10 else 5.0 / age)
    return weight / 20 if failure.is_mended else weight


def failure_told(failure: Failure, others: int, cwd: str) -> str:
    """A line of a list: what did not work, and why; ``others`` failed like it."""
    what, tried = _shown(failure.what, cwd), _times(failure.tries)
    alike = f" ({others} others failed alike)" if others else ""
    if failure.is_mended:
        return f"- {what} failed{tried}, worked later{alike}\n"
    error = failure.error
    head, kept = error.partition("\n")[0][:40], LINE - 60
    words = error if len(error) <= kept else f"{head} … {error[-kept:]}"
    return f"- {what} failed{tried}, not mended: {code(brief(words, LINE))}{alike}\n"


def _times(times: int) -> str:
    return f" {times}×" if times > 1 else ""


def in_flight(story: Story, background: Sequence[str], when: When) -> Chapter:
    lines = [
        f"- {u.kind}{f' {u.id}' if u.id else ''}: {code(brief(u.what, LINE))}"
        f" (begun {when(u.at)}, no end on record)\n"
        for u in story.unfinished
    ]
    lines += [f"- told by the agent as running: {brief(task, LINE)}\n" for task in background]
    items = [Item(text=line, weight=float(n)) for n, line in enumerate(lines)]

    def render(limit: int) -> str:
        return listed(items, limit) if items else "Nothing.\n"

    return Chapter(title="In flight and open ends", render=render)


def git(told: str) -> Chapter:
    def render(limit: int) -> str:
        return fenced(cut(told.rstrip("\n"), limit - 10)) if told else ""

    return Chapter(title="Git", share=3, render=render)


def last_exchanges(story: Story) -> Chapter:
    said = _in_brief(story.last)
    known = {d.text for d in story.decisions}
    earlier = [
        Item(text=f"- {brief(text, SAID)}\n", weight=float(n))
        for n, text in enumerate(story.earlier)
        if text.strip() not in known
    ]

    def render(limit: int) -> str:
        needed = sum(size(item.text) for item in earlier)
        exchanged = _exchanged(said, max(limit * 2 // 3, limit - needed - SMALLEST_LIST))
        before = listed(earlier, limit - size(exchanged) - SMALLEST_LIST) if earlier else ""
        if not before:
            return exchanged
        return f"{exchanged}\nBefore that, the agent said:\n\n{before}"

    return Chapter(title="Last exchanges", share=6, render=render)


def _in_brief(last: Sequence[Utterance]) -> list[str]:
    """What the agent said tells more than what programs printed, but for the last of them; what it
    was asked stands above."""
    outputs = [n for n, utterance in enumerate(last) if utterance.is_output]
    old = set(outputs[:-LAST_OUTPUTS])

    def shown(number: int, utterance: Utterance) -> str:
        if utterance.is_output:
            return cut(utterance.text, OLD_OUTPUT if number in old else OUTPUT)
        return cut(utterance.text, UTTERANCE if utterance.who == AGENT else ASKED)

    return [f"{u.who}: {shown(n, u)}" for n, u in enumerate(last)]


def _exchanged(said: Sequence[str], limit: int) -> str:
    kept: list[str] = []
    left = limit - 60
    for text in reversed(said):
        part = cut(text, max(300, limit // 4))
        if size(part) + 1 > left:
            break
        kept.append(part)
        left -= size(part) + 1
    return fenced("\n".join(reversed(kept))) if kept else ""


def summary(story: Story, when: When) -> Chapter:
    def render(limit: int) -> str:
        if not story.summaries:
            return ""
        last = story.summaries[-1]
        head = (
            f"The agent's own, of its last compaction ({when(last.at)}; "
            f"{len(story.summaries)} in all):\n\n"
        )
        return head + fenced(cut(last.text, limit - size(head) - 10))

    return Chapter(title="Summary of earlier context", share=3, render=render)
