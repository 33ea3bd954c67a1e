"""The real Claude Code comes back to work: short versions of `make prove`."""

import pytest

from tests.kit.sm import Sm
from tests.prove import claude_passage, claude_recall, claude_server, rescue_commits
from tests.prove.claude_rescue import DIALOG, STREAM, TOOL, Death, rescue


@pytest.mark.claude
@pytest.mark.parametrize(
    "death",
    [
        Death(doing=TOOL, auto=True),
        Death(doing=DIALOG, auto=True, torn=True),
        Death(doing=STREAM, auto=True, twice=True),
    ],
    ids=lambda death: death.words,
)
def test_a_killed_client_is_back_at_work_and_knows_what_was_going_on(sm: Sm, death: Death) -> None:
    """Its cause is known within two seconds, nothing is approved, every message arrives once."""
    assert rescue(sm, death).wrong == []


@pytest.mark.claude
def test_a_handoff_that_a_crash_cut_reaches_a_fresh_context(sm: Sm) -> None:
    """Its agent had written the document and stopped."""
    assert claude_passage.killed(sm, "clearing", steps=8, own=True).wrong == []


@pytest.mark.claude
def test_clients_that_lose_their_tmux_server_come_back_as_they_were(sm: Sm) -> None:
    """Name, id, arguments, folder and variables; each goes on with its own conversation."""
    verdict, words = claude_server.lost_server(sm, sessions=2)

    assert verdict.holds, words


@pytest.mark.claude
def test_a_long_recovery_prompt_arrives_whole(sm: Sm) -> None:
    told = claude_recall.long_conversation(sm, size=3_000_000)

    assert len(told.given.encode()) > 200_000
    assert told.is_exact


@pytest.mark.claude
def test_no_secret_is_shown_or_told_by_a_recovery(sm: Sm) -> None:
    """Printed by a tool, said by the model, in a document: of twenty kinds and more."""
    spilt = claude_recall.spilt(sm, claude_recall.chosen(kinds=25))

    assert spilt.survivors == []
    assert "[redacted:" in spilt.shown["prompt"]


def test_a_daemon_killed_in_a_recovery_starts_and_tells_the_agent_once(sm: Sm) -> None:
    """kill -9 on both sides of every ninth commit of it."""
    runs = list(rescue_commits.every_commit(sm, stride=9, first=5, ways=("fresh",)))

    assert len(runs) >= 4
    assert [run for run in runs if not run[2].holds] == []
