"""Automatic documents against planted facts, in short; `make prove` shows the whole sizes."""

from pathlib import Path
from typing import Any

import pytest

from sm.adapters.agents import Dialects
from sm.adapters.handoffs.folders import HandoffFolders
from sm.adapters.system import SystemClock
from sm.core.draft import BUDGET
from sm.core.inline import ESSENCE
from sm.engine.drafts import Drafts
from sm.redaction.redactor import Redactor
from tests.adapters.agents.claude.telling import asks, calls, fails, gives, says, write
from tests.kit.planted import plant
from tests.prove.drafts import SHARE, judged


@pytest.mark.parametrize("long_request", [False, True])
@pytest.mark.parametrize("size", [200_000, 5_000_000])
def test_a_document_tells_what_matters(size: int, long_request: bool, tmp_path: Path) -> None:
    """Of 30 planted facts nearly all, what was asked exactly, and never a thought."""
    planted = plant(tmp_path / "t.jsonl", size, seed=11, long_request=long_request)
    outcome = judged(planted)

    assert len(planted.facts) == 30
    assert len({fact.kind for fact in planted.facts}) == 10
    assert any(fact.behind for fact in planted.facts)
    assert outcome.share >= SHARE, outcome.missing
    assert outcome.exact
    assert outcome.leaks == ()
    assert outcome.size <= BUDGET


TOKEN = "pfJBd0Kh8oOOL8dKLzdocJ2iQ7wXa91Z"
HOOK = f"https://hooks.slack.com/services/T0UJZDE8GX/B0D6NCF10E/{TOKEN[:24]}"
BEARER = f"curl --header 'Authorization: Bearer {TOKEN}'"
NOISE = "starting deploy of version 12 to production cluster eu-west-1 "
KEY = "\n".join(f"{number:02}{TOKEN}{TOKEN[:30]}" for number in range(25))
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{KEY}\n-----END RSA PRIVATE KEY-----\n"


def recorded(secret: str, before: int, behind: int) -> list[dict[str, Any]]:
    """The same secret in everything that is told of a session, so far from both ends."""
    text = f"{(NOISE * 200)[:before]} {secret} {(NOISE * 600)[:behind]}".strip()
    return [
        asks(text, 0),
        calls("Bash", "A", 1, command=text),
        fails(f"Exit code 1\n{text}", "A", 2),
        calls("Bash", "B", 3, command="make"),
        gives(f"made\n{text}", "B", 4),
        says(f"I decided to use Redis because of this. {text}", 5),
        calls("TodoWrite", "C", 6, todos=[{"content": text, "status": "pending"}]),
        gives("ok", "C", 7),
        asks([{"type": "text", "text": text}], 8),
        calls("Bash", "D", 9, command=text, run_in_background=True),
        gives("Command running in background with ID: b1.", "D", 10),
        calls("Bash", "E", 11, command=f"{text} # again"),
    ]


@pytest.mark.anyio
@pytest.mark.parametrize("secret", [HOOK, BEARER, PEM], ids=["url", "header", "key"])
async def test_no_part_of_a_secret_is_left_wherever_a_text_is_cut(
    secret: str, tmp_path: Path
) -> None:
    """Commands, errors, output, words, requests and lists, shortened at every place of them."""
    drafts = Drafts(
        dialects=Dialects(),
        handoffs=HandoffFolders(lambda session: tmp_path / session),
        clock=SystemClock(),
        redact=Redactor().redact,
    )
    path = tmp_path / "t.jsonl"
    far = (0, 60, 130, 180, 400, 2_000, 9_000)
    places = [(before, behind) for before in far for behind in (*far, 7_900, 20_000)]
    for before, behind in places:
        write(path, *recorded(secret, before, behind))
        for budget in (BUDGET, ESSENCE):
            draft = await drafts.of_transcript(str(path), budget)
            told = draft.text + "".join(aside.text for aside in draft.asides)
            left = [n for n in range(len(TOKEN) - 7) if TOKEN[n : n + 8] in told]
            assert not left, (before, behind, budget)
            assert "[redacted:" in told
