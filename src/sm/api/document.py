"""A handoff document: its outline, and what a successor would miss in one.

The successor knows nothing but this document. It may be written in any shape: sections are
recognised by what their headings say, not by how they are marked.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from sm.api.mentions import prose, unknown_files

SHORT = 200
"""Characters (bytes, so that dense scripts count for what they say) that say next to nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    level: Literal["missing", "warning"]
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """Something a successor needs to know, and the headings under which people write it."""

    title: str
    guidance: tuple[str, ...]
    headings: re.Pattern[str]


def _topic(title: str, *guidance: str, headings: str) -> Topic:
    return Topic(
        title=title, guidance=guidance, headings=re.compile(rf"\b(?:{headings})\b", re.IGNORECASE)
    )


TOPICS = (
    _topic(
        "Goal",
        "What is to be achieved, and for whom, in the words it was asked for.",
        "How it will be known that it is done.",
        headings=r"goals?|objectives?|aims?|purpose|mission|task|assignment|the (?:job|ask|request)"
        r"|background|overview|what (?:this|it) is|what (?:we|i)(?: a|')re (?:doing|building)",
    ),
    _topic(
        "State",
        "What is done and proved, what is half done, what is not begun.",
        "Branch, commits, what runs; which checks pass and which fail.",
        headings=r"stat(?:e|us)|progress|done|completed?|finished|accomplished|so far"
        r"|where (?:things|we|it|i) (?:stand|are|am)|what works|work log|summary",
    ),
    _topic(
        "Next actions",
        "The very next step first, with the command to run or the file to open.",
        headings=r"next|to-?dos?|to do|remaining|left(?: to do)?|outstanding|upcoming"
        r"|plan|action items|actions|pending|follow-?ups?|resume|continue",
    ),
    _topic(
        "Decisions",
        "What was decided, why, and what was ruled out; also what the person asked for.",
        headings=r"deci(?:sions?|ded)|rationale|choices|chosen|design|trade-?offs|constraints"
        r"|conventions|agreed|approach|why",
    ),
    _topic(
        "Failed attempts",
        "What was tried and did not work, and how it showed. Write none if there was none.",
        headings=r"fail(?:ed|ures?|ing)|attempts?|attempted|tried|dead[- ]ends?|pitfalls|gotchas"
        r"|lessons|learn(?:ed|t|ings)|mistakes|ruled out|avoid"
        r"|(?:did|does|do)(?:n't| not|n’t) (?:work|do)|not work(?:ing)?",
    ),
    _topic(
        "Open questions",
        "What is not known yet, who could answer it, what blocks. Write none if there is none.",
        headings=r"questions?|unknowns?|unclear|uncertain(?:ty|ties)?|block(?:ers?|ed|ing)|risks?"
        r"|unresolved|open (?:issues?|points?|items?|ends?)|known issues|concerns|issues",
    ),
    _topic(
        "Files",
        "Path by path: what was changed, what has to be read first, where logs and notes are.",
        headings=r"files?|paths?|artifacts?|locations?|pointers|references|where to (?:look|find)"
        r"|where things are|changes|code ?map|layout|directories|folders|documents|resources",
    ),
)
_GUIDANCE = {line for topic in TOPICS for line in topic.guidance}


def _outline() -> Iterator[str]:
    yield "# Handoff: (what this is about)\n"
    for topic in TOPICS:
        yield f"\n## {topic.title}\n"
        yield from (f"<!-- {line} -->\n" for line in topic.guidance)


TEMPLATE = "".join(_outline())


def says_nothing(text: str) -> bool:
    """Whether nobody has written anything: it is empty, or the outline alone."""
    lines = {line.strip() for line in text.removeprefix("\ufeff").splitlines()}
    return lines <= {"", *TEMPLATE.splitlines()}


