"""The story of a whole transcript."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.agents.claude.telling import AT, asks, calls, entry, gives, replies, says, told
from tests.kit.planted import TORN, plant

from sm.adapters.agents.claude import story
from sm.core.story import Story, Summary, Trouble, Utterance

SAMPLES = json.loads(Path(__file__).with_name("transcripts.json").read_text())
START = 1794772800.0


def test_a_conversation_is_told_in_the_order_of_time(tmp_path: Path) -> None:
    """Records may stand out of order: what came last came last."""
    heard = told(
        tmp_path,
        asks("first", 1),
        says("last words", 9),
        asks("second", 8),
        says("I decided to use tabs. Fine.", 5),
    )

    assert [r.text for r in heard.requests] == ["first", "second"]
    assert heard.last_words == "last words"
    assert heard.is_answered
    assert [d.text for d in heard.decisions] == ["I decided to use tabs."]
    assert (heard.began_at, heard.ended_at) == (START + 1, START + 9)
    assert (heard.cwd, heard.branch, heard.context, heard.model) == (
        "/shop", "main", "c74cc080", "opus",
    )  # fmt: skip


def test_a_request_nobody_answered_is_known_as_such(tmp_path: Path) -> None:
    assert not told(tmp_path, asks("a", 1), says("b", 2), asks("c", 3)).is_answered


def queue(operation: str, second: int, text: str = "") -> dict[str, Any]:
    content = {"content": text} if text else {}
    return {"type": "queue-operation", "operation": operation, "timestamp": AT.format(second),
            **content}  # fmt: skip


def test_what_was_typed_and_not_given_yet_is_a_request_that_waits(tmp_path: Path) -> None:
    """A rotation would lose it: it stands in the client alone."""
    heard = told(
        tmp_path,
        queue("enqueue", 1, "given"),
        queue("remove", 2),
        queue("enqueue", 3, "lost long ago, with its client"),
        asks("go", 4),
        queue("enqueue", 5, "<task-notification>…"),
        queue("enqueue", 6, "and this too"),
    )

    assert [(r.text, r.is_waiting) for r in heard.requests] == [
        ("go", False),
        ("and this too", True),
    ]
    assert not heard.is_answered


def test_a_turn_is_at_its_end_when_the_agent_spoke_last(tmp_path: Path) -> None:
    """Whoever calls a tool goes on; what was said before it is no end."""
    works = [asks("go", 0), says("I look.", 1), calls("Bash", "A", 2, command="make")]
    done = [*works, gives("ok", "A", 3), says("Done.", 4)]

    cut = told(tmp_path, *works, gives("ok", "A", 3))
    ended = told(tmp_path, *done)
    asked = told(tmp_path, *done, asks("and this", 5))
    again = told(tmp_path, *done, asks("and this", 5), calls("Bash", "B", 6, command="ls"))

    assert (cut.answered_at, cut.is_at_rest) == (0.0, False)
    assert (ended.answered_at, ended.is_at_rest) == (START + 4, True)
    assert (asked.answered_at, asked.is_at_rest) == (START + 4, False)
    assert (again.answered_at, again.is_at_rest) == (START + 4, False)


def test_our_own_words_are_no_requests(tmp_path: Path) -> None:
    notice = "[sm message 0123456789ab from sm]\nIt fills.\n[end of message 0123456789ab]"

    assert [r.text for r in told(tmp_path, asks("go"), asks(notice)).requests] == ["go"]


def test_thinking_is_never_copied(tmp_path: Path) -> None:
    thought = replies({"type": "thinking", "thinking": "I decided SECRETLY", "signature": "x"})

    assert "SECRETLY" not in repr(told(tmp_path, asks("go"), thought, says("done")))


def test_sub_agents_are_not_heard(tmp_path: Path) -> None:
    side = [asks("sub task", 2, isSidechain=True), says("sub words", 3, isSidechain=True)]

    assert "sub" not in repr(told(tmp_path, asks("go"), *side))


def test_errors_of_the_service_and_interrupts_are_troubles(tmp_path: Path) -> None:
    error = replies({"type": "text", "text": "API Error: 529"}, 2, isApiErrorMessage=True)
    heard = told(tmp_path, asks("go"), error, error, asks("[Request interrupted by user]", 3))

    assert heard.troubles == (
        Trouble(text="API Error: 529", at=START + 2, times=2),
        Trouble(text="The person interrupted the agent.", at=START + 3),
    )
    assert heard.last_words == ""


def test_summaries_of_compactions_are_kept_as_such(tmp_path: Path) -> None:
    heard = told(
        tmp_path,
        asks("go"),
        entry("system", subtype="compact_boundary"),
        asks("This session is being continued …", 2, isCompactSummary=True),
    )

    assert heard.compactions == 1
    assert heard.summaries == (Summary(text="This session is being continued …", at=START + 2),)
    assert [r.text for r in heard.requests] == ["go"]


def test_the_last_exchanges_are_told_in_full(tmp_path: Path) -> None:
    """Pictures by name alone, what was printed shortened."""
    heard = told(
        tmp_path,
        asks([{"type": "text", "text": "look"}, {"type": "image", "source": {"data": "AAAA"}}]),
        calls("Bash", command="make test"),
        gives([{"type": "text", "text": "ok"}, {"type": "image", "source": {"data": "AAAA"}}]),
        says("it works", 4),
    )

    assert heard.last == (
        Utterance(who="person", text="look\n(with a picture)"),
        Utterance(who="agent", text="→ Bash: make test"),
        Utterance(who="tool", text="ok\n(a picture)", is_output=True),
        Utterance(who="agent", text="it works"),
    )


def test_a_record_of_many_megabytes_is_no_hindrance(tmp_path: Path) -> None:
    heard = told(
        tmp_path,
        asks("go"),
        calls("Bash", command="cat big"),
        gives("x" * 9_000_000),
        says("done", 4),
    )

    assert [c.line for c in heard.commands] == ["cat big"]
    assert heard.last[2].text == "(9000 KB of output)"


def test_a_torn_end_takes_nothing_else_along(tmp_path: Path) -> None:
    assert [r.text for r in told(tmp_path, asks("go"), TORN).requests] == ["go"]


@pytest.mark.parametrize("name", SAMPLES)
def test_recorded_transcripts_can_be_read(name: str, tmp_path: Path) -> None:
    """Including a sub-agent's own, which tells nothing."""
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in SAMPLES[name]))

    assert isinstance(story.read(path), Story | None)


