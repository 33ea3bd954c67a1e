"""Installing and undoing it, on real files; without a daemon."""

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from sm.install import installer
from sm.install.agents import AGENTS, Agent
from sm.install.files import InstallError
from sm.install.hooks import Entries, Entry
from sm.install.installer import Condition, Plan
from sm.settings.home import Home
from tests.install.test_hooks import TEXTS

CLAUDE = AGENTS["claude"]
USERS = """\
{
    "model": "opus",
    "hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]
    }
}
"""


@dataclass
class Ground:
    """One person's folders."""

    folder: Path
    agent: Agent = CLAUDE
    base: str = "ho me"

    @property
    def home(self) -> Home:
        base = self.folder / self.base
        return Home(base, base / "config.toml", self.folder / "run", is_default=False)

    @property
    def file(self) -> Path:
        return self.folder / ".claude" / "settings.json"

    @property
    def command(self) -> str:
        return f"'{self.home.bin / 'hook'}' --installed"

    def write(self, text: str) -> None:
        self.file.parent.mkdir(exist_ok=True)
        self.file.write_text(text, newline="")

    def edit(self, edit: Callable[[str], str]) -> None:
        self.write(edit(self.file.read_text()))

    def plan(self) -> Plan:
        return installer.plan_install(self.home, self.agent, {"HOME": str(self.folder)})

    def install(self) -> Plan:
        plan = self.plan()
        installer.install(self.home, plan)
        return plan

    def plan_uninstall(self) -> Plan:
        return installer.plan_uninstall(self.home, self.agent, {"HOME": str(self.folder)})

    def uninstall(self) -> Plan:
        plan = self.plan_uninstall()
        installer.uninstall(self.home, plan)
        return plan

    def condition(self) -> Condition:
        return installer.condition(self.home, self.agent, {"HOME": str(self.folder)})

    def hooks(self) -> dict[str, list[dict[str, object]]]:
        found: dict[str, list[dict[str, object]]] = json.loads(self.file.read_text())["hooks"]
        return found

    def records(self) -> list[Path]:
        return list((self.home.state / "installed").glob("*"))


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def _without(*events: str) -> Agent:
    """Another version of sm, which does not want these."""

    def entries(command: str) -> Entries:
        return {e: v for e, v in CLAUDE.entries(command).items() if e not in events}

    return Agent(
        name="claude",
        settings_file=CLAUDE.settings_file,
        entries=entries,
        reads_comments=False,
        off_switch="off",
    )


