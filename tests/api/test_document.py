"""What a successor would miss in a document; good ones, in the shapes people write them, pass."""

import time

import pytest

from sm.api.document import TEMPLATE, TOPICS, Finding, Topic, check

FILES = {
    "src", "tests", "src/auth/login.py", "src/auth/tokens.py", "tests/test_login.py", "README.md",
    "docs/api.md", "notes.org", "/etc", "/etc/hosts", "docs", "migrations",
}  # fmt: skip

FILLED = """\
# Handoff: flaky login

## Goal
<!-- What is to be achieved, and for whom, in the words it was asked for. -->
"Make the login test stop failing on CI" (asked by Maria). Done when 100 runs in a row pass.

## State
Tests: green but one. Done: everything else.
The race is found: `src/auth/login.py:88` reads the clock twice. Branch `fix/login-race`, two
commits, nothing pushed. `pytest tests/test_login.py` passes 40 of 50 times.

## Next actions
1. Pass `now` into `refresh()` in `src/auth/tokens.py`.
2. Write `tests/test_tokens.py` for a token that expires meanwhile.

## Decisions
- No retries in the test: Maria wants the cause fixed.

## Failed attempts
- Freezing time with a fixture: the worker process has its own clock.

## Open questions
None.

## Files
- `src/auth/login.py` reads the clock; tokens.py beside it makes tokens
- `tests/test_login.py`
"""

OWN_WORDS = """\
Handoff – payment import
========================

**Objective:** import the 2023 payments from the bank's CSV into the ledger, without doubles.

**Where we are:**
- importer runs on the small sample (see `docs/api.md`), 1,204 rows, 0 doubles
- the full file stops at row 88,120 with a `UnicodeDecodeError`

**What's left:**
1. decode as cp1252, as the bank confirmed by mail
2. run it on the full file on staging: `make import ENV=staging`

**Why it is done this way**
Rows are keyed by (date, amount, reference): the bank's own ids repeat after a correction.

**What didn't work**
Guessing the encoding with chardet: it says UTF-8 for the first megabyte.

**Blockers / risks:** staging is down until Thursday.

**Key paths**
- src/auth/login.py (only as an example of a command)
- `migrations/`
"""

PLAIN = """\
Task: upgrade the shop from Node.js 18 to 20 (asked for by the platform team, ticket 4411).

Progress: package.json and CI are changed, unit tests are green, e2e tests are not run yet.

Next steps:
- run the e2e tests against `https://shop.example.com/health.html`
- then ask for a review on origin/node-20

Decided: keep yarn 1, since the monorepo's plugins need it. Endpoint /api/v1/cart stays as it is.

Tried: the `--openssl-legacy-provider` flag works but hides the real problem in the old loader.

Unknowns: whether the Windows runners have Node.js 20 at all; ask Jo.

Files touched:
- README.md
- docs/api.md
"""

ORG = """\
* Purpose
Write the migration guide for version 3, so that plugin authors know what breaks and what to do.
* Status
Chapters one to four stand in notes.org; chapter five (hooks) has an outline only.
* TODO
Write chapter five. Begin with the table of renamed hooks, which is complete.
* Design choices
One page per breaking change, oldest first, because readers come from a compiler's message.
* Lessons learned
Generating the tables from the source was not worth it: half of the names are made at run time.
* Open issues
Does the old hook order have to be kept? Ask Lea.
* References
- notes.org
"""

GROUPED = """\
# Session handoff 3

## 1. Background and goals
Port the scheduler to the new queue so that a restart loses no job; the acceptance test is the
kill test in `tests/`, which must pass fifty times in a row.

## 2. Current status & remaining work
### Finished
The queue's writer and its tests.
### To do
The reader. Start at the function `claim` and make it one statement.

## 3. Decisions, dead ends and open questions
```
- decided: leases of 30 s, renewed every 10 s
- tried: advisory locks; they do not survive the pooler
- open: none
```

## 4. Files
| path | what |
|---|---|
| `src/auth/tokens.py` | where leases are made |
"""

