"""Made-up secrets of every kind in docs/redaction.md, as they are found in the wild.

Written from the names of the kinds and from what the services publish about their formats, before
there was any rule that finds them, and not fitted to the rules since: it measures them. Nothing
here is, or ever was, a credential.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.kit import secret_places as places
from tests.kit import secret_tokens as tokens
from tests.kit.secret_contexts import WRAPPERS, Wrapper, snippet_of
from tests.kit.secret_pieces import Made, Random, xml


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """One secret in its surroundings."""

    kind: str
    context: str
    text: str
    needles: tuple[str, ...]
    """The secret as it stands in the text, line by line: no part of it may be left."""
    before: str
    after: str
    """What stands around it and must be left alone."""
    is_json: bool


GENERATORS: dict[str, Callable[[Random], Made]] = {
    function.__name__.replace("_", "-"): function for function in (*tokens.KINDS, *places.KINDS)
}


def planted(kind: str, count: int, seed: int = 1) -> Iterator[Planted]:
    """Secrets of one kind, each in surroundings drawn at random."""
    r = Random(f"{kind}/{seed}")
    for _ in range(count):
        made = GENERATORS[kind](r)
        snippet = made.snippet or snippet_of(r, r.choice(made.names), made.secret)
        yield _in(r.choice(WRAPPERS), kind, made.secret, snippet)


def _in(wrapper: Wrapper, kind: str, secret: str, snippet: str) -> Planted:
    # XML and shell forms escape some characters: then only the part that stands there is sought.
    shown = secret if secret in snippet else xml(secret)
    lines = [wrapper.escape(line) for part in shown.split("\n") for line in part.split("\\n")]
    return Planted(
        kind=kind,
        context=wrapper.name,
        text=wrapper.frame(snippet),
        needles=tuple(line for line in lines if line.strip()),
        before=wrapper.before,
        after=wrapper.after,
        is_json=wrapper.is_json,
    )


LEFT = 10
"""So many characters in a row of a secret are a leak."""


def leaks(sample: Planted, output: str) -> bool:
    """Whether any part of the secret that could be of use is left."""
    around = sample.text
    for needle in sample.needles:
        around = around.replace(needle, "")
    return any(part in output and part not in around for part in _parts(sample.needles))


def _parts(needles: tuple[str, ...]) -> Iterator[str]:
    for needle in needles:
        for i in range(max(1, len(needle) - LEFT + 1)):
            yield needle[i : i + LEFT]
