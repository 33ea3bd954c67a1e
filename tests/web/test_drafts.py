"""Automatic documents over HTTP."""

from pathlib import Path
from urllib.parse import quote

from tests.kit.planted import found, plant
from tests.kit.tmux import wait_until
from tests.web.conftest import NOBODY, Web


def test_a_sessions_document_is_shown(web: Web) -> None:
    wait_until(lambda: web.call("GET", f"/sessions/{web.ada}/draft").status == 200)

    draft = web.get(f"/sessions/{web.ada}/draft?budget=20000")

    assert draft["document"].startswith("<!-- HANDOFF-ID: HO-")
    assert "\nhello\n" in draft["document"]
    assert draft["size"] == len(draft["document"].encode())
    assert (draft["budget"], draft["asides"]) == (20_000, [])


def test_the_document_of_any_transcript_is_shown(web: Web, tmp_path: Path) -> None:
    planted = plant(tmp_path / "it's ünïque; $(x).jsonl", 150_000, long_request=True)
    draft = web.get(f"/draft?transcript={quote(str(planted.path))}")

    assert all(found(fact, draft["document"]) for fact in planted.facts)
    assert [aside["text"] for aside in draft["asides"]] == [planted.latest_requests[0]]
    assert draft["asides"][0]["name"] in draft["document"]


def test_what_cannot_be_shown_is_refused_in_words(web: Web, tmp_path: Path) -> None:
    assert web.call("GET", f"/sessions/{NOBODY}/draft").status == 404
    gone = web.call("GET", f"/sessions/{web.gone}/draft")
    assert (gone.status, "no transcript" in gone.error) == (409, True)
    none = web.call("GET", "/draft")
    assert (none.status, none.error) == (
        400, "Name the transcript: ?transcript=FILE, with its whole path.",
    )  # fmt: skip
    assert web.call("GET", f"/draft?transcript={tmp_path}/none").status == 404
    assert web.call("GET", "/draft?transcript=%2Fx%00y").status == 400
    assert web.call("GET", f"/draft?transcript={'x' * 5000}").status == 409
    assert web.call("GET", f"/draft?transcript=%2F{'x' * 5000}").status in (404, 409)
    small = web.call("GET", f"/sessions/{web.ada}/draft?budget=1")
    assert (small.status, "at least 4KB" in small.error) == (409, True)
    assert web.call("GET", f"/sessions/{web.ada}/draft?budget=much").status == 400
