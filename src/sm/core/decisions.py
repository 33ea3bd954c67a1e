"""Sentences in which an agent states a decision.

A sentence counts by its words alone: those of deciding, of preferring one thing to another, of
planning, and of giving a reason. Not every such sentence decides; how sure it is can be asked, so
that the surest are kept first.
"""

import re
from collections.abc import Iterator

SHORTEST, LONGEST = 12, 400
"""A longer sentence is a list or a table that happens to hold such a word."""
_DO = "keep|leave|drop|skip|avoid|switch|stay|stick|treat|defer|store|reuse|prefer"
_THING = "approach|way|fix|option|choice|solution|design|move"
_GOOD = ("right", "best", "better", "cleanest", "simplest", "safest", "correct")
# Each begins with a letter, not with a group: so Python passes over most of them at a glance.
_SURE = (
    # Choosing one thing and not another.
    r"deci(?:ded?|ding|sions?)\b", r"go(?:ing)? with\b", r"went for\b", r"instead of\b",
    r"rather than\b", r"chose\b", r"choosing\b", r"opt(?:ed|ing)?\b", r"settled? on\b",
    r"landed on\b", r"pick(?:ed|ing)\b", r"in favou?r of\b", r"wins? over\b", r"way to go\b",
    "after weighing", r"rul(?:ed|ing) out\b", r"out of scope\b", r"trade-?off\b",
    r"source of truth\b",
    # Saying what will be done, or not.
    "plan:", r"plan (?:is|will be)\b", "design:", r"agreed\b",
    r"we (?:will not|do not|should not|must not|won't)\b",
    r"i (?:will not|do not|should not|must not|won't)\b",
    # Having found out.
    r"root cause\b", r"conclu(?:ded?|sion)\b", r"turns out\b",
    # In German and Dutch, in French, Spanish, Portuguese and Italian.
    "entsch(?:ied|eid)", r"beschlossen\b", r"statt\b", r"anstatt\b", r"anstelle\b", r"ich nehme\b",
    r"wir nehmen\b", r"verworfen\b", r"besloten\b", r"in plaats van\b", "décid", "au lieu d",
    r"plutôt que\b", r"je choisis\b", r"en lugar de\b", r"en vez de\b", r"em vez de\b",
    "decid[oií]", r"optamos\b", r"invece di\b", r"deciso\b", r"scelgo\b",
)  # fmt: skip
_LIKELY = (
    rf"we(?:'ll| will) (?:{_DO})\b", rf"i(?:'ll| will) (?:{_DO})\b", rf"let's (?:{_DO}|use|not)\b",
    r"we(?:'ll| will) use [^.]*\b(?:because|since|so that)\b",
    r"i(?:'ll| will) use [^.]*\b(?:because|since|so that)\b",
    *(rf"{good} (?:{_THING}) (?:here )?(?:is|would)\b" for good in _GOOD),
    r"keep(?:ing|s)? (?:to|with)\b", r"stick(?:ing|s)? (?:to|with)\b", r"switching\b",
    r"dropping\b", r"stays?\b", r"prefer(?:s|red)?\b", r"i'd rather\b",
    r"makes (?:more|most) sense\b", r"not worth\b", r"no need to\b",
    r"must (?:stay|remain|not)\b", r"we can(?:'t|not) use\b", r"i can(?:'t|not) use\b",
    r"leav(?:e|ing) [^.]{1,60} (?:alone|as)\b", r"from now on\b", r"for now\b", r"the fix is\b",
    r"the (?:real |actual )?(?:cause|problem|issue|bug|reason) (?:is|was)\b",
    r"ich bleibe\b", r"wir bleiben\b", r"ursache\b", r"lieber\b", r"der grund\b",
)  # fmt: skip
_POSSIBLE = (
    # An obligation, a reason, a limit, a thing that was tried and left.
    r"we (?:should|must|have to|need to|ought to|cannot|can't|shouldn't)\b",
    r"it (?:should|must|has to|needs to|cannot|can't)\b",
    r"this (?:should|must|has to|needs to|cannot|can't)\b",
    r"because\b", r"so that\b", r"to avoid\b", r"therefore\b", r"otherwise\b", r"mandatory\b",
    r"which means\b", r"not touching\b", r"untouched\b", r"unchanged\b", r"as-is\b", r"postpon",
    r"until (?:v?[0-9]|after|the|then)", r"in this (?:pr|change|commit)\b", r"best to\b",
    r"considered [^.]* but\b", r"tried [^.]* but\b", r"go for\b", r"cause of\b", r"i'd keep\b",
    r"i(?:'ve| have) (?:switched|moved|replaced|dropped|kept|left|disabled)\b",
    r"(?:approach|strategy|rationale|verdict|conclusion|answer|rule|fix):", r"option \w+ it is\b",
    r"let's do\b", r"weil\b", r"deshalb\b", r"damit\b", r"erst nach\b", r"parce que\b", r"porque\b",
)  # fmt: skip
_TALK = re.compile(
    r"(?:now|next|first|then|ok(?:ay)?|good|so)?[,:]? ?"
    r"(?:let me|let's (?:look|see|check|run|read|try)"
    r"|i(?:'ll| will| need to| should| have to) (?:look|see|check|run|read|try|find|search|open))\b"
)
"""What begins so tells the next step, whatever reason it gives."""
_ASIAN = "[决決]定|[采採]用|改用|而不是|代わりに"
_SIGNS = re.compile(rf"\b(?:{'|'.join(_SURE + _LIKELY + _POSSIBLE)})|{_ASIAN}")
_LIKELY_SIGNS = re.compile(rf"\b(?:{'|'.join(_LIKELY)})")
_SURE_SIGNS = re.compile(rf"\b(?:{'|'.join(_SURE)})|{_ASIAN}")
_END = re.compile(r"(?<=[.!?])(?<![0-9]\.)\s+(?=[A-ZÄÖÜÉ\"'“(`*])|(?<=[。！？])|\n+")
_UNDECIDED = re.compile(
    r"\bi (?:haven't|have not) decided|\bnot (?:yet )?decided|\bundecided|\?$", re.IGNORECASE
)
_FENCE = re.compile(r"^(```+|~~~+).*?^\1[^\n]*$", re.DOTALL | re.MULTILINE)
_LISTED = re.compile(r"\s*(?:[-*•]|[0-9]+[.)])\s")