def test_the_real_clients_own_record_of_some_work() -> None:
    """Recorded with client 2.1.197: failures, tasks, work in the background, a prompt typed into
    a running turn, an interrupt and a refusal; a call stands before the prompt that led to it."""
    heard = story.read(Path(__file__).with_name("work.jsonl"))

    assert heard is not None
    assert [r.text for r in heard.requests] == [
        "do the thing",
        "first request please",
        "second request while busy — ünï",
        "long one",
        "ask me",
        "the end",
    ]
    assert [(t.text, t.is_begun) for t in heard.todos] == [("do x", True), ("do y", False)]
    assert [(f.path, f.reads, f.changes) for f in heard.files] == [("/home/dev/work/new.txt", 1, 2)]
    assert [(c.line, c.status) for c in heard.commands] == [
        ("echo out; echo err >&2; exit 3", 3),
        ("sleep 3; echo bgdone", 0),
        ("sleep 5", 0),
        ("sleep 3", 143),
        ("seq 1 20000", 0),
        ("sleep 4; echo hi", 0),
    ]
    assert [(f.what, f.error) for f in heard.failures][:2] == [
        ("echo out; echo err >&2; exit 3", "Exit code 3\nout\nerr"),
        (
            "Read /home/dev/work/nofile.txt",
            "File does not exist. Note: your current working directory is /home/dev/work.",
        ),
    ]
    assert [t.text for t in heard.troubles] == [
        "The person refused or stopped: sleep 60",
        "The person refused or stopped: Write /home/dev/work/n.txt",
        "The person interrupted the agent.",
    ]
    assert heard.unfinished == ()
    assert [u.text for u in heard.last if u.who == "person"][1:3] == [
        "first request please",
        "second request while busy — ünï",
    ]


def test_a_file_that_is_no_transcript_tells_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"level":"info"}\n{"type":"event_msg"}\n')

    assert story.read(path) is None
    with pytest.raises(FileNotFoundError):
        story.read(tmp_path / "none")


def test_nothing_that_only_looks_like_a_prompt_is_one(tmp_path: Path) -> None:
    """Queued, quoted, printed, of a sub-agent, or the client's own."""
    planted = plant(tmp_path / "t.jsonl", 300_000, seed=3)
    heard = story.read(planted.path)

    assert heard is not None
    texts = " ".join(request.text for request in heard.requests)
    assert not any(
        words in texts
        for words in ("queued only", "sidechain prompt", "never a prompt", "not a prompt at all",
                      "keep going", "local-command", "being continued")
    )  # fmt: skip


WEIRD: tuple[Any, ...] = (
    None, 0, 1e308, "", [], {}, [None], {"a": None}, True, "\ud800", "9999-12-31T23:59:59Z",
    "0001-01-01T00:00:00", ["tool_use"],
)  # fmt: skip


def changed(value: Any, chance: random.Random) -> Any:
    """The same with some of it missing, or of another form."""
    if chance.random() < 0.03:
        return chance.choice(WEIRD)
    if isinstance(value, dict):
        return {k: changed(v, chance) for k, v in value.items() if chance.random() > 0.01}
    return [changed(v, chance) for v in value] if isinstance(value, list) else value


@pytest.mark.parametrize("seed", range(30))
def test_records_of_any_form_are_passed_over(seed: int, tmp_path: Path) -> None:
    """A client of tomorrow may write anything; a disk may have eaten a byte."""
    chance = random.Random(seed)
    planted = plant(tmp_path / "t.jsonl", 100_000, seed=seed)
    records = [json.loads(line) for line in planted.path.read_bytes().split(b"\n")[:-1]
               if line.endswith(b"}")]  # fmt: skip
    lines = b"\n".join(json.dumps(changed(record, chance)).encode() for record in records)
    eaten = bytearray(lines)
    for _ in range(20):
        eaten[chance.randrange(len(eaten))] = chance.randrange(256)
    planted.path.write_bytes(lines + b"\n" + bytes(eaten))

    heard = story.read(planted.path)

    assert heard is not None
    assert heard.requests


def test_what_was_said_before_the_last_exchanges_is_kept_up_to_a_compaction(
    tmp_path: Path,
) -> None:
    """What the agent has forgotten is in its summary."""
    heard = told(
        tmp_path,
        says("forgotten", 1),
        entry("system", 2, subtype="compact_boundary"),
        says("said early", 3),
        *(asks(f"and {n}", 4) for n in range(story.LAST_RECORDS - 1)),
        says("said late", 5),
    )

    assert heard.earlier == ("said early",)
    assert heard.last[-1] == Utterance(who="agent", text="said late")
