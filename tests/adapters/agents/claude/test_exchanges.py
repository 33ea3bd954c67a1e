"""The newest exchanges of a transcript, as the real client writes it."""

from pathlib import Path
from typing import Any

from tests.adapters.agents.claude.telling import (
    asks,
    calls,
    entry,
    fails,
    gives,
    queues,
    replies,
    says,
    write,
)

from sm.adapters.agents.claude import exchanges
from sm.core.exchange import SM, Deed, Exchange, Result

PLENTY = 1_000_000


def read(path: Path, *records: dict[str, Any] | bytes, room: int = PLENTY) -> list[Exchange]:
    return list(exchanges.read(write(path / "t.jsonl", *records), room))


def brief(found: list[Exchange]) -> list[tuple[str, str]]:
    return [(one.role.value, one.text) for one in found]


def test_requests_replies_and_calls_come_in_the_order_of_time(tmp_path: Path) -> None:
    """Also where a reply stands before what it answers."""
    found = read(
        tmp_path,
        says("I look.", 2),
        asks("Port it", 1),
        calls("Bash", second=3, command="make", description="Build"),
        gives("ok", second=4),
        says("Done.", 5),
        queues("and hurry", 6),
    )

    assert brief(found) == [
        ("asked", "Port it"),
        ("said", "I look."),
        ("called", "make"),
        ("said", "Done."),
        ("asked", "and hurry"),
    ]
    assert (found[2].tool, found[2].deed, found[2].result) == (
        "Bash", Deed.COMMAND, Result(output="ok"),
    )  # fmt: skip


def test_a_call_without_a_result_has_none(tmp_path: Path) -> None:
    """So it is known what a crash cut."""
    found = read(
        tmp_path,
        asks("go", 1),
        calls("Bash", "A", 2, command="false"),
        fails("Exit code 1\nno", "A", 3),
        calls("Write", "B", 4, file_path="/shop/a.py", content="x"),
    )

    assert found[1].result == Result(is_failed=True, output="Exit code 1\nno")
    assert (found[2].text, found[2].deed, found[2].is_cut) == ("/shop/a.py", Deed.CHANGE, True)


def test_a_question_to_the_person_is_told_with_its_words(tmp_path: Path) -> None:
    asked = [{"question": "Left or right?", "options": []}, {"question": "Now?"}]

    (found,) = read(tmp_path, calls("AskUserQuestion", questions=asked))

    assert (found.text, found.deed) == ("Left or right? Now?", Deed.QUESTION)


def test_who_asked_is_told(tmp_path: Path) -> None:
    """A person, another session, or sm itself."""
    envelope = "[sm message 0123456789ab from {}]\n{}\n[end of message 0123456789ab]"

    found = read(
        tmp_path,
        asks("typed", 1),
        asks(envelope.format("bob", "from bob"), 2),
        asks(envelope.format("sm", "a notice"), 3),
        asks([{"type": "text", "text": "see"}, {"type": "image"}], 4),
    )

    assert [(one.sender, one.is_request) for one in found[:3]] == [
        (None, True), ("bob", True), (SM, False),
    ]  # fmt: skip
    assert found[1].text == "from bob"
    assert found[3].text == "see\n(with a picture that is not kept)"


def test_what_is_no_exchange_is_passed_over(tmp_path: Path) -> None:
    """Thinking, sub-agents, torn lines, what the client says to itself."""
    found = read(
        tmp_path,
        replies({"type": "thinking", "thinking": "hm"}, 1),
        says("of a sub-agent", 2, isSidechain=True),
        b'{"type":"assistant","mess\n',
        b"\x00\xff garbage\n",
        entry(
            "assistant", 3, message={"model": "<synthetic>", "content": "No response requested."}
        ),
        asks("<local-command-stdout>x</local-command-stdout>", 4),
        entry("system", 5, subtype="turn_duration"),
        says("all there is", 6),
    )

    assert brief(found) == [("said", "all there is")]


def test_errors_interrupts_and_summaries_are_told_as_such(tmp_path: Path) -> None:
    error = {"model": "<synthetic>", "content": [{"type": "text", "text": "API Error: 529"}]}
    found = read(
        tmp_path,
        asks("This session is being continued", 1, isCompactSummary=True),
        entry("assistant", 2, message=error, isApiErrorMessage=True),
        asks([{"type": "text", "text": "[Request interrupted by user]"}], 3),
    )

    assert brief(found) == [
        ("summed", "This session is being continued"),
        ("noted", "API Error: 529"),
        ("noted", "The person interrupted the agent."),
    ]


def test_only_as_much_is_read_as_there_is_room_for(tmp_path: Path) -> None:
    """A transcript of a month costs what one of a day does."""
    many = [says(f"{n} " + "x" * 1000, n % 60) for n in range(60)]

    found = read(tmp_path, *many, room=10_000)

    assert len(found) == 10
    assert found[-1].text.startswith("59 ")


def test_outputs_are_whole_for_the_last_results_only(tmp_path: Path) -> None:
    """Nothing is cut here: half a secret would not be recognised."""
    rounds = [
        part
        for n in range(20)
        for part in (
            calls("Bash", f"c{n}", n, command=f"run {n}"),
            gives(f"{n} " + "y" * 20_000, f"c{n}", n),
        )
    ]

    found = [one.result for one in read(tmp_path, *rounds, calls("Bash", "z", 21, command="last"))]

    assert found[-1] is None
    assert all(one is not None for one in found[:-1])
    assert [len(one.output) > 20_000 for one in found if one] == [False] * 8 + [True] * 12


def test_a_huge_result_is_told_by_its_size(tmp_path: Path) -> None:
    found = read(tmp_path, calls("Bash", command="cat big"), gives("z" * 400_000))

    assert found[0].result is not None
    assert found[0].result.output.endswith("KB of output)")


def test_a_transcript_that_is_gone_has_none(tmp_path: Path) -> None:
    assert exchanges.read(tmp_path / "gone", PLENTY) == ()