def test_every_event_gets_our_call_behind_the_persons_own(ground: Ground) -> None:
    """And the script it calls is there and runs."""
    ground.write(USERS)
    plan = ground.install()

    hooks = ground.hooks()
    assert set(hooks) == set(CLAUDE.entries("x")) == set(plan.merged.added)
    assert hooks["Stop"] == [
        {"hooks": [{"type": "command", "command": "mine"}]},
        {"hooks": [{"type": "command", "command": ground.command, "timeout": 10}]},
    ]
    done = subprocess.run(ground.command, shell=True, input=b"{}", capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(TEXTS)
def test_everything_comes_back_byte_for_byte(ground: Ground, text: str) -> None:
    """Whatever the file looked like."""
    ground.write(text)
    before = ground.file.read_bytes()
    ground.install()
    assert ground.file.read_bytes() != before
    plan = ground.uninstall()

    assert (ground.file.read_bytes(), plan.is_restored) == (before, True)
    assert ground.records() == []


def test_a_second_time_nothing_is_written(ground: Ground) -> None:
    """Not even its time changes, nor what we remember."""
    ground.write(USERS)
    ground.install()
    before = _touched(ground.file), _touched(ground.records()[0])
    plan = ground.install()

    assert (plan.is_change, plan.diff()) == (False, [])
    assert (_touched(ground.file), _touched(ground.records()[0])) == before


def _touched(file: Path) -> tuple[int, int, int]:
    found = file.stat()
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def test_a_file_we_made_is_deleted(ground: Ground) -> None:
    """With its folder, if that is empty."""
    ground.install()
    assert ground.uninstall().after is None
    assert not ground.file.parent.exists()

    ground.install()
    (ground.file.parent / "history").touch()
    ground.uninstall()
    assert [path.name for path in ground.file.parent.iterdir()] == ["history"]


def test_a_file_we_made_stays_if_it_holds_something_else(ground: Ground) -> None:
    """What the agent itself wrote into it."""
    ground.install()
    ground.write(json.dumps({**json.loads(ground.file.read_text()), "model": "x"}))
    ground.uninstall()
    assert json.loads(ground.file.read_text()) == {"model": "x"}

    ground.file.unlink()
    ground.install()
    ground.write(json.dumps(json.loads(ground.file.read_text())))  # only its form was changed
    assert ground.uninstall().after is None


def test_what_was_changed_in_between_stays(ground: Ground) -> None:
    """Only our entries go, and what we had to make for them."""
    ground.write(USERS)
    ground.install()
    ground.edit(lambda text: text.replace('"opus"', '"sonnet"'))
    plan = ground.uninstall()

    assert ground.file.read_text() == USERS.replace('"opus"', '"sonnet"')
    assert not plan.is_restored


def test_hooks_removed_by_hand_stay_out_until_a_fresh_start(ground: Ground) -> None:
    """Installing again leaves them out and says so; undoing tells it too."""
    ground.install()
    hooks = ground.hooks()
    del hooks["Stop"]
    ground.write(json.dumps({"hooks": hooks}))

    assert ground.install().merged.left_out == ("Stop",)
    assert ground.condition() == Condition(
        kind="partly", file=ground.file, missing=("Stop",), by_hand=True
    )
    assert ground.uninstall().merged.left_out == ("Stop",)
    ground.install()
    assert "Stop" in ground.hooks()


@pytest.mark.parametrize("text", ['{"a":1}', "{}", "", '{"hooks": {"Stop": [ ]}}', USERS, None])
@pytest.mark.parametrize("first", [0, 1])
def test_two_homes_leave_nothing_behind(tmp_path: Path, text: str | None, first: int) -> None:
    """In whichever order they are uninstalled: brackets go with the last who needed them."""
    grounds = [Ground(tmp_path, base="one"), Ground(tmp_path, base="two")]
    if text is not None:
        grounds[0].write(text)
    for ground in grounds:
        ground.install()
    for ground in (grounds[first], grounds[not first]):
        ground.uninstall()

    assert (grounds[0].file.read_text() if grounds[0].file.exists() else None) == text
    assert grounds[0].file.parent.exists() == (text is not None)


def test_a_home_that_comes_back_knows_what_the_other_has_made_room_for(tmp_path: Path) -> None:
    """What the first had to make is remembered by whoever is left."""
    one, two = Ground(tmp_path, base="one"), Ground(tmp_path, base="two")
    one.write('{"a":1}')
    for change in (one.install, two.install, one.uninstall, one.install, two.uninstall):
        change()
    one.uninstall()

    assert one.file.read_text() == '{"a":1}'


def test_a_newer_list_replaces_an_older_one(ground: Ground) -> None:
    """Ours alone; and everything still comes back byte for byte."""
    ground.write(USERS)
    ground.agent = _without("Stop", "SubagentStop")
    ground.install()
    ground.agent = _without("PreCompact")
    assert ground.condition().kind == "partly"
    plan = ground.install()

    assert plan.merged.added == ("Stop", "SubagentStop")
    assert plan.merged.removed == ("PreCompact",)
    assert ground.uninstall().is_restored
    assert ground.file.read_text() == USERS


def test_a_home_that_was_moved_finds_its_own_again(ground: Ground) -> None:
    """The old path in the settings becomes the new one, where each stands."""
    ground.write(USERS)
    ground.install()
    old = ground.file.read_text()
    (ground.folder / "ho me").rename(ground.folder / "mo ved")
    ground.base = "mo ved"
    assert ground.condition().kind == "outdated"
    plan = ground.install()

    assert ground.file.read_text() == old.replace("/ho me/", "/mo ved/")
    assert plan.merged.updated == tuple(ground.hooks())
    assert ground.uninstall().is_restored
    assert ground.file.read_text() == USERS


def test_an_update_of_a_changed_file_keeps_the_change(ground: Ground) -> None:
    """And undoing it does too."""
    ground.write(USERS)
    ground.agent = _without("Stop")
    ground.install()
    ground.edit(lambda text: text.replace('"opus"', '"sonnet"'))
    ground.agent = CLAUDE
    ground.install()
    plan = ground.uninstall()

    assert ground.file.read_text() == USERS.replace('"opus"', '"sonnet"')
    assert not plan.is_restored


def test_without_our_memory_ours_are_found_all_the_same(ground: Ground) -> None:
    """The state folder was lost."""
    ground.write(USERS)
    ground.install()
    shutil.rmtree(ground.home.state)

    assert ground.condition().kind == "broken"
    assert not ground.install().is_change  # but the script is there again
    assert ground.condition().kind == "installed"
    ground.agent = _without("Stop")
    ground.install()
    ground.uninstall()
    assert ground.file.read_text() == USERS


def test_without_an_installation_there_is_nothing_to_do(ground: Ground) -> None:
    """With or without a file; nothing is made, either."""
    assert not ground.uninstall().is_change
    ground.write(USERS)
    assert not ground.uninstall().is_change
    assert not ground.home.base.exists()


def test_a_file_that_is_gone_is_forgotten(ground: Ground) -> None:
    """Nothing is left to undo, and the next installation is the first."""
    ground.write(USERS)
    ground.install()
    ground.file.unlink()

    assert not ground.uninstall().is_change
    assert ground.records() == []


def test_two_at_once_give_the_same_as_one(ground: Ground) -> None:
    """Both were planned before either wrote."""
    ground.write(USERS)
    first, second = ground.plan(), ground.plan()
    installer.install(ground.home, first)
    installer.install(ground.home, second)
    undo, undo_too = ground.plan_uninstall(), ground.plan_uninstall()
    installer.uninstall(ground.home, undo)
    installer.uninstall(ground.home, undo_too)

    assert (undo.is_restored, ground.file.read_text()) == (True, USERS)


def test_a_change_between_looking_and_writing_is_refused(ground: Ground) -> None:
    """And what we remember stays what it was."""
    ground.write(USERS)
    ground.agent = _without("Stop")
    ground.install()
    remembered = ground.records()[0].read_bytes()
    ground.agent = CLAUDE
    plan, undo = ground.plan(), ground.plan_uninstall()
    ground.edit(lambda text: text + "\n")

    with pytest.raises(InstallError, match="try again"):
        installer.install(ground.home, plan)
    with pytest.raises(InstallError, match="try again"):
        installer.uninstall(ground.home, undo)
    assert ground.records()[0].read_bytes() == remembered


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{\n  oops}", "line 2, column 3: a name is missing. Mend the file and try again"),
        ('{"hooks": 5}', 'line 1, column 11: "hooks" must be an object'),
    ],
)
def test_a_broken_file_is_refused_with_the_place(ground: Ground, text: str, words: str) -> None:
    """Nothing is written, not even our own folders."""
    ground.write(text)

    for attempt in (ground.install, ground.uninstall, ground.condition):
        with pytest.raises(InstallError) as caught:
            attempt()
        assert f"{ground.file}, {words}" in str(caught.value)
    assert ground.file.read_text() == text
    assert not ground.home.base.exists()


