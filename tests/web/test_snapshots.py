"""Snapshots over HTTP."""

from pathlib import Path

from sm.api.types import SnapshotText, SnapshotView
from tests.web.conftest import NOBODY, Web


def test_one_is_taken_listed_and_shown(web: Web) -> None:
    answer = web.call("POST", f"/sessions/{web.ada}/snapshots")
    taken = answer.json
    shown = web.get(f"/sessions/ada/snapshots/{taken['name']}")

    assert answer.status == 201
    assert list(taken) == list(SnapshotView.__annotations__)
    assert web.get(f"/sessions/{web.ada}/snapshots")[0] == taken
    assert {"text", *shown} == {*SnapshotText.__annotations__, *SnapshotView.__annotations__}
    assert shown == {**taken, "text": Path(taken["path"]).read_text()}
    assert shown == web.get(f"/sessions/{web.ada}/snapshots/newest")
    assert (len(shown["text"].encode()), shown["text"].count("\n")) == (
        taken["size"], taken["lines"],
    )  # fmt: skip
    assert "❯" in shown["text"]


def test_what_cannot_be_shown_or_taken_is_refused_in_words(web: Web) -> None:
    assert web.call("GET", f"/sessions/{NOBODY}/snapshots").status == 404
    assert web.call("POST", f"/sessions/{NOBODY}/snapshots").status == 404
    web.call("POST", f"/sessions/{web.ada}/snapshots")
    none = web.call("GET", f"/sessions/{web.ada}/snapshots/1999")
    assert (none.status, none.error) == (
        404, "No snapshot of ada begins with '1999'. See: sm snapshot ada --list",
    )  # fmt: skip
    assert web.call("GET", f"/sessions/{web.ada}/snapshots/..%2F..%2Ftoken").status == 404
    gone = web.call("POST", f"/sessions/{web.gone}/snapshots")
    assert (gone.status, gone.error) == (
        409,
        (
            "No snapshot of gone can be taken: its terminal is gone."
            " There is none from before. What it showed: sm log gone"
        ),
    )
    empty = web.call("GET", f"/sessions/{web.gone}/snapshots/newest")
    assert (empty.status, empty.error) == (
        404, "No snapshot of gone was kept. What it showed: sm log gone",
    )  # fmt: skip