def check(text: str, exists: Callable[[str], bool]) -> list[Finding]:
    """What is missing or doubtful; nothing for a good document.

    ``exists`` is asked about paths as they are written: relative ones too, and ``~/…``.
    """
    own = _own_words(text)
    if not own:
        return [Finding(level="missing", words="The document says nothing.")]
    sections = list(_sections(text))
    findings = [found for topic in TOPICS if (found := _judged(topic, sections)) is not None]
    if len(re.sub(r"\s", "", own).encode(errors="replace")) < SHORT:
        words = f"Only {len(own.split())} words: your successor will know nothing else."
        findings.append(Finding(level="warning", words=words))
    files = "\n".join(s.body for s in sections if _FILES.headings.search(s.heading))
    for path in unknown_files(text, files, exists):
        words = f"{path} does not exist. Correct the path, or say in its line that it is gone."
        findings.append(Finding(level="warning", words=words))
    return findings


_GOAL, _FILES = TOPICS[0], TOPICS[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    heading: str
    body: str
    """Down to the next heading of its own level, with everything below its own sub-headings."""


def _judged(topic: Topic, sections: list[_Section]) -> Finding | None:
    about = [section for section in sections if topic.headings.search(section.heading)]
    if not about:
        words = f"No section “{topic.title}”. {topic.guidance[0]}"
    elif not any(_own_words(section.body) for section in about):
        words = f"Nothing under “{about[0].heading}”. {topic.guidance[0]}"
    else:
        return None
    return Finding(level="missing", words=words)


_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_MARKED = re.compile(r"^ {0,3}(#{1,6})\s+(.+?)\s*#*$")
_ORG = re.compile(r"^(\*+)\s+(\S.*)$")
_UNDERLINE = re.compile(r"^ {0,3}(?:=+|-+)\s*$")
# "Goal: …", "**Next steps**", "- *Decisions*: …", "3. Files:".
_LABEL = re.compile(
    r"^\s*(?P<item>[-*+•]\s+|\d+[.)]\s+)?(?:(?P<mark>\*{1,3}|_{1,3})(?P<bold>[^*_]{2,60}?):?(?P=mark)"
    r"(?P<colon>\s*:)?|(?P<plain>[^\W\d_][^:.`*]{1,58}):)(?P<rest>\s.*|)$"
)
_BOLD, _PLAIN, _ITEM = 7, 8, 9
"""Below every marked heading: an item of a list does not end the section it stands in."""


def _own_words(text: str) -> str:
    """Without headings, and without what the outline itself says."""
    lines = _COMMENT.sub("", text).removeprefix("\ufeff").split("\n")
    return "\n".join(
        line for line in lines if line.strip() not in _GUIDANCE and not _MARKED.match(line)
    ).strip()


def _sections(text: str) -> Iterator[_Section]:
    whole, lines = text.split("\n"), prose(text).split("\n")
    is_marked = any(_MARKED.match(line) for line in lines)
    heads = [
        (number, *head)
        for number, line in enumerate(lines)
        if (head := _head(line, "".join(lines[number + 1 : number + 2]), is_marked)) is not None
    ]
    for place, (number, level, heading, rest) in enumerate(heads):
        if place == 0 and level == 1 and all(head[1] > 1 for head in heads[1:]) and heads[1:]:
            # The title of all the rest: it may tell the goal, and is about nothing else.
            if _GOAL.headings.search(heading):
                yield _Section(heading=_GOAL.title, body=heading)
            continue
        later = (heads[after] for after in range(place + 1, len(heads)))
        end = next((head[0] for head in later if head[1] <= level), len(lines))
        yield _Section(heading=heading, body="\n".join([rest, *whole[number + 1 : end]]))


def _topical(label: str) -> str | None:
    """Any sentence may have a colon in it: only a few words that name a topic are a heading."""
    is_heading = len(label.split()) <= 6 and any(t.headings.search(label) for t in TOPICS)
    return label if is_heading else None


def _head(line: str, below: str, is_marked: bool) -> tuple[int, str, str] | None:
    """Level, heading, and what stands on the same line behind it."""
    if marked := _MARKED.match(line):
        return len(marked[1]), marked[2], ""
    if line.strip() and _UNDERLINE.match(below) and not _UNDERLINE.match(line):
        return 1 if "=" in below else 2, line.strip(), ""
    if (label := _LABEL.match(line)) and (heading := _topical(label["bold"] or label["plain"])):
        level = _ITEM if label["item"] else _BOLD if label["bold"] else _PLAIN
        return level, heading, label["rest"]
    if not is_marked and (org := _ORG.match(line)) and len(org[2].split()) <= 5:
        return len(org[1]), org[2], ""
    return None
