"""The automatic document as a whole: its order, its budget, the words of the person."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sm.api.document import check
from sm.core.draft import LONG_REQUEST, SMALLEST, Around, Draft, Heading, compose
from sm.core.story import Command, Decision, Request, Story, Summary, Todo, TouchedFile, Utterance

HEADING = Heading(
    id="HO-20260202-064530-c74cc080",
    session="c74cc080-94b9-4841-b82f-a62cfb8efdc0",
    channel="shop",
    created="2026-02-02T06:45:30Z",
    kind="auto",
    cwd="/home/dev/shop",
    name="ada",
    context=3,
    transcript="/t.jsonl",
)
REQUESTS = tuple(
    Request(text=f"Request {n}: `do` it\n```\nword for word\n```\nand no more", at=float(n))
    for n in range(1, 7)
)
STORY = Story(
    cwd="/home/dev/shop",
    requests=REQUESTS,
    todos=(Todo(text="write the migration"),),
    decisions=(Decision(text="We chose tabs.", at=1.0),),
    files=(TouchedFile(path="/home/dev/shop/a.py", reads=1, changes=1, at=1.0),),
    commands=(Command(line="make test", at=1.0, said="12 passed"),),
    last=(Utterance(who="agent", text="it works"),),
    last_words="it works",
    summaries=(Summary(text="what was before", at=1.0),),
)
FULL = replace(
    STORY,
    decisions=tuple(Decision(text=f"I chose {n} over all others", at=1.0) for n in range(900)),
    files=tuple(TouchedFile(path=f"/x/{n}/y.py", reads=1, changes=n % 2, at=1.0)
                for n in range(900)),
    commands=tuple(Command(line=f"make target-{n}", at=1.0, said="fine") for n in range(900)),
    last=tuple(Utterance(who="agent", text=f"{n} " * 99) for n in range(90)),
    summaries=(Summary(text="before " * 9000, at=1.0),),
)  # fmt: skip


def when(at: float) -> str:
    return f"at {at:g}"


def drafted(story: Story = STORY, budget: int = 30_000, cwd: str = HEADING.cwd) -> Draft:
    return compose(
        story, replace(HEADING, cwd=cwd), budget=budget, around=Around(git="branch: b"), when=when
    )


def test_the_document_begins_with_its_metadata() -> None:
    assert drafted().text.splitlines()[:8] == [
        "<!-- HANDOFF-ID: HO-20260202-064530-c74cc080 -->",
        "<!-- SESSION: c74cc080-94b9-4841-b82f-a62cfb8efdc0 -->",
        "<!-- CHANNEL: shop -->",
        "<!-- CREATED: 2026-02-02T06:45:30Z -->",
        "<!-- TYPE: auto -->",
        "<!-- WORKING-DIR: /home/dev/shop -->",
        "",
        "# Automatic handoff: ada",
    ]


def test_what_a_successor_needs_first_comes_first() -> None:
    assert re.findall(r"^## (.*)$", drafted().text, re.M) == [
        "Goal: what was asked, word for word",
        "Open todo items",
        "Next actions",
        "State",
        "Decisions and plans",
        "Files",
        "Commands",
        "Failed attempts and errors",
        "In flight and open ends",
        "Git",
        "Last exchanges",
        "Summary of earlier context",
    ]


def test_a_successor_would_miss_nothing_in_it() -> None:
    """By the same rules an agent's own document is checked with."""
    assert [found.words for found in check(drafted().text, lambda _: True)] == []


def test_the_first_and_the_latest_requests_are_word_for_word() -> None:
    text = drafted(FULL).text

    for request in (REQUESTS[0], *REQUESTS[-3:]):
        assert f"\n````\n{request.text}\n````\n" in text
    assert "2 requests between, in brief" in text
    assert REQUESTS[2].text not in text


def test_a_short_rule_between_long_requests_is_told() -> None:
    """Only what is no more than a nod is left out."""
    first, *rest = REQUESTS
    rule, nod = Request(text="leave the tax alone", at=1.5), Request(text="go on", at=1.6)
    text = drafted(replace(STORY, requests=(first, rule, nod, *rest))).text

    assert ") leave the tax alone\n" in text
    assert ") go on\n" not in text