DECORATED = """\
# Handoff Document — Login, phase 3

**Date:** 2026-11-16
**Branch:** `login-3` (tracking `origin/login-3`)

## 🎯 Mission
Let people log in with a second factor; the design is in `docs/api.md`, endpoint `/api/v2/login`.

## ✅ What's Been Done
- [x] `Tokens.issue()` / `refresh()` in `src/auth/tokens.py:35-90`
- [ ] tests/test_factor.py

## 🚧 Next Steps
1. Create `tests/test_factor.py`, then run `pytest tests/test_factor.py`

## 🧠 Key Decisions
| Decision | Why |
|---|---|
| codes of 6 digits | what the apps show |

## ❌ What Didn’t Work
- **SMS:** the gateway is too slow.

## ❓ Open Questions / Blockers
- Is 30 s right? (see `PATIENCE`)

## 📁 Relevant Files
```
src/auth/
├── login.py
└── nothing.py
```
- `tokens.py`, `login.py` — beside each other
"""

GOOD = {
    "decorated": DECORATED,
    "filled in": FILLED,
    "in own words": OWN_WORDS,
    "plain": PLAIN,
    "org": ORG,
    "grouped": GROUPED,
    "with a mark": f"\ufeff{FILLED}",
    "with the line ends of Windows": FILLED.replace("\n", "\r\n"),
}


def findings(text: str) -> list[Finding]:
    return check(text, FILES.__contains__)


def words(text: str) -> list[str]:
    return [finding.words for finding in findings(text)]


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD)
def test_a_good_document_raises_no_alarm(text: str) -> None:
    assert words(text) == []


@pytest.mark.parametrize("text", ["", " \n\t", "\ufeff\n", "# Handoff\n\n## Goal\n", TEMPLATE])
def test_a_document_that_says_nothing_is_told_so(text: str) -> None:
    assert findings(text) == [Finding(level="missing", words="The document says nothing.")]


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.title)
def test_each_section_is_missed(topic: Topic) -> None:
    """Its words tell what belongs there."""
    title, guidance = topic.title, topic.guidance
    begin = FILLED.index(f"## {title}\n")
    end = FILLED.find("\n## ", begin)
    without = FILLED[:begin] + (FILLED[end + 1 :] if end > 0 else "")

    assert findings(without) == [
        Finding(level="missing", words=f"No section “{title}”. {guidance[0]}")
    ]


def test_a_title_is_about_the_goal_at_most() -> None:
    """It stands above everything, and would otherwise hide that a section is missing."""
    begin, end = FILLED.index("## Next actions"), FILLED.index("## Decisions")
    text = FILLED[:begin] + FILLED[end:]

    for title in ("Next.js: what is left to do", "Task: the next login"):
        (found,) = words(text.replace("Handoff: flaky login", title))
        assert found.startswith("No section “Next actions”.")


def test_a_section_left_as_it_was_is_told() -> None:
    """Also if only the marks around the outline's own words were taken away."""
    guidance = "What is done and proved, what is half done, what is not begun."
    begin, end = FILLED.index("Tests: green"), FILLED.index("## Next actions")

    for left in ("", f"<!-- {guidance} -->\n", f"{guidance}\n\n"):
        text = FILLED[:begin] + left + FILLED[end:]
        assert findings(text) == [
            Finding(level="missing", words=f"Nothing under “State”. {guidance}")
        ]


def test_a_file_that_does_not_exist_is_told() -> None:
    text = FILLED.replace("`src/auth/login.py` reads", "`src/auth/logon.py` reads")

    assert findings(text) == [
        Finding(
            level="warning",
            words="src/auth/logon.py does not exist. "
            "Correct the path, or say in its line that it is gone.",
        )
    ]


def test_a_bare_name_in_the_list_of_files_is_looked_for() -> None:
    assert words(PLAIN.replace("- README.md", "- REEDME.md")) == [
        "REEDME.md does not exist. Correct the path, or say in its line that it is gone."
    ]


def test_next_to_nothing_is_told() -> None:
    found = findings("I fixed the bug, go on with the rest of it.")

    assert [finding.level for finding in found] == ["missing"] * 7 + ["warning"]
    assert found[-1].words == "Only 11 words: your successor will know nothing else."


def test_a_dense_script_is_not_called_short() -> None:
    text = "認証の不具合を修正する。" * 10

    assert not any("words:" in finding for finding in words(text))


def test_a_document_of_a_megabyte_is_checked_at_once() -> None:
    """Whatever it holds: a log pasted into it, or only headings."""
    for line in ("Note: see `src/a{0}/b.py`\n", "# Goal {0}\n", "```{0}\n", "**a** `{0}\n", "- a/"):
        text = "".join(line.format(number) for number in range(1_000_000 // len(line)))
        began = time.monotonic()
        findings(text)
        assert time.monotonic() - began < 5
