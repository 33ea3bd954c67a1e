"""A session as it may be shown: agents, their dialogs and their services say what they like."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise

from sm.core.crash import Crash, Recovery
from sm.core.state import Session, Sighting

Redact = Callable[[str], str]


def without_secrets(session: Session, redact: Redact) -> Session:
    """Whatever is quoted in it, with every secret replaced."""
    exit_, crash, dialog = session.exit, session.crash, session.dialog
    return replace(
        session,
        agent=agent_shown(session.agent, redact),
        arguments=words_shown(session.arguments, redact),
        last_words=redact(session.last_words),
        dialog=None if dialog is None else redact(dialog),
        verdict=_sighting(session.verdict, redact),
        sightings=tuple(_sighting(one, redact) for one in session.sightings),
        exit=None if exit_ is None else replace(exit_, evidence=redact(exit_.evidence)),
        crash=None if crash is None else _crash(crash, redact),
        recoveries=tuple(_recovery(one, redact) for one in session.recoveries),
    )


def agent_shown(agent: str, redact: Redact) -> str:
    """An agent's name; one that is none of those sm knows is a command line."""
    return redact(agent) if " " in agent else agent


def words_shown(words: Iterable[str], redact: Redact) -> tuple[str, ...]:
    """A command line's words without secrets; the option before a value tells what it is."""
    return tuple(_word(option, word, redact) for option, word in pairwise(("", *words)))


def _word(option: str, word: str, redact: Redact) -> str:
    if option.startswith("-"):
        head, together = f"{option} ", redact(f"{option} {word}")
        if together.startswith(head):
            return together.removeprefix(head)
    return redact(word)


def _sighting(one: Sighting, redact: Redact) -> Sighting:
    return replace(one, says=redact(one.says))


def _crash(crash: Crash, redact: Redact) -> Crash:
    return replace(crash, words=redact(crash.words))


def _recovery(one: Recovery, redact: Redact) -> Recovery:
    steps = tuple(replace(step, evidence=redact(step.evidence)) for step in one.steps)
    return replace(one, crash=_crash(one.crash, redact), steps=steps)
