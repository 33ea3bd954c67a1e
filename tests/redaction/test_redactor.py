"""Whole texts, bytes and streams: nothing leaks, nothing else is harmed."""

import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sm.redaction.matcher import LazyMatcher, PlainMatcher, Re2Matcher
from sm.redaction.redactor import HELD, KINDS, LONGEST_KIND, RULES, STEP, WINDOW, Redactor
from tests.kit.secrets_generator import GENERATORS, Planted, leaks, planted

EACH = 40
SAMPLES = [sample for kind in GENERATORS for sample in planted(kind, EACH)]
TOKEN = "ghp_" + "a1B2" * 9
KEY = "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n"
CODE = Path(random.__file__).read_text()


@pytest.fixture(scope="module")
def redactor() -> Redactor:
    return Redactor()


def lines_of_key(size: int) -> str:
    """The body of a key, of about this size."""
    rolled = random.Random(5)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return "\n".join("".join(rolled.choices(letters, k=64)) for _ in range(size // 65))


@pytest.mark.parametrize("kind", GENERATORS)
def test_made_up_secrets_are_found(redactor: Redactor, kind: str) -> None:
    """Of each kind at least 97 of 100, wherever they stand (`python -m bench redaction`: more)."""
    samples = [sample for sample in SAMPLES if sample.kind == kind]
    leaked = [s.text for s in samples if leaks(s, redactor.redact(s.text))]

    assert len(leaked) <= 0.03 * len(samples), leaked


def test_nothing_around_a_secret_is_harmed(redactor: Redactor) -> None:
    """What stands before and after is still there, and JSON is still JSON."""
    for sample in SAMPLES:
        output = redactor.redact(sample.text)
        assert sample.before in output
        assert sample.after in output
        if sample.is_json:
            json.loads(output)


def test_redacting_twice_changes_nothing(redactor: Redactor) -> None:
    """A placeholder is no secret, and makes none of what follows it."""
    once = redactor.redact("\n".join(sample.text for sample in SAMPLES))

    assert redactor.redact(once) == once
    named = f'{TOKEN}: "9fKd02LmQx71VbTz84Rw"'
    assert redactor.redact(redactor.redact(named)) == redactor.redact(named)


@settings(deadline=None, max_examples=60)
@given(
    parts=st.lists(
        st.sampled_from([s.text for s in SAMPLES]) | st.text(max_size=30), min_size=1, max_size=6
    ),
    between=st.sampled_from(["", " ", "\n", ": ", "=", '"', "\\n", ", "]),
)
def test_any_mixture_is_stable(parts: list[str], between: str) -> None:
    """Whatever is put together: a second pass finds nothing that the first one made."""
    once = _SHARED.redact(between.join(parts))

    assert _SHARED.redact(once) == once


_SHARED = Redactor()


def test_with_and_without_re2_the_same_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the library cannot be imported, nothing but time is lost."""
    samples = SAMPLES[::3]
    fast = [_SHARED.redact(sample.text) for sample in samples]
    monkeypatch.setitem(sys.modules, "re2", None)
    plain = Redactor()

    assert [plain.redact(sample.text) for sample in samples] == fast
    assert isinstance(_SHARED._matcher, LazyMatcher)
    assert isinstance(_SHARED._matcher.made, Re2Matcher)
    assert isinstance(plain._matcher, LazyMatcher)
    assert isinstance(plain._matcher.made, PlainMatcher)


def test_every_kind_is_documented_and_can_be_made() -> None:
    """The page, the rules and the generator know the same kinds."""
    page = (Path(__file__).parents[2] / "docs" / "redaction.md").read_text()
    documented = re.findall(r"^\| `([a-z-]+)` \|", page, re.M)

    assert set(documented) == set(KINDS) == set(GENERATORS)
    assert max(map(len, KINDS)) <= LONGEST_KIND


def test_overlapping_finds_are_one(redactor: Redactor) -> None:
    """The kind that says most is named, once."""
    assert redactor.redact(f"password = '{TOKEN}'") == "password = '[redacted:github-token]'"
    assert redactor.redact(f"https://me:{TOKEN}@github.com/x") == (
        "https://me:[redacted:github-token]@github.com/x"
    )


@pytest.mark.parametrize("offset", [1, 20, 100, 400])
def test_the_end_of_a_step_hides_nothing(redactor: Redactor, offset: int) -> None:
    """Rules are chosen for a step at a time; a secret may lie across two."""
    leaked = [
        sample.text
        for sample in SAMPLES[::4]
        for before in ["filler\n" * 2 * STEP]
        if leaks(sample, redactor.redact(before[-(2 * STEP - offset) :] + sample.text))
        and not leaks(sample, redactor.redact(sample.text))
    ]

    assert leaked == []


def test_hits_are_counted() -> None:
    own = Redactor()
    own.redact(f"{TOKEN} {TOKEN}\npassword=Zx81-Spectrum\n")

    assert own.counts == {"github-token": 2, "password": 1}


def test_bytes_that_are_no_text_pass_through(redactor: Redactor) -> None:
    """Also around a secret."""
    noise = bytes(range(256))

    assert redactor.redact_bytes(noise) == noise
    assert redactor.redact_bytes(b"\xff " + TOKEN.encode() + b"\xfe") == (
        b"\xff [redacted:github-token]\xfe"
    )
    assert redactor.redact("\ud800 half a pair") == "\ud800 half a pair"


def test_random_bytes_behind_a_name_are_no_secret(redactor: Redactor) -> None:
    """Compressed data has everything in it; a text of another encoding is a text."""
    noise = b"\x92/p:\xc8\xb0\xc9Xt\xc1\x12\x88\xae#3D)\xb8\xc5\xf2x "

    assert redactor.redact_bytes(noise) == noise
    for encoding in ("utf-8", "latin-1"):
        told = "net use x /p:Gr\xfc\xdfe7Zq! ".encode(encoding)
        assert redactor.redact_bytes(told) == b"net use x /p:[redacted:command-password] "
    own = Redactor(patterns={"mark": r"M\xc8\x12"})
    assert own.redact_bytes(b"aM\xc8\x12b") == b"a[redacted:mark]b"


@pytest.mark.parametrize("offset", range(6))
def test_a_long_secret_that_is_cut_within_a_character_is_a_text(
    redactor: Redactor, offset: int
) -> None:
    """Its beginning is not shown as if it were random bytes."""
    told = ("net use x /p:" + "a" * offset + "aZ7\u20ac" * 4000).encode()

    assert redactor.redact_bytes(told).startswith(b"net use x /p:[redacted:command-password]")


def test_the_users_own_patterns_come_first() -> None:
    """Their groups are the secret; without a group, all of the find is."""
    own = Redactor(patterns={"badge": r"BADGE-[0-9]{4}", "room": r"room (\w+) is mine"})

    assert own.redact("BADGE-1234 opens") == "[redacted:badge] opens"
    assert own.redact("room a113 is mine") == "room [redacted:room] is mine"
    assert own.redact(f"BADGE-12 {TOKEN}") == "BADGE-12 [redacted:github-token]"


def test_a_key_without_its_end_is_still_a_key(redactor: Redactor) -> None:
    """Logs cut texts off."""
    body = lines_of_key(600)
    cut = KEY.format(body).partition("-----END")[0]

    assert redactor.redact(f"{cut}\nlast words\n") == "[redacted:private-key]last words\n"


def test_a_key_in_one_record_does_not_swallow_the_next(redactor: Redactor) -> None:
    """Two lines of a transcript: the first key has no end, the second no beginning."""
    first = json.dumps({"text": KEY.format(lines_of_key(600)).partition("-----END")[0]})
    second = json.dumps({"text": "-----END PRIVATE KEY-----", "id": 7})

    lines = redactor.redact(f"{first}\n{second}\n").splitlines()

    assert json.loads(lines[0]) == {"text": "[redacted:private-key]"}
    assert json.loads(lines[1])["id"] == 7


def test_a_key_that_is_only_spoken_of_is_left_alone(redactor: Redactor) -> None:
    code = 'if text.startswith("-----BEGIN PRIVATE KEY-----"):\n    raise ValueError\n'

    assert redactor.redact(code) == code


# --- streams ---------------------------------------------------------------------------------


def mixture(size: int, seed: int) -> str:
    """Code with secrets in it, of at least this size."""
    rolled, parts, so_far = random.Random(seed), list[str](), 0
    while so_far < size:
        begin = rolled.randrange(len(CODE) // 2)
        parts += [CODE[begin : begin + rolled.randrange(6000)], rolled.choice(SAMPLES).text]
        so_far += len(parts[-1]) + len(parts[-2])
    return "\n".join(parts)


def blocks(text: bytes, size: int) -> list[bytes]:
    return [text[i : i + size] for i in range(0, len(text), size)]


@pytest.mark.parametrize("size", [4_000, 65_536, 3 * WINDOW])
@pytest.mark.parametrize("form", ["lines", "one line"])
def test_a_stream_is_redacted_as_the_whole(redactor: Redactor, size: int, form: str) -> None:
    """Wherever the blocks end; also when there is no line's end to cut at."""
    text = mixture(3 * WINDOW, seed=size)
    whole = (text if form == "lines" else json.dumps(text)).encode()

    pieces = list(redactor.redact_stream(blocks(whole, size)))

    assert b"".join(pieces) == redactor.redact_bytes(whole)
    assert len(pieces) > 1


def test_a_long_key_across_pieces_is_one(redactor: Redactor) -> None:
    """The longest that is promised, where the first piece would end."""
    key = KEY.format(lines_of_key(HELD - STEP - 200)).encode()
    filler = b"nothing of note\n" * (WINDOW // 16)
    text = filler[: WINDOW - HELD - 100] + b"\n" + key + filler

    output = b"".join(redactor.redact_stream(blocks(text, 65_536)))

    assert output.count(b"[redacted:private-key]") == 1
    assert output.replace(b"[redacted:private-key]", b"") == text.replace(key.rstrip(), b"")


def test_memory_stays_bounded(redactor: Redactor) -> None:
    """However much comes, little more than one piece is held back."""
    block = b"a line of no importance to anybody\n" * 7_000
    given_in = given_out = 0

    def counted() -> Iterator[bytes]:
        nonlocal given_in
        for _ in range(60):
            given_in += len(block)
            assert given_in - given_out < 2 * WINDOW + len(block)
            yield block

    for piece in redactor.redact_stream(counted()):
        given_out += len(piece)

    assert given_out == given_in


def test_whole_lines_are_given_out_at_a_pause(redactor: Redactor) -> None:
    """Who follows a log does not wait for a megabyte; half a line waits for its other half."""
    stream = redactor.redact_stream([b"one\nsecret: ", b"", TOKEN.encode() + b"\n", b""])

    assert list(stream) == [b"one\n", b"secret: [redacted:github-token]\n", b""]


def test_a_key_is_awaited_at_a_pause(redactor: Redactor) -> None:
    """Its lines may come one by one; so may those of a .netrc."""
    key = KEY.format(lines_of_key(600)).encode()
    slow = [part for line in key.splitlines(keepends=True) for part in (line, b"")]
    netrc = [b"machine h\n", b"", b"  login me\n", b"", b"  password Zx81-Spectrum\n", b""]

    assert b"".join(redactor.redact_stream(slow)) == b"[redacted:private-key]\n"
    assert b"".join(redactor.redact_stream(netrc)) == (
        b"machine h\n  login me\n  password [redacted:netrc-password]\n"
    )


@pytest.mark.parametrize(
    "line", [b"expected -----BEGIN PRIVATE KEY----- here\n", b"login me\n", b"machine stopped\n"]
)
def test_a_key_that_is_only_spoken_of_holds_nothing_back(redactor: Redactor, line: bytes) -> None:
    """Two more lines, and it is plain that no key follows."""
    lines = [line, b"and the log goes on\n", b"as logs do\n"]

    first, *_ = redactor.redact_stream([b"".join(lines), b"", b"more"])

    assert first == b"".join(lines)


def test_samples_are_of_every_context() -> None:
    """The short measure above is not a narrow one."""
    contexts: set[str] = {sample.context for sample in SAMPLES}

    assert len(contexts) == 11
    assert all(isinstance(sample, Planted) for sample in SAMPLES)
    assert len(RULES) > len(KINDS)