def stated(text: str) -> Iterator[str]:
    """Every sentence that states a decision, as it stands there; code is no statement."""
    if not _has_signs(text):
        return
    for sentence in _sentences(_FENCE.sub("", text)):
        plain = sentence.strip().lstrip("-*•# ").strip()
        if not _has_signs(plain) or _UNDECIDED.search(plain):
            continue
        if _TALK.match(plain.lower()) and not sureness(plain):
            continue
        if SHORTEST <= len(plain) <= LONGEST:
            yield plain


def sureness(sentence: str) -> int:
    """2: its words are those of deciding; 1: of what often goes with it; 0: of giving reasons."""
    lowered = sentence.lower()
    if _SURE_SIGNS.search(lowered):
        return 2
    return 1 if _LIKELY_SIGNS.search(lowered) else 0


def _has_signs(text: str) -> bool:
    return _SIGNS.search(text.lower()) is not None


def _sentences(text: str) -> Iterator[str]:
    """A list belongs to the sentence that announces it."""
    announced = ""
    for sentence in _END.split(text):
        if announced and _LISTED.match(sentence) and len(announced) + len(sentence) < LONGEST:
            announced += f" {sentence.strip()}"
            continue
        if announced:
            yield announced
        announced = sentence if sentence.endswith(":") and _has_signs(sentence) else ""
        if not announced:
            yield sentence
    if announced:
        yield announced
