"""Which channel a folder belongs to, and what may become of a handoff there."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sm.core.channel import (
    NAME,
    ChannelError,
    ChannelHandoff,
    Claimant,
    Kind,
    Status,
    checked_handoff_name,
    checked_name,
    default_name,
    handoff_name,
    is_over,
    longest_prefix,
    may_become,
    named_in,
    valid_name,
)
from sm.core.ids import ContextId, HandoffId, SessionId

ADA, BOB = SessionId("0a1b2c3d"), SessionId("b0b00000")
LEFT = ChannelHandoff(
    id=HandoffId("HO-20260202-064530-c74cc080"),
    channel="api",
    root="/src/api",
    kind=Kind.SELF,
    session=ADA,
    context=ContextId("c74cc080-94b9-4841-b82f-a62cfb8efdc0"),
    created_at=1000.0,
    created_by_pid=1,
    working_dir="/src/api",
    document="/d.md",
    sha256="",
)


@pytest.mark.parametrize("name", ["a", "0", "api", "My_app-2.1", "a" * 64, "x.manifest.json"])
def test_a_plain_word_can_be_a_name(name: str) -> None:
    assert checked_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "../../x", "..", ".a", "-a", "_a", "a/b", "a b", "a\n", "a" * 65, "é", "a\0"]
)
def test_what_could_leave_its_folder_cannot_be_a_name(name: str) -> None:
    """Names become parts of file names; the refusal says what is expected."""
    with pytest.raises(ChannelError) as refused:
        checked_name(name)

    assert str(refused.value) == (
        f"{name!r} cannot be a channel's name. It must be 1 to 64 letters, digits, '-', '_' or "
        "'.', beginning with a letter or digit."
    )


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/a/b", "/a/b"),
        ("/a/b/", "/a/b"),
        ("/a/b/c/d", "/a/b"),
        ("/a/b/x y/d", "/a/b/x y/"),
        ("/a/bc", "/a"),
        ("/b", None),
        ("/", None),
    ],
)
def test_the_deepest_folder_above_counts(path: str, found: str | None) -> None:
    """By whole components: /a/b holds nothing of /a/bc."""
    assert longest_prefix(path, ["/a", "/a/b", "/a/b/x y/"]) == found


_PART = st.sampled_from(["a", "b", "ab", "a b", "ü", "'", "a\nb", ":"])
_PATH = st.lists(_PART, max_size=5).map(lambda parts: "/" + "/".join(parts))


@given(path=_PATH, folders=st.lists(_PATH, max_size=6))
def test_the_longest_prefix_is_what_the_standard_library_says(
    path: str, folders: list[str]
) -> None:
    """Of all folders that are the path or a parent of it, the one with the most components."""
    lineage = [PurePosixPath(path), *PurePosixPath(path).parents]
    above = [folder for folder in folders if PurePosixPath(folder) in lineage]
    found = longest_prefix(path, folders)

    assert (found is None) == (above == [])
    if found is not None:
        assert found in above
        assert len(PurePosixPath(found).parts) == max(len(PurePosixPath(f).parts) for f in above)


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("api", "api"),
        ("My App (2)", "My-App-2"),
        (".dotfiles", "dotfiles"),
        ("Café", "Cafe"),
        ("проект", "channel"),
        ("a'b\"c:d\ne", "a-b-c-d-e"),
        ("x" * 200, "x" * 64),
        ("", "channel"),
    ],
)
def test_a_folders_name_is_made_valid(folder: str, name: str) -> None:
    assert valid_name([folder]) == name


@given(st.text())
def test_every_folder_has_a_valid_name(folder: str) -> None:
    assert NAME.fullmatch(default_name(f"/{folder}", {}))


def test_two_roots_of_one_name_are_told_apart() -> None:
    """The second gets a part of its path's hash, always the same one; the first stays."""
    first = default_name("/home/a/api", {})
    second = default_name("/home/b/api", {first: "/home/a/api"})

    assert (first, second) == ("api", "api-326d86")
    both = {first: "/home/a/api", second: "/home/b/api"}
    assert default_name("/home/a/api", both) == first
    assert default_name("/home/b/api", both) == second


def test_a_name_stays_when_its_neighbour_is_forgotten() -> None:
    """What was left under a name is found under it."""
    assert default_name("/home/b/api", {"api-326d86": "/home/b/api"}) == "api-326d86"


