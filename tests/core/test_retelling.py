"""Conversations told again in a given space."""

from hypothesis import given
from hypothesis import strategies as st

from sm.core.exchange import SM, Deed, Exchange, Result, Role
from sm.core.retelling import NOTHING, Room, Told, newest_lines, retell
from sm.core.shortening import size

ROOMY = Room(size=100_000, lines=10_000)
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=300)
LONG = st.integers(1, 8_000).map(lambda n: "word `x` ü\n" * (n // 10) + "end")


def when(at: float) -> str:
    return f"at {at:.0f}"


def asked(text: str, sender: str | None = None, *, is_waiting: bool = False) -> Exchange:
    return Exchange(role=Role.ASKED, text=text, sender=sender, at=1.0, is_waiting=is_waiting)


def said(text: str) -> Exchange:
    return Exchange(role=Role.SAID, text=text)


def ran(line: str, output: str = "", *, failed: bool = False) -> Exchange:
    result = Result(is_failed=failed, output=output)
    return Exchange(role=Role.CALLED, tool="Bash", text=line, deed=Deed.COMMAND, result=result)


def exchanges(texts: st.SearchStrategy[str]) -> st.SearchStrategy[Exchange]:
    return st.one_of(
        st.builds(asked, texts),
        st.builds(said, texts),
        st.builds(ran, texts, texts),
        st.builds(Exchange, role=st.just(Role.SUMMED), text=texts),
        st.builds(Exchange, role=st.just(Role.NOTED), text=texts),
    )


def test_a_short_conversation_is_told_whole_and_in_order() -> None:
    """Who said what, what was run and what came of it."""
    told = retell(
        (
            asked("Port the reader\n\n  exactly so"),
            said("I run the tests."),
            ran("make test", "1 failed", failed=True),
            asked("and hurry", "bob"),
            Exchange(role=Role.CALLED, tool="Write", text="a.py", deed=Deed.CHANGE),
        ),
        ROOMY,
        when,
    )

    assert told.text == (
        "Oldest first:\n\n```\n"
        "[the person, at 1]\nPort the reader\n\n  exactly so\n"
        "[you said]\nI run the tests.\n"
        "[tool] Bash: make test → failed\n1 failed\n"
        "[the session bob, at 1]\nand hurry\n"
        "[tool] Write: a.py → no result on record\n"
        "```\n"
    )
    assert (told.lines, told.shown) == (11, 5)


def test_what_was_typed_and_never_given_says_so() -> None:
    assert "[the person, at 1, not given to you yet]\nlater" in (
        retell((asked("later", is_waiting=True),), ROOMY, when).text
    )


def test_fences_in_a_text_do_not_end_the_block() -> None:
    told = retell((said("```\ncode\n````"),), ROOMY, when)

    assert told.text.endswith("`````\n[you said]\n```\ncode\n````\n`````\n")


def test_fences_that_grow_with_their_content_stay_within_the_space() -> None:
    room = Room(size=6_000, lines=99)

    assert size(retell((said("`" * 900),) * 4, room, when).text) <= 6_000
    assert size(retell((asked("`" * 2_500), said("`" * 9)), room, when).text) <= 6_000


def test_what_was_printed_goes_first_then_the_agents_words_then_old_requests() -> None:
    """Two hundred rounds in the space of a few: every request of them is told word for word for
    longer than any reply is."""
    rounds = [
        (
            asked(f"please do step {n}"),
            said(f"Reply {n}: {'so it is ' * 60}"),
            ran(f"do {n}", f"printed {'much ' * 400}"),
        )
        for n in range(200)
    ]
    told = retell([one for three in rounds for one in three], Room(size=20_000, lines=9_999), when)

    whole = [n for n in range(200) if f"Reply {n}: {'so it is ' * 60}".strip() in told.text]
    brief = [n for n in range(200) if f"Reply {n}: so it is" in told.text]
    requests = [n for n in range(200) if f"]\nplease do step {n}\n" in told.text]
    assert whole == list(range(whole[0], 200))
    assert brief == list(range(brief[0], 200))
    assert requests == list(range(requests[0], 200))
    assert requests[0] < brief[0] < whole[0]
    assert told.text.count("→ ok\nprinted") == 3
    assert "in short, requests word for word; the rest left out" in told.text.partition("\n")[0]


def test_the_latest_request_is_there_however_much_came_after_it() -> None:
    wish = "The very last wish" + ", in detail" * 200
    after = [said("and so on " * 300) for _ in range(100)]

    told = retell((asked("old"), asked(wish), *after), Room(size=9_000, lines=99), when)

    assert f"]\n{wish}\n" in told.text


def test_a_request_longer_than_all_the_space_keeps_its_beginning_and_its_end() -> None:
    text = f"BEGIN {'x' * 50_000} END"

    told = retell((asked(text), said("Yes.")), Room(size=4_000, lines=99), when)

    assert "BEGIN xxx" in told.text
    assert "xxx END" in told.text
    assert "bytes left out" in told.text
    assert "[you said]\nYes." in told.text


def test_sm_itself_is_no_person() -> None:
    told = retell((asked("Read the document", SM),), ROOMY, when)

    assert "[the session sm, at 1]\nRead the document" not in told.text
    assert "[sm, at 1]\nRead the document" in told.text


@given(st.lists(exchanges(TEXTS | LONG), max_size=40), st.integers(0, 30_000), st.integers(0, 400))
def test_there_is_never_more_than_there_is_room_for(
    given_: list[Exchange], room: int, lines: int
) -> None:
    told = retell(given_, Room(size=room, lines=lines), when)

    assert size(told.text) <= room
    assert told.lines <= lines
    assert told == NOTHING or told.text.count("\n") <= told.lines + 4


@given(st.lists(exchanges(TEXTS), min_size=1, max_size=60), st.integers(3_000, 30_000))
def test_the_newest_is_kept_and_the_latest_request_exact(given_: list[Exchange], room: int) -> None:
    told = retell(given_, Room(size=room, lines=9_999), when)

    latest = next((e for e in reversed(given_) if e.is_request), None)
    assert latest is None or f"]\n{latest.text}" in told.text
    assert told.shown >= 1
    if told.shown < len(given_):
        assert "left out" in told.text.partition("\n")[0]


@given(st.lists(TEXTS, max_size=50), st.integers(0, 5_000), st.integers(0, 60))
def test_of_a_raw_text_the_end_is_kept(texts: list[str], room: int, lines: int) -> None:
    raw = [line for text in texts for line in text.split("\n")]

    told = newest_lines(raw, Room(size=room, lines=lines))

    assert size(told.text) <= room
    assert told.lines <= lines
    if told.lines:
        assert "\n".join(raw[-told.lines :]) in told.text


def test_a_raw_text_that_fits_is_there_to_the_last_line() -> None:
    assert newest_lines(["a", "b"], ROOMY) == Told(text="```\na\nb\n```\n", lines=2, shown=0)
    assert newest_lines([str(n) for n in range(99)], Room(size=9_999, lines=2)).text == (
        "```\n97\n98\n```\n"
    )