def test_other_encodings_are_refused(ground: Ground) -> None:
    """With the place of the first byte that cannot be read."""
    ground.write("")
    ground.file.write_bytes('{"a": 1}'.encode("utf-16"))

    with pytest.raises(InstallError, match="is not UTF-8 text: byte 1 cannot be read"):
        ground.install()


def test_a_read_only_file_is_refused(ground: Ground) -> None:
    """But nothing is wrong with one in which all is installed already."""
    ground.write(USERS)
    ground.file.chmod(0o444)
    with pytest.raises(InstallError, match="read-only"):
        ground.install()
    assert ground.file.read_text() == USERS

    ground.file.chmod(0o644)
    ground.install()
    ground.file.chmod(0o444)
    assert not ground.install().is_change


def test_a_file_the_agent_will_not_heed_is_told(ground: Ground) -> None:
    """Claude Code skips settings with comments as a whole."""
    ground.write("{ // mine\n}")
    warning = ground.install().warning

    assert warning == (
        "claude skips a settings file with comments or trailing commas as a whole, "
        "and the hooks with it; the first is in line 1."
    )
    assert ground.condition() == Condition(
        kind="unheeded", file=ground.file, warning=warning, remedy=f"Remove them from {ground.file}"
    )


def test_the_condition_follows_what_is_done(ground: Ground) -> None:
    """From nothing to all and back."""
    kinds = [ground.condition().kind]
    ground.install()
    kinds.append(ground.condition().kind)
    ground.edit(lambda text: text.replace('"timeout": 10', '"timeout": 99', 1))
    kinds.append(ground.condition().kind)
    ground.uninstall()
    kinds.append(ground.condition().kind)

    assert kinds == ["not installed", "installed", "installed", "not installed"]


def test_the_change_is_shown_as_a_diff(ground: Ground) -> None:
    """Line ends apart, a missing last one as diff shows it."""
    ground.agent = Agent(
        name="claude",
        settings_file=CLAUDE.settings_file,
        entries=lambda command: {"Stop": Entry(call={"command": command})},
        reads_comments=True,
        off_switch="off",
    )
    ground.write('{\r\n "hooks": {\r\n  "Stop": []\r\n }\r\n}')
    file, hook = ground.file, ground.home.bin / "hook"

    assert "\n".join(ground.plan().diff()) == (
        f"--- {file}\n+++ {file}\n@@ -1,5 +1,13 @@\n"
        ' {\n  "hooks": {\n-  "Stop": []\n+  "Stop": [\n+   {\n+    "hooks": [\n+     {\n'
        f'+      "command": "\'{hook}\' --installed"\n'
        "+     }\n+    ]\n+   }\n+  ]\n  }\n }\n\\ No newline at end of file"
    )
