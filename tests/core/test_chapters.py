"""Each part of an automatic document by itself."""

from dataclasses import replace

from sm.core import chapters
from sm.core.shortening import size
from sm.core.story import (
    Command,
    Decision,
    Failure,
    Request,
    Story,
    Summary,
    Todo,
    TouchedFile,
    Trouble,
    Unfinished,
    Utterance,
)

WHOLE = 10**6
ASKED = Request(text="go", at=1.0)


def when(at: float) -> str:
    return f"at {at:g}"


def test_begun_items_come_first() -> None:
    story = Story(todos=(Todo(text="later"), Todo(text="now", is_begun=True)))

    assert chapters.todos(story).render(WHOLE) == "- [ ] now (begun)\n- [ ] later\n"


def test_the_next_actions_follow_from_what_is_open() -> None:
    story = Story(
        requests=(ASKED,),
        todos=(Todo(text="now", is_begun=True), Todo(text="later")),
        unfinished=(
            Unfinished(kind="tool call without a result", what="make x", at=2.0),
            Unfinished(kind="sub-agent", what="survey", at=2.0, id="a1"),
        ),
        commands=(Command(line="make y", at=3.0, is_failed=True),),
    )

    assert chapters.next_actions(story, ASKED).render(WHOLE).splitlines() == [
        "1. Go on with the latest request above; the agent's last words are under State.",
        "2. `make x` was begun and has no result: see whether it took effect before you repeat it.",
        "3. Look after what still runs: see In flight.",
        "4. Go on with: now",
        "5. Then: later",
        "6. The last command failed (`make y`): see Failed attempts.",
    ]


def test_a_request_without_an_answer_is_the_next_action() -> None:
    story = Story(requests=(ASKED,), is_answered=False)

    assert "nothing was done after it" in chapters.next_actions(story, ASKED).render(WHOLE)
    assert "Nobody has asked" in chapters.next_actions(Story(), None).render(WHOLE)
    before = chapters.next_actions(Story(), ASKED).render(WHOLE)
    assert before.startswith("1. Go on with the latest request above")


def test_what_was_answered_is_not_to_be_done_again() -> None:
    answered = replace(ASKED, answered_in=2)

    told = chapters.next_actions(Story(), answered).render(WHOLE)

    assert told.startswith("1. The latest request was answered in context 2: do what is left of it")


def test_the_state_ends_with_the_agents_last_words() -> None:
    story = Story(last_words="half ```way```", ended_at=9.0, began_at=1.0, replies=1, branch="b")

    assert chapters.state(story, ["Session ada"], when).render(WHOLE) == (
        "- Session ada\n- Branch when it was last recorded: `b`\n"
        "- Worked from at 1 to at 9: 0 requests, 1 answer, 0 compactions\n"
        "\nThe agent's last words:\n\n````\nhalf ```way```\n````\n"
    )


def test_a_plan_outweighs_what_was_decided_in_passing() -> None:
    plan = Decision(text="1. Split it", at=25.5, is_plan=True)
    talk = tuple(Decision(text=f"I chose {n} over {n}", at=float(n)) for n in range(50))
    story = Story(decisions=(*talk[:26], plan, *talk[26:]))
    shown = chapters.decisions(story, when).render(300)

    assert "1. Split it" in shown
    assert "I chose 49" in shown
    assert "I chose 0" in shown
    assert "I chose 25" not in shown
    assert "more left out" in shown


def test_files_are_told_folder_by_folder() -> None:
    story = Story(
        cwd="/shop",
        files=(
            TouchedFile(path="/shop/src/a.py", reads=3, changes=2, at=1.0),
            TouchedFile(path="/etc/hosts", reads=1, changes=0, at=2.0),
            TouchedFile(path="/shop/src/b.py", reads=0, changes=1, at=3.0),
            TouchedFile(path="/shop/top.md", reads=0, changes=1, at=3.0),
        ),
    )

    assert chapters.files(story).render(WHOLE) == (
        "Changed (× how often):\n\n```\nsrc/: a.py ×2, b.py\ntop.md\n```\n\n"
        "Read (× how often):\n\n```\n/etc/: hosts\n```\n\n"
    )


def test_no_folder_is_hidden_by_another_that_is_full() -> None:
    many = [TouchedFile(path=f"/s/src/{n}.py", reads=0, changes=9, at=2.0) for n in range(300)]
    story = Story(
        cwd="/s", files=(TouchedFile(path="/s/x/a-long-name.md", reads=0, changes=1, at=1.0), *many)
    )
    shown = chapters.files(story).render(500)

    assert "x/: a-long-name.md" in shown
    assert "more left out" in shown
    assert len(shown.encode()) <= 500


def test_commands_that_do_something_outweigh_those_that_look() -> None:
    looks = tuple(Command(line=f"grep {n} src", at=2.0, runs=50) for n in range(50))
    story = Story(commands=(Command(line="make release", at=1.0, seconds=4.2), *looks))
    shown = chapters.commands(story).render(400)

    assert "- `make release` → ok in 4 s\n" in shown
    assert "`grep 49 src` → ok, run 50×" in shown


