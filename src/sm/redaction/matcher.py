"""Two ways of running rules over bytes: RE2, which asks for all at once, and Python's ``re``.

First a block is asked which rules could find something in it; only those are run. RE2 answers with
one automaton for all rules; without it, each rule's literals are looked for. So they are until
there is a block that has any: many a process never sees one.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from sm.redaction.rule import Rule

Span = tuple[int, int]
Find = tuple[Span, list[Span]]
"""The whole find with its context, and its parts that are the secret."""


class Matcher(Protocol):
    def candidates(self, block: bytes) -> Iterable[int]:
        """The rules that may find something in this block, by their place."""

    def finds(self, rule: int, text: bytes, begin: int, end: int) -> Iterator[Find]:
        """What one rule finds in a part of a text, from left to right."""


class LazyMatcher:
    """Made with the first block that could hold anything: that takes 20 ms and 7 MB."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._plain = PlainMatcher(rules)
        self._rules = rules
        self._made: Matcher | None = None

    def candidates(self, block: bytes) -> Iterable[int]:
        if self._made is None and not any(True for _ in self._plain.candidates(block)):
            return ()
        return self.made.candidates(block)

    def finds(self, rule: int, text: bytes, begin: int, end: int) -> Iterator[Find]:
        return self.made.finds(rule, text, begin, end)

    @property
    def made(self) -> Matcher:
        if self._made is None:
            self._made = matcher(self._rules)
        return self._made


def matcher(rules: Sequence[Rule]) -> Matcher:
    """RE2's where it is installed. Only here it is imported."""
    try:
        import re2
    except ImportError:
        return PlainMatcher(rules)
    try:
        return Re2Matcher(rules, re2)
    except re2.error:
        # Too large together, with the user's own: slower is better than not at all.
        return PlainMatcher(rules)


class Re2Matcher:
    """Linear in the text, whatever the patterns."""

    def __init__(self, rules: Sequence[Rule], module: Any) -> None:
        self._rules, self._compile = rules, module.compile
        self._grouped, self._whole = _options(module), _options(module)
        self._whole.never_capture = True
        self._patterns: dict[int, tuple[Any, Any]] = {}
        self._set = module.Set.SearchSet(self._grouped)
        for rule in rules:
            self._set.Add(rule.sought.encode())
        self._set.Compile()

    def candidates(self, block: bytes) -> Iterable[int]:
        return self._set.Match(block) or ()

    def finds(self, rule: int, text: bytes, begin: int, end: int) -> Iterator[Find]:
        """RE2 finds; within a find, Python is ten times faster at telling the groups."""
        known = self._patterns.get(rule)
        if known is None:
            known = self._patterns[rule] = self._compiled(self._rules[rule])
        pattern, parts = known
        for match in pattern.finditer(text, begin, end):
            first, last = match.span()
            inner = parts.match(text, first, end)
            if inner is None or inner.end() != last:
                inner = match
            yield _find(inner)

    def _compiled(self, rule: Rule) -> tuple[Any, Any]:
        pattern = rule.pattern.encode()
        if rule.is_own:
            # Of a pattern we do not know, Python might take forever.
            compiled = self._compile(pattern, self._grouped)
            return compiled, compiled
        return self._compile(pattern, self._whole), re.compile(pattern)


def _options(module: Any) -> Any:
    options = module.Options()
    options.encoding = module.Options.Encoding.LATIN1
    options.max_mem = MEMORY
    options.log_errors = False
    return options


class PlainMatcher:
    """Without any library; some twenty times slower."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        self._patterns: dict[int, re.Pattern[bytes]] = {}

    def candidates(self, block: bytes) -> Iterable[int]:
        lowered = block.lower()
        for place, rule in enumerate(self._rules):
            literals = rule.literals
            if not literals or any(one in lowered or one in block for one in literals):
                yield place

    def finds(self, rule: int, text: bytes, begin: int, end: int) -> Iterator[Find]:
        pattern = self._patterns.get(rule)
        if pattern is None:
            pattern = self._patterns[rule] = re.compile(self._rules[rule].pattern.encode())
        return map(_find, pattern.finditer(text, begin, end))


MEMORY = 32 << 20
"""What RE2's automaton may grow to before it begins anew."""


def _find(match: Any) -> Find:
    whole = match.span()
    spans = [match.span(group) for group in range(1, match.re.groups + 1)]
    return whole, [span for span in spans if span[0] >= 0] or [whole]
