"""Our hooks among those of others: merged, brought up to date, taken out, all in text."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sm.install.hooks import Entries, Entry, Merged, Traces, merge, present, remove
from sm.install.jsonc import Document, JsoncError
from tests.install.texts import SCALARS, VALUES, documents

OURS = "/sm/bin/hook --installed"
COMMANDS = {OURS}
CALL = {"type": "command", "command": OURS, "timeout": 10}
WANTED = {
    "PreToolUse": Entry(call=CALL, matcher="*"),
    "Stop": Entry(call=CALL),
    "FileChanged": Entry(call={**CALL, "asyncRewake": True}),
}
RENDERED = {event: entry.rendered() for event, entry in WANTED.items()}
MINE = {"hooks": [{"type": "command", "command": "mine"}]}

_FOREIGN_CALLS = st.fixed_dictionaries({"type": st.just("command"), "command": st.text(max_size=6)})
_FOREIGN_GROUPS = st.fixed_dictionaries(
    {"hooks": st.lists(_FOREIGN_CALLS, max_size=2)}, optional={"matcher": st.text(max_size=3)}
)
_HOOKS = st.dictionaries(
    st.sampled_from(["Stop", "PreToolUse", "SessionEnd", "Other"]),
    st.lists(_FOREIGN_GROUPS | VALUES, max_size=2),
)
_SETTINGS: st.SearchStrategy[object] = st.fixed_dictionaries(
    {}, optional={"a": VALUES, "hooks": _HOOKS, "z": SCALARS}
)
BLANK = st.text(" \n\t\r", max_size=3)
TEXTS = documents(_SETTINGS) | BLANK | BLANK.map(lambda blank: "\ufeff" + blank)


def first(text: str, wanted: Entries = WANTED) -> Merged:
    return merge(text, wanted, COMMANDS, {}, None)


def again(merged: Merged, text: str | None = None, wanted: Entries = WANTED) -> Merged:
    """A later installation, after a person made this of what we wrote."""
    now = merged.text if text is None else text
    return merge(now, wanted, COMMANDS, WANTED, merged.traces)


def value(text: str) -> dict[str, dict[str, list[object]]]:
    found = Document(text).root.value() if text.strip("\ufeff \n\t\r") else {}
    assert isinstance(found, dict)
    return found


@settings(deadline=None)
@given(TEXTS)
def test_put_in_and_taken_out_gives_the_same_text(text: str) -> None:
    """Whatever its style, its comments and its other hooks."""
    merged = first(text)

    assert remove(merged.text, COMMANDS, merged.traces).text == text


@settings(deadline=None)
@given(TEXTS)
def test_put_in_everything_else_stays(text: str) -> None:
    """Ours stand behind the others, in order; no value and no comment is lost."""
    before, merged = value(text), first(text)
    after = value(merged.text)

    for event, group in RENDERED.items():
        assert after["hooks"][event].pop() == group
    left = {event: groups for event, groups in after.pop("hooks").items() if groups}
    assert left == {event: groups for event, groups in before.pop("hooks", {}).items() if groups}
    assert after == before
    assert re.findall(r"c\d+c", text) == re.findall(r"c\d+c", merged.text)
    assert merged.added == tuple(WANTED)


@settings(deadline=None)
@given(TEXTS)
def test_a_second_time_changes_nothing(text: str) -> None:
    """With or without a memory of the first."""
    merged = first(text)

    for later in (again(merged), first(merged.text)):
        assert (later.text, later.added, later.updated) == (merged.text, (), ())
        assert (later.removed, later.left_out, later.kept) == ((), (), ())


@settings(deadline=None)
@given(TEXTS, st.sets(st.sampled_from([*WANTED, "Notification"])))
def test_another_list_of_hooks_replaces_ours_alone(text: str, events: set[str]) -> None:
    """A newer version wants others: what is left is as if it had been the first."""
    wanted = {event: WANTED.get(event, Entry(call=CALL)) for event in sorted(events)}
    newer = again(first(text), wanted=wanted)

    assert set(present(newer.text, COMMANDS)) == events
    if events:
        assert remove(newer.text, COMMANDS, newer.traces).text == text


def test_without_a_memory_brackets_that_held_only_ours_go() -> None:
    """Our state was lost: nothing of ours is left all the same."""
    text = '{\n  "a": 1\n}\n'

    assert remove(first(text).text, COMMANDS, None).text == text


def test_empty_brackets_that_were_there_stay() -> None:
    """We did not make them."""
    text = '{"hooks": {"Stop": [ ], "Other": []}}'
    merged = first(text)

    assert remove(merged.text, COMMANDS, merged.traces).text == text


def test_a_hook_removed_by_hand_stays_out() -> None:
    """And is told; the others are left alone."""
    merged = first("{}")
    document = Document(merged.text)
    hooks = document.root.items[0].node
    by_hand = document.without_item(hooks, hooks.items[1])
    later = again(merged, by_hand)

    assert (later.text, later.left_out, later.added) == (by_hand, ("Stop",), ())
    assert remove(by_hand, COMMANDS, merged.traces).text == "{}"


def test_a_file_without_any_of_ours_gets_all_of_them() -> None:
    """Another file was put in its place: that is no choice of single hooks."""
    later = again(first("{}"), '{"a": 1}')

    assert (later.added, later.left_out) == (tuple(WANTED), ())
    assert remove(later.text, COMMANDS, later.traces).text == '{"a": 1}'


def test_a_field_changed_by_hand_stays_and_the_others_follow() -> None:
    """A longer timeout, a narrower matcher; the new command comes all the same."""
    merged = first("{}")
    by_hand = merged.text.replace('"timeout": 10', '"timeout": 60', 1).replace('"*"', '"Bash"')
    newer = {
        event: Entry(
            call={**entry.call, "command": "/new/hook", "timeout": 5},
            matcher=".*" if entry.matcher else None,
        )
        for event, entry in WANTED.items()
    }
    later = merge(by_hand, newer, {OURS, "/new/hook"}, WANTED, merged.traces)
    groups = value(later.text)["hooks"]

    assert groups["PreToolUse"] == [
        {"matcher": "Bash", "hooks": [{**CALL, "command": "/new/hook", "timeout": 60}]}
    ]
    assert groups["Stop"] == [{"hooks": [{**CALL, "command": "/new/hook", "timeout": 5}]}]
    assert (later.updated, later.kept) == (tuple(WANTED), ("PreToolUse",))


def test_fields_that_came_and_went_follow_us() -> None:
    """An older entry becomes the newer one, with its comments and its place."""
    old = {**CALL, "async": True}
    merged = first("{}", {"Stop": Entry(call=old, matcher="x")})
    text = merged.text.replace('"async"', '/* why */ "async"')
    later = merge(
        text,
        {"Stop": Entry(call={**CALL, "once": False})},
        COMMANDS,
        {"Stop": Entry(call=old, matcher="x")},
        merged.traces,
    )

    assert value(later.text)["hooks"]["Stop"] == [{"hooks": [{**CALL, "once": False}]}]
    assert "/* why */" in later.text
    assert (later.updated, later.kept) == (("Stop",), ())


def test_an_outdated_entry_without_a_memory_is_brought_up() -> None:
    """Nobody knows who changed it: ours wins, a field of theirs stays."""
    text = json.dumps({"hooks": {"Stop": [{"hooks": [{**CALL, "timeout": 1, "note": "n"}]}]}})
    later = first(text, {"Stop": WANTED["Stop"]})

    assert value(later.text)["hooks"]["Stop"] == [{"hooks": [{**CALL, "note": "n"}]}]


def test_a_hook_somebody_put_beside_ours_keeps_its_group() -> None:
    """Its matcher is theirs as well; only our call goes."""
    group = {"matcher": "Edit", "hooks": [*MINE["hooks"], CALL]}
    text = json.dumps({"hooks": {"PreToolUse": [group]}})
    later = first(text, {"PreToolUse": WANTED["PreToolUse"]})

    assert (later.text, later.kept) == (text, ("PreToolUse",))
    left = remove(text, COMMANDS, Traces()).text
    assert value(left) == {"hooks": {"PreToolUse": [{"matcher": "Edit", **MINE}]}}


def test_copies_of_ours_go_with_it() -> None:
    """Also under an event we never had."""
    text = json.dumps({"hooks": {"Stop": [{"hooks": [CALL]}, MINE, {"hooks": [CALL, CALL]}],
                                 "Other": [{"hooks": [CALL]}]}})  # fmt: skip

    assert value(remove(text, COMMANDS, None).text) == {"hooks": {"Stop": [MINE]}}
    assert again(first("{}"), text).removed == ()


def test_the_hooks_of_another_home_are_foreign() -> None:
    """Two homes of sm in one file do not disturb each other."""
    text = first("{}").text
    other = {"Stop": Entry(call={**CALL, "command": "/other/bin/hook --installed"})}
    both = merge(text, other, {"/other/bin/hook --installed"}, {}, None)

    assert len(value(both.text)["hooks"]["Stop"]) == 2
    assert remove(both.text, {"/other/bin/hook --installed"}, both.traces).text == text


def test_an_event_named_twice_counts_as_its_readers_count_it() -> None:
    """Ours in the first of the two is not heeded: it is put into the last."""
    text = json.dumps({"hooks": {"Stop": [{"hooks": [CALL]}]}}).replace("]}]}", ']}], "Stop": []}')
    merged = first(text, {"Stop": WANTED["Stop"]})

    assert merged.added == ("Stop",)
    assert value(merged.text)["hooks"]["Stop"] == [RENDERED["Stop"]]
    assert remove(merged.text, COMMANDS, merged.traces).text == text


def test_what_was_written_outside_our_brackets_stays() -> None:
    """A file that was blank and now has somebody's comment is no longer blank."""
    merged = first(" \n")
    left = remove("// mine\n" + merged.text, COMMANDS, merged.traces).text

    assert left == "// mine\n{}\n"


@pytest.mark.parametrize(
    ("text", "words", "line", "column"),
    [
        ("[]", "the settings must be an object: {…}", 1, 1),
        ('{\n "hooks": []}', '"hooks" must be an object: {…}', 2, 11),
        ('{"hooks": null}', '"hooks" must be an object: {…}', 1, 11),
        ('{"hooks": {"X": {}}}', '"X" in "hooks" must be a list: […]', 1, 17),
    ],
)
def test_another_shape_is_refused(text: str, words: str, line: int, column: int) -> None:
    """What no agent could read is not ours to mend; its place is told."""
    with pytest.raises(JsoncError) as caught:
        first(text)
    with pytest.raises(JsoncError, match=re.escape(words)):
        remove(text, COMMANDS, None)

    assert (caught.value.words, caught.value.line, caught.value.column) == (words, line, column)
