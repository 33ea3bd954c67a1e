"""Files that a text names and that are not there.

Rather silent than wrong: branches, routes, media types, package names, commands and patterns look
like paths too. Something without a file's ending is a path only if it begins where one is.
"""

import re
from collections.abc import Callable, Iterable, Iterator

_FILE = re.compile(
    r"[^/]\.(?:adoc|bash|bat|c|cc|cfg|cjs|conf|cpp|cs|css|csv|cxx|db|diff|env|exs?|fish|gif|go"
    r"|gradle|h|hpp|hs|html|ini|ipynb|java|jpg|js|jsonl?|jsx|kt|less|lock|log|lua|md|mjs|ml|org"
    r"|patch|pdf|php|pl|png|proto|ps1|pyi?|rb|rs|rst|scala|scss|sh|sql|sqlite|svg|swift|tex|tf"
    r"|toml|tsv|tsx?|txt|vue|xml|ya?ml|zig|zsh)$"
)
_FENCED = re.compile(r"^ {0,3}(```|~~~).*?(?:^ {0,3}\1[`~]*\s*$|\Z)", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r"`([^`\n]+)`")
_LINKED = re.compile(r"\]\(([^)\s]+)\)")
_LISTED = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+(?:\[[ xX]\]\s+)?(.*)$")
_PATH = re.compile(r"(?:~?/|(?:\.{1,2}/)+)?[\w@+,=.-]+(?:/[\w@+,=.-]+)*/?")
_BEHIND = re.compile(r"[:#].*$")
"""A line's number, a test's name or a heading behind a path."""
_HOST = re.compile(r"www\.|[\w.-]+\.(?:com|org|net|io|dev|ai|app|edu|gov)/")
_LIBRARY = re.compile(r"[A-Z][A-Za-z]*\.js")
_NOT_THERE = re.compile(
    r"(?<![\w/.-])(?:(?:delet|remov|renam|mov|creat)(?:e|es|ing)|(?:delet|remov|renam|mov)ed"
    r"|adds?|adding|writes?|writing|generate[sd]?|introduce|extract|split|planned|to be"
    r"|gone|dropped|missing|absent|former(?:ly)?|replaced|instead of|no longer|no such"
    r"|(?:not|\w+n['’]t) (?:yet|there|exist|written))(?![\w/-]|\.\w)",
    re.IGNORECASE,
)
"""A line says that a file is not there any more, or not yet. Such a word may be part of a path."""


def prose(text: str) -> str:
    """Without blocks of code, which show commands and their output; the lines keep their places."""
    return _FENCED.sub(lambda block: "\n" * block[0].count("\n"), text)


def unknown_files(text: str, listing: str, exists: Callable[[str], bool]) -> list[str]:
    """Files named in the text that are not there; a bare name only where files are listed."""
    lines, listed = prose(text).split("\n"), set(_named(prose(listing).split("\n"), exists))
    named = list(dict.fromkeys(_named(lines, exists)))
    excused = set(_named(filter(_NOT_THERE.search, lines), exists))
    # Short names for files whose paths are given as well.
    excused.update(end for path in named for end in _ends(path))
    places = list(dict.fromkeys(path.rpartition("/")[0] for path in named if "/" in path))[:50]

    def is_meant(path: str) -> bool:
        if "/" in path:
            return True
        return path in listed and not any(exists(f"{place}/{path}") for place in places)

    return [path for path in named if path not in excused and is_meant(path) and not exists(path)]


def _ends(path: str) -> Iterator[str]:
    rest = path
    while "/" in rest:
        rest = rest.partition("/")[2]
        yield rest


def _named(lines: Iterable[str], exists: Callable[[str], bool]) -> Iterator[str]:
    for line in lines:
        for mention in (*_QUOTED.findall(line), *_LINKED.findall(line)):
            path = _BEHIND.sub("", mention)
            if _is_path(path) and (_is_file(path) or _begins_somewhere(path, exists)):
                yield path
        listed = _LISTED.match(_QUOTED.sub(" ", _LINKED.sub(" ", line)))
        for word in listed[1].split() if listed else ():
            path = _BEHIND.sub("", word.strip("()[]*,;\"'“”‘’").rstrip("."))
            if _is_path(path) and _is_file(path):
                yield path


def _is_path(mention: str) -> bool:
    if not _PATH.fullmatch(mention) or _HOST.match(mention) or _LIBRARY.fullmatch(mention):
        return False
    return "..." not in mention and not mention.startswith("@")


def _is_file(path: str) -> bool:
    """By its name's ending."""
    return _FILE.search(path) is not None


def _begins_somewhere(path: str, exists: Callable[[str], bool]) -> bool:
    """Not so a branch, a route or a media type."""
    if path.startswith(("./", "../", "~/")):
        return True
    first, slash, rest = path.removeprefix("/").partition("/")
    return bool(slash and rest) and exists(f"/{first}" if path.startswith("/") else first)
