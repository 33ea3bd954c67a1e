"""The user's own patterns: which may be used, and the rules they become."""

import re
from collections.abc import Iterator, Mapping

from sm.redaction.rule import REACH, Rule

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
# What RE2 cannot do, so that a pattern means the same with and without it.
_BEYOND = re.compile(r"(?<!\\)(?:\\\\)*(?:\((?:\?<?[=!]|\?P=|\?\(|\?>)|\\[1-9])")


def complaint(name: str, pattern: str) -> str | None:
    """What a pattern must be and is not, in words that go on after "must be"; None: it is fine."""
    if _NAME.fullmatch(name) is None:
        return "named with 1 to 40 small letters, digits or '-', not at its ends"
    if _BEYOND.search(pattern):
        return "a regular expression without look-around and back-references"
    try:
        compiled = re.compile(pattern.encode())
    except (re.error, OverflowError, RecursionError) as error:
        return f"a regular expression ({error})"
    if compiled.match(b"") is not None:
        return "a regular expression that does not match an empty text"
    return _complaint_of_re2(pattern)


def _complaint_of_re2(pattern: str) -> str | None:
    try:
        import re2
    except ImportError:
        return None
    options = re2.Options()
    options.encoding, options.log_errors = re2.Options.Encoding.LATIN1, False
    try:
        re2.compile(pattern.encode(), options)
    except re2.error as error:
        words = error.args[0] if error.args else "too large"
        return f"a regular expression ({words.decode() if isinstance(words, bytes) else words})"
    return None


def own_rules(patterns: Mapping[str, str]) -> Iterator[Rule]:
    """Before all others: whoever names a thing wants to read that name."""
    for name, pattern in patterns.items():
        yield Rule(kind=name, pattern=pattern, sign=pattern, reach=REACH, is_own=True)
