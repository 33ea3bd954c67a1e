"""`sm handoff` on the real client and the demo agent: a fresh context, proved, through anything."""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sm.api.client import Client, RefusedError
from tests.kit.anthropic_api import DONE, Reply, Request, ToolUse, by_prompt
from tests.kit.sm import Sm
from tests.kit.tmux import wait_until
from tests.prove import handoffs
from tests.prove.handoffs import ASKED, DOCUMENT, Rotating, judge, rotating

LINES = 30_000


@pytest.fixture
def one(sm: Sm) -> Iterator[Rotating]:
    with rotating(sm, linger=0.5) as rotating_:
        yield rotating_


@pytest.mark.claude
def test_the_real_client_goes_on_in_a_fresh_context(sm: Sm) -> None:
    """In its default permission mode: the next request holds the new context and its prompt."""
    verdict, words = handoffs.real_client(sm, times=3)

    assert verdict.holds, (verdict, words)
    shown = sm.json("show", "ada")
    assert [past["how"] for past in shown["lineage"]] == [
        f"handoff {h['id']}" for h in sm.json("handoffs", "ada")
    ]


@pytest.mark.claude
def test_an_agent_hands_over_without_a_file_and_without_a_dialog(sm: Sm) -> None:
    """In its default permission mode, writing a file would ask; this does not."""
    with rotating(sm) as one:
        command = f"sm handoff - <<'EOF'\n{DOCUMENT}- `parse()` costs $5; \"really\"\nEOF"
        told = ToolUse(name="Bash", input={"command": command})
        one.desk.api.script = by_prompt([(ASKED, Reply(text="So.", tools=(told,)))])

        handoff = one.finish(one.begin())

        one.desk.settle()
        assert judge(one).holds
        text = Path(handoff["document"]).read_text()
        assert text == f'{DOCUMENT}- `parse()` costs $5; "really"\n'


@pytest.mark.claude
def test_the_new_context_may_read_what_was_kept_without_a_dialog(sm: Sm) -> None:
    with rotating(sm) as one:
        asks = one.desk.api.script

        def reads(request: Request) -> Reply:
            found = re.match(r"Read (\S+) and continue", request.prompt)
            if found is None:
                return asks(request)
            log = next(iter(re.findall(r"raw bytes\): (\S+)", request.prompt)))
            return Reply(
                text="I read it.",
                tools=(
                    ToolUse(name="Read", input={"file_path": found.group(1)}),
                    ToolUse(name="Bash", input={"command": f"grep -ac HAND-OVER {log}"}),
                ),
            )

        one.desk.api.script = reads
        one.finish(one.begin())
        one.desk.settle()

        results = str(one.desk.api.main_requests()[-1].body["messages"])
        assert "Half of it is done." in results
        assert "is_error': True" not in results


@pytest.mark.claude
def test_what_is_sent_meanwhile_comes_after_the_first_prompt(sm: Sm) -> None:
    verdict, words = handoffs.sent_meanwhile(sm, messages=10)

    assert verdict.holds, (verdict, words)


@pytest.mark.claude
def test_a_document_that_is_deleted_after_the_request_is_no_matter(one: Rotating) -> None:
    before = one.begin()
    one.wait_for_request(before)
    one.document.unlink()

    handoff = one.finish(before)

    one.desk.settle()
    assert judge(one).holds
    assert Path(handoff["document"]).read_text() == DOCUMENT


@pytest.mark.claude
def test_a_draft_in_the_box_comes_back(one: Rotating) -> None:
    before = one.begin()
    one.wait_for_request(before)
    one.desk.type("half a thought")

    one.finish(before)

    one.desk.settle()
    assert one.desk.box() == "half a thought"
    assert judge(one).holds


@pytest.mark.claude
def test_nothing_is_typed_into_a_menu(one: Rotating) -> None:
    """A person looks at a menu when the context is to be cleared; it waits until they are done."""
    desk, sm = one.desk, one.sm
    desk.type("/model")
    wait_until(lambda: desk.box() == "/model", 10, seen=desk.report)
    desk.press("Enter")
    wait_until(lambda: "Select model" in sm.screen("ada"), 10, seen=desk.report)
    menu = sm.screen("ada")
    ask(sm, "ada", str(one.document))
    wait_until(lambda: held(one) is not None, 20, seen=desk.report)
    # Long enough for every retry that might type.
    time.sleep(1.0)

    assert sm.screen("ada") == menu
    desk.press("Escape")
    wait_until(lambda: one.handoffs()[-1]["state"] == "done", 30, seen=desk.report)
    desk.settle()
    assert judge(one).holds


def held(one: Rotating) -> str | None:
    return str(one.handoffs()[-1]["waiting"] or "") or None


