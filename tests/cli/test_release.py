"""sm release"""

import json
import os
from collections.abc import Iterator

import pytest

from tests.cli.conftest import refusal
from tests.cli.test_adopt import demo
from tests.kit.sm import Sm
from tests.kit.tmux import Tmux, private_tmux, socket_path


@pytest.fixture
def theirs() -> Iterator[Tmux]:
    with private_tmux() as tmux:
        yield tmux


def test_the_agent_lives_on_without_a_mark_of_ours(sm: Sm, theirs: Tmux) -> None:
    """It can be adopted again."""
    pane, socket = demo(sm, theirs), str(socket_path(theirs.name))
    pid = json.loads(sm.run("adopt", pane, "tea", "--tmux-socket", socket, "--json"))["pid"]

    assert sm.run("release", "tea") == "tea was let go.\n"

    os.kill(pid, 0)
    assert theirs.run("show-options", "-p", "-t", pane) == ""
    assert theirs.run("list-clients") == ""
    assert sm.json("adopt", pane, "tea", "--tmux-socket", socket)["pid"] == pid
    assert sm.json("release", "tea")["state"] == "ended"


def test_what_sm_started_is_not_let_go(sm: Sm) -> None:
    """Nobody would find it again."""
    assert refusal(sm, "release", "ada") == (
        1, "ada was started by sm and cannot be let go. End it with: sm kill ada",
    )  # fmt: skip
