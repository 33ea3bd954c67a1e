"""One rule: how a kind of secret is found in bytes, and which parts of the find are the secret.

Patterns are written in what RE2 and Python's ``re`` have in common, for bytes: no look-around, no
back-references. Where a pattern has groups, the groups are the secret and the rest is its context.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

Judge = Callable[[bytes], int]
"""How many of these bytes, from the first on, are a secret; 0: none of them."""

REACH = 4096
"""No find of an ordinary rule is longer."""
SIGN_REACH = 512
"""Within so many bytes from its beginning, a sign is complete."""


def whole(value: bytes) -> int:
    return len(value)


def rolled(value: bytes) -> int:
    """A token, unless somebody crossed it out."""
    return 0 if b"xxxxx" in value.lower() else len(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    kind: str
    pattern: str
    literals: tuple[bytes, ...] = ()
    """A text without any of them has no such secret. Those in lower case are found in any case.
    Empty: nothing is certain."""
    judge: Judge = whole
    unless: re.Pattern[bytes] | None = None
    """What must not stand before the secret, from a little before the find on."""
    sign: str | None = None
    """What is sought first, where the whole pattern is too long for that, or begins with what is
    everywhere: counting characters from each word's beginning on makes RE2's automaton large."""
    reach: int = REACH
    is_own: bool = False
    """The user's."""

    @property
    def sought(self) -> str:
        return self.sign or loose(self.pattern)


# In JSON a token follows a literal \n or \u0022.
FENCE = r"(?:^|[^A-Za-z0-9_]|\\[nrtbf]|\\u[0-9a-fA-F]{4}|%[0-9A-Fa-f]{2})"
SPACE = r"(?:\s|\\+[nrt])+"
"""White space, also as JSON writes it."""
QUOTE = r"(?:\\*[\"'`]|\\+u002[27]|&quot;|&#3[49];)"
BLANK = r"(?:[ \t]|\\+t)"
"""Between two words of a line; also as JSON writes it."""
VALUE = rf",?(?:\s|\\+[nrt])*{QUOTE}?value{QUOTE}?{BLANK}*[:=]"
"""As lists of pairs have it: \"name: X\" and \"value: …\", also in two lines."""
ASSIGN = rf"{QUOTE}?\]?{BLANK}*(?:=>|:=|[=:,]|{BLANK}|{VALUE}){BLANK}*{QUOTE}?"
"""Between a name and its value."""
TOKEN = "[A-Za-z0-9_-]"
_COUNT = re.compile(r"\{([0-9]+)(,?)[0-9]*\}")
_MOST = 2


def loose(pattern: str) -> str:
    """A pattern that finds this one's finds, and some more, with a much smaller automaton: it does
    not count, and does not look at what stands around."""

    def uncounted(found: re.Match[str]) -> str:
        least = int(found[1])
        return f"{{{min(least, _MOST)},}}" if least > _MOST or found[2] else found[0]

    return _COUNT.sub(uncounted, pattern.replace(FENCE, "")).replace(r"\b", "")


def token(
    kind: str, pattern: str, *literals: str, judge: Judge = rolled, sign: str | None = None
) -> Rule:
    """A token that is known by its own shape, wherever it stands."""
    return Rule(
        kind=kind,
        pattern=rf"(?m){FENCE}({pattern})",
        literals=tuple(literal.encode() for literal in literals),
        judge=judge,
        sign=sign,
    )


def anywhere(kind: str, pattern: str, *literals: str) -> Rule:
    """A token whose prefix is no part of any word: also right behind one."""
    return Rule(
        kind=kind,
        pattern=f"({pattern})",
        literals=tuple(literal.encode() for literal in literals),
        judge=rolled,
    )


def named(kind: str, names: str, value: str, *literals: str, judge: Judge = whole) -> Rule:
    """A value that is known by the name it is given."""
    return Rule(
        kind=kind,
        pattern=rf"(?i)(?:{names}){ASSIGN}({value})",
        literals=tuple(literal.encode() for literal in literals),
        judge=judge,
    )