def ask(sm: Sm, name: str, path: str, *, token: str | None = None, **body: str) -> Any:
    """What an agent's own `sm handoff` does."""
    session = sm.json("show", name)["id"]
    if token is None:
        token = (sm.home.sessions / session / "token").read_text().strip()
    told = {"requester_session_id": session, "file_path": path, **body}
    return Client(sm.home).call("POST", f"/sessions/{session}/handoff", told, token=token)


@pytest.mark.claude
def test_a_background_task_is_waited_for_and_then_named(sm: Sm) -> None:
    with rotating(sm) as one:
        started = ToolUse(name="Bash", input={"command": "sleep 300", "run_in_background": True})
        asks = ToolUse(name="Bash", input={"command": f"sm handoff {one.document}"})
        one.desk.api.script = by_prompt(
            [(ASKED, Reply(text="Both.", tools=(started, asks)))], otherwise=DONE
        )
        (one.desk.home.config / "settings.json").write_text('{"permissions":{"allow":["Bash"]}}')

        before = one.begin()
        one.wait_for_request(before)
        wait_until(lambda: "sleep 300" in (held(one) or ""), 20, seen=one.desk.report)
        handoff = one.finish(before)

        one.desk.settle()
        assert judge(one).holds
        at = {step["step"]: step["at"] for step in handoff["steps"]}
        assert 29 < at["captured"] - at["waiting"] < 45
        assert any(
            "Still running in the background then: sleep 300" in r.prompt
            for r in one.desk.api.main_requests()
        )


def test_a_daemon_killed_at_each_step_completes_it_once(sm: Sm) -> None:
    """kill -9 on both sides of every seventh commit of a run; the whole is in `make prove`."""
    runs = list(handoffs.every_commit(sm, stride=7, first=3))

    assert len(runs) >= 8
    assert [run for run in runs if not run[2].holds] == []


def test_the_dump_holds_everything_the_pane_ever_showed(sm: Sm) -> None:
    """More than tmux keeps by default, and its global option is as it was."""
    document = sm.work / "h.md"
    document.write_text(DOCUMENT)
    sm.new_demo("ada")
    limit = sm.tmux("show-options", "-gv", "history-limit")
    sm.run("send", "ada", f"go\n%output {LINES}\n%tool sm handoff {document}")
    wait_until(lambda: done(sm, "ada"), 60, seen=lambda: sm.screen("ada"))

    (handoff,) = sm.json("handoffs", "ada")
    dump = Path(handoff["dump"]).read_text()
    shown = set(re.findall(r"^\s*(?:⎿\s*)?line (\d+)", dump, re.MULTILINE))
    assert len(shown) >= LINES
    assert sm.tmux("show-options", "-gv", "history-limit") == limit


def done(sm: Sm, name: str) -> bool:
    found = sm.json("handoffs", name)
    return bool(found) and found[-1]["state"] == "done"


def test_the_sender_is_told_when_the_work_stops_not_when_it_rotates(sm: Sm) -> None:
    document = sm.work / "h.md"
    document.write_text(DOCUMENT)
    sm.new_demo("boss")
    sm.new_demo("ada")
    boss = {"CLAUDE_SESSION_MANAGER_ID": sm.json("show", "boss")["id"]}
    sm.run("send", "ada", f"go\n%tool sm handoff {document}", environment=boss)

    wait_until(lambda: any("ada stopped" in p for p in sm.received("boss")), 20)
    (told,) = [p for p in sm.received("boss") if "ada stopped" in p]
    assert "Read" in told, "the words are those of the new context's turn"
    assert sm.json("show", "ada")["context"]["number"] == 2


def test_only_the_session_itself_may_ask(sm: Sm) -> None:
    document = sm.work / "h.md"
    document.write_text(DOCUMENT)
    sm.new_demo("ada")
    sm.new_demo("bob")
    bob = sm.json("show", "bob")["id"]
    token_of_bob = (sm.home.sessions / bob / "token").read_text().strip()

    for refused in ({"token": "x"}, {"token": token_of_bob}, {"requester_session_id": bob}):
        with pytest.raises(RefusedError, match="self-directed only") as error:
            ask(sm, "ada", str(document), **refused)
        assert error.value.status == 403
    assert sm.json("handoffs") == []


def test_outside_a_session_it_is_refused(sm: Sm) -> None:
    document = sm.work / "h.md"
    document.write_text(DOCUMENT)

    outside = sm.start("handoff", str(document))

    assert outside.returncode == 2
    assert "can only be called from within a session" in outside.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to make a folder nobody can write")
def test_without_a_daemon_it_says_so(sm: Sm) -> None:
    """Its state folder cannot be used: it is somebody else's."""
    document = sm.work / "h.md"
    document.write_text(DOCUMENT)
    sm.base.mkdir()
    os.chown(sm.base, 12345, 12345)
    inside = {"CLAUDE_SESSION_MANAGER_ID": "0123abcd", "SM_SESSION_TOKEN": "t"}

    refused = sm.start("handoff", str(document), environment=inside)

    assert refused.returncode == 2, refused.stderr
    assert refused.stderr.startswith("sm: ")
