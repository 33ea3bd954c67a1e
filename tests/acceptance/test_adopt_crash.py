"""The daemon is killed in the middle of an adoption: it is finished, once, by the next one."""

import pytest

from tests.cli.test_adopt import demo
from tests.kit.faulty import start_faulty
from tests.kit.sm import Sm
from tests.kit.tmux import private_tmux, socket_path, wait_until


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", [1, 2])
def test_an_adoption_survives_the_daemon(sm: Sm, when: str, nth: int) -> None:
    """Killed with -9 at the commit of the request, or of the tags: one session, one tag."""
    with private_tmux() as tmux, start_faulty(sm):
        pane, socket = demo(sm, tmux), str(socket_path(tmux.name))
        sm.plan_kill(at=sm.commits() + nth, when=when)

        adopted = sm.json("adopt", pane, "ada", "--tmux-socket", socket)

        wait_until(lambda: sm.state("ada") == "idle", 20)
        assert sm.health()["restarts"] == 1
        assert [s["id"] for s in sm.json("ls", "--all")] == [adopted["id"]]
        tag = ("show-options", "-p", "-v", "-t", pane, "@sm_pane")
        assert tmux.run(*tag) == adopted["id"]
        sent = sm.json("send", "ada", "still there?", "--wait", "30")
        assert sent["state"] in ("accepted", "done")
        sm.run("release", "ada")
        assert tmux.run("show-options", "-p", "-t", pane) == ""