def test_a_registered_name_is_never_a_default() -> None:
    """Also where the default was remembered before somebody registered it for another folder."""
    assert default_name("/x/api", {}, reserved=["api"]).startswith("api-")
    assert default_name("/x/api", {"api": "/x/api"}, reserved=["API"]).startswith("api-")


def test_names_that_differ_in_case_alone_are_one() -> None:
    """There are file systems that cannot tell them apart."""
    assert default_name("/x/API", {"api": "/x/api"}).startswith("API-")


@given(
    st.lists(st.sampled_from(["/a/x", "/b/x", "/c/X", "/d/" + "x" * 99, "/e/" + "x" * 99, "/ü"]))
)
def test_no_two_roots_ever_share_a_default(roots: list[str]) -> None:
    names: dict[str, str] = {}
    for root in roots:
        names[default_name(root, names)] = root

    assert sorted(names.values()) == sorted(set(roots))
    assert all(NAME.fullmatch(name) for name in names)


@given(st.integers(min_value=0, max_value=253_402_300_799))
def test_a_handoff_is_named_by_its_second(second: int) -> None:
    """In UTC, as the standard library would write it."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=second)
    name = handoff_name(second + 0.9, "C74CC080-94b9-4841-b82f-a62cfb8efdc0")

    assert name == f"HO-{moment:%Y%m%d-%H%M%S}-c74cc080"
    assert checked_handoff_name(name) == name


@pytest.mark.parametrize("origin", ["thread_abc", "", "abc", "zz\udc80"])
def test_an_origin_that_is_not_hex_gives_its_hash(origin: str) -> None:
    """Codex and others name their contexts differently."""
    name = handoff_name(0, origin)

    assert checked_handoff_name(name) == name
    assert name == handoff_name(0, origin)
    assert name != handoff_name(0, f"{origin}x")


@pytest.mark.parametrize("name", ["", "HO-1", "../x", "HO-20260202-064530-c74cc080/../x"])
def test_what_is_no_handoffs_name_is_refused(name: str) -> None:
    with pytest.raises(ChannelError, match=r"cannot be a handoff's name"):
        checked_handoff_name(name)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("<!-- HANDOFF-ID: HO-1 -->", "HO-1"),
        ("<!-- HANDOFF-ID: HO-1 -->\r\n", "HO-1"),
        ("\ufeff<!-- HANDOFF-ID: HO-1 -->\n", "HO-1"),
        ("# HANDOFF-ID: HO-1", None),
        ("see <!-- HANDOFF-ID: HO-1 -->", None),
        ("", None),
    ],
)
def test_a_document_says_which_handoff_it_is(line: str, name: str | None) -> None:
    assert named_in(line) == name


def test_only_these_steps_are_legal() -> None:
    """What is over stays over; only what was claimed can be consumed."""
    legal = {(a.value, b.value) for a in Status for b in Status if may_become(a, b)}

    assert legal == {
        ("active", "claimed"), ("active", "expired"), ("active", "cleared"),
        ("active", "superseded"), ("claimed", "active"), ("claimed", "consumed"),
        ("claimed", "cleared"), ("claimed", "superseded"),
    }  # fmt: skip
    assert {s.value for s in Status if is_over(s)} == {
        "consumed", "expired", "cleared", "superseded",
    }  # fmt: skip


def test_a_handoff_is_for_its_own_successor() -> None:
    """For the session it comes from, unless another one was meant."""
    assert (LEFT.is_for(ADA), LEFT.is_for(BOB)) == (True, False)
    meant = replace(LEFT, meant_for=BOB)
    assert (meant.is_for(ADA), meant.is_for(BOB)) == (False, True)


def test_a_claim_is_held_by_one_context_of_one_session() -> None:
    one, two = ContextId("1"), ContextId("2")
    held = replace(LEFT, status=Status.CLAIMED, claimed_by=ADA, claimed_context=one)

    assert held.is_held_by(Claimant(session=ADA, context=one, pid=7, started=7))
    assert not held.is_held_by(Claimant(session=ADA, context=two, pid=7, started=7))
    assert not held.is_held_by(Claimant(session=BOB, context=one, pid=7, started=7))


def test_only_an_active_handoff_grows_too_old() -> None:
    assert not LEFT.is_too_old(1060.0, 60.0)
    assert LEFT.is_too_old(1060.1, 60.0)
    assert not replace(LEFT, status=Status.CLAIMED).is_too_old(9e9, 60.0)
