"""sm rename"""

from tests.cli.conftest import refusal
from tests.kit.sm import Sm
from tests.kit.tmux import wait_until


def test_the_new_name_holds_in_tmux_too(sm: Sm) -> None:
    """Same session, same id, its terminal under the new name."""
    session = sm.run("new", "old", "--agent", "cat").strip()

    assert sm.run("rename", "old", "young") == f"{session} is now young.\n"

    wait_until(lambda: "young" in sm.tmux("list-sessions", "-F", "#{session_name}").split())
    assert "old" not in sm.tmux("list-sessions", "-F", "#{session_name}").split()
    assert sm.json("show", "young")["tmux"]["session"] == "young"
    assert refusal(sm, "show", "old")[0] == 1
    assert sm.json("rename", "young", "old")["name"] == "old"
    sm.run("kill", "old")


def test_a_name_that_cannot_be_used_is_refused(sm: Sm) -> None:
    """Taken, or not a name."""
    assert refusal(sm, "rename", "bob", "ada") == (
        1, "ada is taken. Choose another name, or: sm kill ada",
    )  # fmt: skip
    code, words = refusal(sm, "rename", "bob", "a b")
    assert (code, words.partition(":")[0]) == (1, "'a b' is not a usable name")
