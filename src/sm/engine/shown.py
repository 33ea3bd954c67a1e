"""A session as it may be shown: agents, their dialogs and their services say what they like."""

from collections.abc import Callable
from dataclasses import replace

from sm.core.crash import Crash, Recovery
from sm.core.state import Session, Sighting

Redact = Callable[[str], str]


def without_secrets(session: Session, redact: Redact) -> Session:
    """Whatever is quoted in it, with every secret replaced."""
    exit_, crash, dialog = session.exit, session.crash, session.dialog
    return replace(
        session,
        last_words=redact(session.last_words),
        dialog=None if dialog is None else redact(dialog),
        verdict=_sighting(session.verdict, redact),
        sightings=tuple(_sighting(one, redact) for one in session.sightings),
        exit=None if exit_ is None else replace(exit_, evidence=redact(exit_.evidence)),
        crash=None if crash is None else _crash(crash, redact),
        recoveries=tuple(_recovery(one, redact) for one in session.recoveries),
    )


def _sighting(one: Sighting, redact: Redact) -> Sighting:
    return replace(one, says=redact(one.says))


def _crash(crash: Crash, redact: Redact) -> Crash:
    return replace(crash, words=redact(crash.words))


def _recovery(one: Recovery, redact: Redact) -> Recovery:
    steps = tuple(replace(step, evidence=redact(step.evidence)) for step in one.steps)
    return replace(one, crash=_crash(one.crash, redact), steps=steps)
