"""The kernel's word on memory: real lines of its log, and a real control group where we may."""

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sm.adapters import kernel
from sm.adapters.kernel import Counter, counter_of, killed_in, read_log
from sm.adapters.system import ExitWatch, ProcessTable

# As Linux 6.18 wrote them, and 4.15 and 5.4 before.
CGROUP = (
    "3,1187,1816422250,-;Memory cgroup out of memory: Killed process 20716 (python3) total-vm:"
    "221356kB, anon-rss:24320kB, file-rss:6460kB, shmem-rss:0kB, UID:0 pgtables:104kB "
    "oom_score_adj:0\n"
)
NAMED = (
    "6,1186,1816422229,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,"
    "mems_allowed=0,oom_memcg=/x,task_memcg=/x,task=python3,pid=20716,uid=0\n"
)
OLD = (
    "3,900,500000000,-;Out of memory: Kill process 4711 (node) score 912 or sacrifice child\n",
    "3,901,500000100,-;Killed process 4711 (node) total-vm:1kB, anon-rss:1kB, file-rss:0kB\n",
)
HOST = (
    "3,77,900000000,-;Out of memory: Killed process 815 (a) (b)) total-vm:9kB, UID:1000\n SUB=x\n"
)
LOG = [*OLD, HOST, NAMED, CGROUP]


@pytest.mark.parametrize(
    ("pid", "words"),
    [
        (20716, "Memory cgroup out of memory: Killed process 20716 (python3) total-vm:221356kB"),
        (4711, "Killed process 4711 (node) total-vm:1kB, anon-rss:1kB, file-rss:0kB"),
        (815, "Out of memory: Killed process 815 (a) (b)) total-vm:9kB, UID:1000"),
    ],
)
def test_the_log_names_the_process_it_killed(pid: int, words: str) -> None:
    told = killed_in(LOG, pid, 0.0)

    assert told is not None
    assert told.startswith(words)
    assert len(told) <= kernel.SHOWN


@pytest.mark.parametrize("pid", [2071, 207160, 81, 1])
def test_other_processes_are_not_meant(pid: int) -> None:
    assert killed_in(LOG, pid, 0.0) is None


def test_an_earlier_process_with_the_same_number_is_not_meant() -> None:
    """Numbers come round again: what was killed before the agent began was another."""
    assert killed_in(LOG, 20716, 1817.0) is None
    assert killed_in(LOG, 20716, 1816.0) is not None


@pytest.mark.parametrize("line", ["", "garbage", "1,2;Killed", "a,b,c,-;Killed process 9 (x)", ";"])
def test_a_line_that_is_no_record_is_passed_over(line: str) -> None:
    assert killed_in([line], 7, 0.0) is None


def test_a_log_that_is_closed_to_us_says_nothing(tmp_path: Path) -> None:
    """As it is to most users: no error, and no claim."""
    assert read_log(tmp_path / "none") == []
    assert read_log(tmp_path) == []


def test_a_log_is_read_to_its_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(CGROUP)

    assert read_log(log) == [CGROUP]


# --- counters --------------------------------------------------------------------------------

V2 = "low 0\nhigh 0\nmax 38\noom 4\noom_kill 3\noom_group_kill 0\n"
V1 = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"


@pytest.mark.parametrize(
    ("membership", "file", "content"),
    [
        ("0::/user.slice/sm.scope\n", "user.slice/sm.scope/memory.events", V2),
        ("0::/\n", "memory.events", V2),
        ("1:cpu:/x\n0::/a:b\n", "unified/a:b/memory.events", V2),
        ("9:name=systemd:/\n4:memory:/agents\n0::/\n", "memory/agents/memory.oom_control", V1),
    ],
)
def test_the_group_of_a_process_counts(
    tmp_path: Path, membership: str, file: str, content: str
) -> None:
    """In both versions of control groups."""
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)

    counter = counter_of(membership, tmp_path)

    assert counter == Counter(path=path, count=3)
    assert counter.rise() == 0
    path.write_text(content.replace("oom_kill 3", "oom_kill 5"))
    assert counter.rise() == 2
    path.unlink()
    assert counter.rise() == 0


@pytest.mark.parametrize("membership", ["", "0::/gone\n", "4:memory:/gone\n", "1:cpu:/\n", "x\n"])
def test_without_a_counter_nothing_is_known(tmp_path: Path, membership: str) -> None:
    assert counter_of(membership, tmp_path) is None


# --- the real thing --------------------------------------------------------------------------


@pytest.fixture
def narrow() -> Iterator[Path]:
    """A control group in which there is hardly any memory."""
    first = Path("/sys/fs/cgroup/memory")
    files = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"]
    if not first.is_dir():
        first, files = Path("/sys/fs/cgroup"), ["memory.max", "memory.swap.max"]
    group = first / f"sm-test-{secrets.token_hex(4)}"
    try:
        group.mkdir()
        (group / files[0]).write_text(str(32 << 20))
        (group / files[1]).write_text(str(32 << 20) if "limit" in files[1] else "0")
    except OSError as error:
        if group.is_dir():
            group.rmdir()
        pytest.skip(f"this machine lets us make no control group with a limit: {error}")
    yield group
    group.rmdir()


GREEDY = "import sys; sys.stdin.readline(); x = bytearray(400 << 20)"


def starved(group: Path, watch: ExitWatch, table: ProcessTable) -> tuple[int, int]:
    """A process that was watched and then taken by the kernel: its pid and start time."""
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", GREEDY], stdin=subprocess.PIPE)
    (group / "cgroup.procs").write_text(str(process.pid))
    started = table.started(process.pid)
    assert started is not None
    watch.watch(process.pid, started, lambda: None)
    process.communicate(b"\n", timeout=60)
    assert process.returncode == -9
    return process.pid, started


@pytest.mark.anyio
async def test_the_real_kernel_tells_of_a_real_agent_it_took(narrow: Path) -> None:
    """Its log names the process; only this one, and only since it began."""
    table = ProcessTable()
    pid, started = starved(narrow, ExitWatch(table), table)
    if not read_log():
        pytest.skip("the kernel's log is closed to us")

    told = table.memory_killed(pid, started, by_kill=True)

    assert told is not None
    assert f"Killed process {pid} (python" in told
    assert table.memory_killed(pid, started, by_kill=False) == told
    later = started + 60 * os.sysconf("SC_CLK_TCK")
    assert table.memory_killed(pid, later, by_kill=True) is None
    assert table.memory_killed(os.getpid(), 1, by_kill=True) is None


@pytest.mark.anyio
async def test_where_the_log_is_closed_the_real_count_is_the_evidence(
    narrow: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """But only for an agent that SIGKILL ended: the kernel may have taken something else."""
    monkeypatch.setattr(kernel.read_log, "__defaults__", (tmp_path / "closed",))
    table = ProcessTable()
    watch = ExitWatch(table)
    pid, started = starved(narrow, watch, table)

    told = table.memory_killed(pid, started, by_kill=True)

    assert told is not None
    assert f"{narrow.name}/memory." in told
    assert told.endswith("counts 1 more than at its start")
    assert table.memory_killed(pid, started, by_kill=False) is None
    watch.unwatch(pid, started)
    assert table.memory_killed(pid, started, by_kill=True) is None


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
