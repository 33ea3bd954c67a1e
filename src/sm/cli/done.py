"""What the command has done so far, in words: it stays done when nothing can be printed any more.

Costs nothing to import. It does not print: who reports the failed output asks for it.
"""

_words: list[str] = []


def note(words: str) -> None:
    """Say it before the first attempt to print anything of it."""
    _words.append(words)


def take() -> str:
    """All that was noted, which is then forgotten."""
    told = " ".join(_words)
    _words.clear()
    return told
