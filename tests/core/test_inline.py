"""What of a document goes straight into a new context."""

from hypothesis import given
from hypothesis import strategies as st

from sm.core.handoff import LESSON
from sm.core.inline import ESSENCE, LIMIT, OUTLINE, Loaded, load

ABOUT = Loaded(
    id="HO-20260202-064530-1a2b3c4d",
    channel="shop",
    context="7c1e",
    kind="auto",
    document="/kept/document.md",
)
HEAD = (
    "=== HANDOFF LOADED (ID: HO-20260202-064530-1a2b3c4d) ===\n"
    "Channel: shop\nPrevious Session: 7c1e\nType: auto\n"
)
END = "=== END HANDOFF ==="
TAKEN_AT_ONCE = 10_000


def units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def chapter(title: str, size: int, letter: str = "x") -> str:
    return f"## {title}\n\n{letter * size}\n\n"


def test_a_short_document_is_there_whole() -> None:
    assert load(ABOUT, "# Goal\nAll of it.\n\n") == f"{HEAD}# Goal\nAll of it.\n{END}"


def test_a_document_that_just_fits_is_whole_and_one_letter_more_is_not() -> None:
    room = LIMIT - len(HEAD) - len(END) - 1

    assert len(load(ABOUT, "x" * (room - 1))) == LIMIT - 1
    assert "This is the essential part" in load(ABOUT, "x" * room)


def test_of_a_long_one_there_is_its_essence_and_what_it_left_out() -> None:
    """And where the whole of it is."""
    text = chapter("Goal", 4_000) + chapter("Files", 20_000)

    loaded = load(ABOUT, text, "the essence of it\n")

    assert loaded == (
        f"{HEAD}the essence of it\n\nThis is the essential part. The whole document (24,023 bytes)"
        f" is /kept/document.md\nIts chapters: Goal, Files\n{END}"
    )


def test_an_essence_that_is_too_long_itself_is_not_taken() -> None:
    loaded = load(ABOUT, chapter("Goal", 20_000), "e" * LIMIT)

    assert "eee" not in loaded
    assert "## Goal\n\nxxx" in loaded


def test_without_an_essence_the_chapters_that_matter_come_first() -> None:
    """In the document's own order; one that does not fit is left out."""
    text = (
        "Written by hand.\n\n"
        + chapter("History", 9_000, "h")
        + chapter("Files", 500, "f")
        + chapter("Next steps", 3_000, "n")
        + chapter("What was asked", 3_000, "a")
    )

    loaded = load(ABOUT, text)

    assert "hhh" not in loaded
    assert loaded.index("Written by hand") < loaded.index("fff") < loaded.index("nnn")
    assert loaded.count("n" * 3_000) == loaded.count("a" * 3_000) == 1
    assert "Its chapters: History, Files, Next steps, What was asked\n" in loaded


def test_a_chapter_that_matters_is_shortened_and_never_left_out() -> None:
    loaded = load(ABOUT, chapter("Goal", 30_000, "g") + chapter("Next", 30_000, "n"))

    assert "g" * 4_000 in loaded
    assert "n" * 1_000 in loaded
    assert loaded.count(" …\n") == 2


def test_a_document_without_headings_is_there_by_its_beginning() -> None:
    loaded = load(ABOUT, "first words " + "x" * 50_000)

    assert loaded.startswith(f"{HEAD}first words xxx")
    assert "Its chapters: \n" in loaded


def test_the_same_chapter_twice_is_no_reason_to_say_it_twice() -> None:
    text = chapter("Todo", 5_000) * 2 + chapter("Goal", 9_000)

    assert units(load(ABOUT, text)) <= LIMIT


def test_a_heading_without_end_is_no_outline() -> None:
    loaded = load(ABOUT, f"# {'long ' * 5_000}\ntext")

    assert len(loaded.partition("Its chapters: ")[2]) <= OUTLINE + len(END) + 1


def test_letters_that_count_double_count_double() -> None:
    """An agent counts as JavaScript does: a rocket is two."""
    loaded = load(ABOUT, "🚀" * 9_000)

    assert LIMIT - 3_500 < units(loaded) <= LIMIT
    assert "�" not in loaded


@given(
    text=st.lists(
        st.sampled_from(
            ["# ", "## ", "Goal", "todo", "\n", "🚀" * 700, "x" * 900, "\ud800", "```"]
        ),
        max_size=80,
    ).map("".join),
    essence=st.none() | st.integers(0, 2 * LIMIT).map(lambda n: "é" * n),
)
def test_whatever_a_document_holds_it_is_taken_at_once(text: str, essence: str | None) -> None:
    """Together with what a context is taught."""
    loaded = load(ABOUT, text.encode(errors="replace").decode(), essence)

    assert units(loaded) <= LIMIT
    assert loaded.startswith(HEAD)
    assert loaded.endswith(END)


def test_with_the_lesson_it_is_still_taken_at_once() -> None:
    assert LIMIT + len("\n\n") + len(LESSON) < TAKEN_AT_ONCE
    assert ESSENCE + OUTLINE + len(HEAD) < LIMIT
