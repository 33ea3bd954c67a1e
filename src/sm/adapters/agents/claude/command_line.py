"""What a person gave behind ``--`` to Claude Code, as far as it meets what sm adds.

The client takes one ``--settings`` (the last) and no ``--session-id`` beside ``--resume``: so a
person's own settings are merged into ours, and a conversation they resume keeps its own id.
"""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sm.core.ids import ContextId
from sm.core.launch import LaunchFailedError, LaunchRequest

LARGEST_SETTINGS = 1_000_000
_RESUMES = frozenset({"--resume", "-r", "--continue", "-c", "--from-pr", "--teleport"})


_FLAGS = frozenset({
    "--allow-dangerously-skip-permissions", "--ax-screen-reader", "--bare", "--bg", "--background",
    "--brief", "--chrome", "-c", "--continue", "--dangerously-skip-permissions",
    "--disable-slash-commands",
    "--exclude-dynamic-system-prompt-sections", "--fork-session", "--ide", "--include-hook-events",
    "--include-partial-messages", "--no-chrome", "--no-session-persistence",
    "--prompt-suggestions", "--remote-control", "--replay-user-messages", "--safe-mode",
    "--strict-mcp-config", "--tmux", "--verbose", "-p", "--print", "-h", "--help", "-v",
    "--version",
})  # fmt: skip
"""Options without a value; any other is taken to have one."""
_LISTS = frozenset({
    "--add-dir", "--allowedTools", "--allowed-tools", "--betas", "--disallowedTools",
    "--disallowed-tools", "--file", "--mcp-config", "--plugin-dir", "--tools",
})  # fmt: skip
"""Options that take every word up to the next option."""
_OF_ONE_CONTEXT = _RESUMES | {"--fork-session", "--session-id"}


def afresh(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The same for a new context: without its prompt, and without what names an older one."""
    kept: list[str] = []
    words = list(arguments)
    while words:
        word = words.pop(0)
        if word == "--":
            # What stands behind is the prompt, whatever it looks like.
            break
        if not word.startswith("-"):
            continue
        option, equals, _ = _option(word)
        values = [] if equals or option in _FLAGS else _values(option, words)
        if option not in _OF_ONE_CONTEXT:
            kept += [word, *values]
    return tuple(kept)


def again(request: LaunchRequest) -> tuple[str, ...]:
    """What an agent is started with, the first time or again."""
    arguments = request.arguments
    if request.resume is not None:
        return ("--resume", request.resume, *afresh(arguments))
    is_again = request.prompt is not None or request.afresh
    return afresh(arguments) if is_again else arguments


def _option(word: str) -> tuple[str, str, str]:
    """Its name, whether its value is in the same word, and that value; ``-rID`` is one too."""
    if word.startswith("-r") and len(word) > len("-r"):
        return "-r", "=", word.removeprefix("-r")
    return word.partition("=")


def _values(option: str, words: list[str]) -> list[str]:
    """The words that belong to an option, taken from those behind it."""
    found: list[str] = []
    most = len(words) if option in _LISTS else 1
    while words and len(found) < most and not words[0].startswith("-"):
        found.append(words.pop(0))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    arguments: tuple[str, ...]
    """What is handed on as it came."""
    context: ContextId | None
    """Known beforehand, unless an older conversation is resumed."""
    is_own_id: bool
    """The context's id is to be given by us."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """From the person's own --settings."""


def read(arguments: tuple[str, ...], cwd: str) -> CommandLine:
    """Raises LaunchFailedError for settings that cannot be read."""
    rest: list[str] = []
    settings: dict[str, Any] = {}
    given_id = None
    resumes = forks = False
    words = iter(arguments)
    for word in words:
        option, equals, value = _option(word)
        if option == "--settings":
            settings = _settings(value if equals else next(words, ""), cwd)
            continue
        if option == "--session-id":
            given_id = value if equals else next(words, "")
            rest += [option, given_id]
            continue
        resumes |= option in _RESUMES
        forks |= option == "--fork-session"
        rest.append(word)
    is_own_id = given_id is None and (forks or not resumes)
    context = ContextId(given_id or str(uuid.uuid4())) if is_own_id or given_id else None
    return CommandLine(
        arguments=tuple(rest), context=context, is_own_id=is_own_id, settings=settings
    )


def _settings(given: str, cwd: str) -> dict[str, Any]:
    """A file's name or the JSON itself, as the client takes both."""
    try:
        text = given if given.lstrip().startswith("{") else _content(Path(cwd, given))
        settings = json.loads(text)
    except (OSError, ValueError) as error:
        raise LaunchFailedError(f"--settings {given}: {error}. Mend it or leave it out.") from None
    if not isinstance(settings, dict):
        raise LaunchFailedError(f"--settings {given}: it is no JSON object.")
    return settings


def _content(path: Path) -> str:
    """Of an ordinary file: a pipe or a device could keep us waiting for ever."""
    if path.exists() and not path.is_file():
        raise OSError("it is no ordinary file")
    if path.stat().st_size > LARGEST_SETTINGS:
        raise OSError(f"it has more than {LARGEST_SETTINGS} bytes")
    return path.read_text("utf-8")