def test_a_command_is_told_with_its_outcome() -> None:
    failed = Command(line="make x", at=1.0, is_failed=True, status=2, said="boom")
    said_no = Command(line="grep x y", at=1.0, status=1)
    shown = chapters.commands(Story(commands=(failed, said_no))).render(WHOLE)

    assert shown == "- `make x` → exit 2: `boom`\n- `grep x y` → exit 1\n"


def test_a_command_in_the_background_is_not_called_done() -> None:
    """That it was begun took no time; what became of it stands under In flight."""
    begun = Command(line="make serve", at=1.0, seconds=3.0, said="b1", is_background=True)

    assert chapters.commands(Story(commands=(begun,))).render(WHOLE) == (
        "- `make serve` → started in the background\n"
    )


def test_sentences_that_surely_decide_are_kept_first() -> None:
    likely = [Decision(text=f"It stays {n} for now.", at=1.0) for n in range(40)]
    likely[20] = Decision(text="We decided on tabs.", at=1.0)
    shown = chapters.decisions(Story(decisions=tuple(likely)), when).render(200)

    assert "We decided on tabs." in shown


def test_failures_are_told_by_how_often_they_were_tried() -> None:
    story = Story(
        cwd="/shop",
        failures=(
            Failure(what="make deploy", error="Exit code 2\nboom", at=1.0, tries=3),
            Failure(what="Read /shop/x.py", error="File does not exist.", at=2.0),
            Failure(what="make test", error="Exit code 1\nred", at=3.0, is_mended=True),
        ),
        troubles=(Trouble(text="API Error: 529", at=4.0, times=2),),
    )

    assert chapters.failures(story, when).render(WHOLE) == (
        "- API Error: 529 2× (at 4)\n"
        "- `make deploy` failed 3×, not mended: `Exit code 2 boom`\n"
        "- `Read x.py` failed, not mended: `File does not exist.`\n"
        "- `make test` failed, worked later\n"
    )
    assert chapters.failures(Story(), when).render(WHOLE) == "None on record.\n"


def test_the_same_slip_again_and_again_is_told_once() -> None:
    slips = tuple(Failure(what=f"python {n}", error="No module", at=1.0 + n) for n in range(9))
    shown = chapters.failures(Story(failures=slips), when).render(WHOLE)

    assert shown == "- `python 8` failed, not mended: `No module` (8 others failed alike)\n"


def test_what_is_in_flight_is_named() -> None:
    one = Unfinished(kind="background command", what="serve", at=1.0, id="b1")
    shown = chapters.in_flight(Story(unfinished=(one,)), ["watch it"], when).render(WHOLE)

    assert shown == (
        "- background command b1: `serve` (begun at 1, no end on record)\n"
        "- told by the agent as running: watch it\n"
    )
    assert chapters.in_flight(Story(), (), when).render(WHOLE) == "Nothing.\n"


def test_git_and_the_summary_are_shortened_from_the_middle() -> None:
    git = chapters.git("branch: main\n" + "M x\n" * 500).render(200)
    story = Story(summaries=(Summary(text="old", at=1.0), Summary(text="s" * 900, at=2.0)))
    summary = chapters.summary(story, when).render(300)

    assert "branch: main" in git
    assert "bytes left out" in git
    assert "its last compaction (at 2; 2 in all)" in summary
    assert len(git.encode()) <= 200
    assert len(summary.encode()) <= 300
    assert chapters.git("").render(200) == chapters.summary(Story(), when).render(200) == ""


def test_the_last_exchanges_are_kept_from_the_end() -> None:
    said = tuple(Utterance(who="agent", text=f"word {n}") for n in range(100))
    shown = chapters.last_exchanges(Story(last=said)).render(200)

    assert "agent: word 99\n```\n" in shown
    assert "word 50" not in shown


def test_words_count_more_than_what_programs_printed() -> None:
    """Only what the last few programs printed is told at length."""
    printed = Utterance(who="tool", text="x" * 1000, is_output=True)
    story = Story(
        last=(Utterance(who="agent", text="why"), *[printed] * 4),
        earlier=("first I looked", "then I saw"),
    )
    shown = chapters.last_exchanges(story).render(WHOLE)

    assert shown.count("x" * 1000) == chapters.LAST_OUTPUTS
    assert "bytes left out" in shown
    assert shown.endswith("\nBefore that, the agent said:\n\n- first I looked\n- then I saw\n")


def test_a_long_request_is_not_told_twice() -> None:
    asked = Utterance(who="person", text="please " * 500)
    shown = chapters.last_exchanges(Story(last=(asked,))).render(WHOLE)

    assert "bytes left out" in shown
    assert size(shown) < chapters.ASKED + 50


def test_of_what_was_said_before_the_newest_is_kept() -> None:
    story = Story(
        last=(Utterance(who="agent", text="now " * 200),),
        earlier=tuple(f"word {n} of many" for n in range(100)),
    )
    shown = chapters.last_exchanges(story).render(900)

    assert size(shown) <= 900
    assert "word 99 of many" in shown
    assert "word 5 of many" not in shown
