"""Sentences in which an agent states a decision.

Conservative: a sentence counts by fixed words alone, so that a document is not filled with talk.
"""

import re
from collections.abc import Iterator

SHORTEST, LONGEST = 12, 400
"""A longer sentence is a list or a table that happens to hold such a word."""
_WORDS = re.compile(
    r"\bdecided\b|\bdecision\b|\bgo(?:ing)? with\b|\binstead of\b|\brather than\b|\bchose\b"
    r"|\bopted\b|\bopting\b|\bsettled on\b|\bruled out\b|\broot cause\b"
    r"|\btrade-?off\b|\bwe will not\b|\bi will not\b",
    re.IGNORECASE,
)
_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'“(`*])|\n+")
_UNDECIDED = re.compile(
    r"\bi (?:haven't|have not) decided|\bnot (?:yet )?decided|\bundecided|\?$", re.IGNORECASE
)
_FENCE = re.compile(r"^(```+|~~~+).*?^\1[^\n]*$", re.DOTALL | re.MULTILINE)


def stated(text: str) -> Iterator[str]:
    """Every sentence that states a decision, as it stands there; code is no statement."""
    if _WORDS.search(text) is None:
        return
    for sentence in _END.split(_FENCE.sub("", text)):
        plain = sentence.strip().lstrip("-*•# ").strip()
        if not _WORDS.search(plain) or _UNDECIDED.search(plain):
            continue
        if SHORTEST <= len(plain) <= LONGEST:
            yield plain