def test_short_answers_do_not_count_as_the_latest_requests() -> None:
    """ "Go on" is an answer to what was asked before it."""
    yes = tuple(Request(text="go on", at=9.0 + n) for n in range(3))
    text = drafted(replace(STORY, requests=(*REQUESTS, *yes))).text

    assert all(request.text in text for request in REQUESTS[-3:])
    assert text.count("\ngo on\n") == 3


def test_requests_of_earlier_contexts_come_first() -> None:
    began = Request(text="How it all began, word for word, long ago and far away", at=0.5)
    around = Around(carried=(began,))
    text = compose(STORY, HEADING, around=around, when=when).text

    assert f"First, at 0.5:\n\n```\n{began.text}\n```" in text


def test_another_sessions_request_says_so_and_pictures_are_named() -> None:
    asked = Request(text="use it", at=1.0, sender="bea", images=2)
    text = drafted(replace(STORY, requests=(asked,))).text

    head = "The latest, from the session bea, at 1, with 2 pictures that cannot be kept:"
    assert f"{head}\n\n```\nuse it\n```" in text


def test_a_request_that_still_waits_says_so() -> None:
    text = drafted(replace(STORY, requests=(Request(text="go", at=1.0, is_waiting=True),))).text

    assert "The latest, at 1, typed while the agent worked and not given to it yet:" in text


def test_a_very_long_request_is_kept_whole_beside_the_document() -> None:
    long = Request(text="begin " + "x" * LONG_REQUEST + " end", at=9.0)
    story = replace(STORY, requests=(*REQUESTS, long))
    draft = compose(story, HEADING, folder="/kept", when=when)

    (aside,) = draft.asides
    assert (aside.name, aside.text) == ("request-7.md", long.text)
    assert f"({len(long.text)} bytes, whole in /kept/request-7.md):" in draft.text
    assert "begin xxx" in draft.text
    assert "xxx end" in draft.text
    assert long.text not in draft.text
    assert "request-7.md, beside this document" in drafted(story).text


def test_three_requests_just_below_the_limit_are_all_whole() -> None:
    """With the usual budget, and still everything essential."""
    large = tuple(Request(text=f"{n}" * LONG_REQUEST, at=float(n)) for n in range(4))
    draft = drafted(replace(FULL, requests=large))

    assert all(request.text in draft.text for request in large[1:])
    assert [aside.text for aside in draft.asides] == [large[0].text]
    assert len(draft.text.encode()) <= 30_000
    assert "write the migration" in draft.text


@pytest.mark.parametrize("budget", [SMALLEST, 8_000, 30_000, 100_000])
def test_the_budget_is_kept_and_used(budget: int) -> None:
    size = len(drafted(FULL, budget).text.encode())

    assert budget * 0.8 <= size <= budget


@settings(max_examples=100, deadline=None)
@given(
    texts=st.lists(
        st.builds(lambda text, times: text * times, st.text(max_size=50), st.integers(1, 900)),
        max_size=6,
    ),
    budget=st.integers(SMALLEST, 40_000),
)
def test_any_words_fit_any_budget(texts: list[str], budget: int) -> None:
    requests = tuple(Request(text=text, at=float(n)) for n, text in enumerate(texts))
    story = replace(FULL, requests=requests, last_words="".join(texts))
    draft = drafted(story, budget)

    assert len(draft.text.encode(errors="replace")) <= budget
    assert draft == drafted(story, budget)


def test_names_cannot_end_a_comment_or_a_line() -> None:
    text = drafted(cwd="/a -->\n# b").text

    assert text.splitlines()[5] == "<!-- WORKING-DIR: /a --%3E%0A# b -->"
    assert "\n# b" not in text


def test_a_story_of_nothing_is_a_document_too() -> None:
    text = drafted(Story()).text

    assert "Nothing on record." in text
    assert "Nobody has asked for anything yet." in text
