"""config.toml: what it may hold, and what an error in it tells."""

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sm.adapters.agents import Dialects
from sm.core.channel import NAME, NAME_RULE
from sm.core.message import Route
from sm.settings.config import (
    AGENTS,
    CHANNEL,
    CHANNEL_RULE,
    ROUTES,
    ConfigError,
    Settings,
    crash_budget,
    load,
    parse,
    percent,
    registry,
    seconds,
    size,
)

MONITOR = "[context_monitor]\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def _refusal(path: Path, text: str) -> str:
    path.write_text(text)
    with pytest.raises(ConfigError) as refused:
        load(path)
    return str(refused.value)


def test_without_a_file_the_defaults_hold(path: Path) -> None:
    """Nobody has to write a configuration."""
    loaded = load(path)

    assert loaded == Settings()
    assert (loaded.tmux.socket, loaded.tmux.history_limit) == ("sm", 50_000)
    assert (loaded.store.url, loaded.archive.retention) == ("sqlite", "90d")
    assert (loaded.daemon.log_level, loaded.daemon.log_size) == ("info", "5MB")
    assert (loaded.handoff.deadline, loaded.handoff.cooldown) == ("10m", "2m")
    assert (loaded.handoff.max_document, loaded.handoff.teach_agents) == ("1MB", True)
    assert (loaded.handoff.expiry, loaded.handoff.max_restarts) == ("2h", 10)
    assert (loaded.handoff.cooldown, loaded.handoff.deadline) == ("2m", "10m")
    assert loaded.channels == {}
    assert (loaded.recovery.auto_recover, loaded.recovery.crash_budget) == (False, "5 in 15m")
    assert crash_budget(loaded.recovery.crash_budget) == (5, 900.0)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('crash_budget = "often"', "crash_budget"),
        ('crash_budget = "0 in 5m"', "crash_budget"),
        ('crash_budget = "5 in 0s"', "crash_budget"),
        ('context_budget = "95%"', "context_budget"),
        ("max_context_lines = 0", "max_context_lines"),
        ('snapshot_interval = "now"', "snapshot_interval"),
        ('snapshot_dir = "here"', "snapshot_dir"),
        ("at_once = 0", "at_once"),
        ('prompts.template = "{scrolback}"', "prompts.template"),
    ],
)
def test_a_recovery_setting_without_meaning_is_refused(path: Path, text: str, key: str) -> None:
    """What would only show at three in the morning is said when the file is read."""
    assert f"recovery.{key} must be" in _refusal(path, f"[recovery]\n{text}\n")


@pytest.mark.parametrize("command", ["'", "a \\"])
def test_a_command_for_notices_that_has_no_words_is_refused(path: Path, command: str) -> None:
    """There is no shell that would make something of it."""
    words = _refusal(path, f"[notify]\ncommand = {json.dumps(command)}\n")

    assert "notify.command must be a program with arguments such as" in words
    path.write_text("[notify]\ncommand = 'notify-send \"from sm\"'\n")
    assert load(path).notify.command == 'notify-send "from sm"'


def test_a_template_may_hold_what_a_prompt_knows(path: Path) -> None:
    """Each of the places is known, and other braces are just text."""
    path.write_text("[recovery.prompts]\ntemplate = '{reason} {git} { x } {Y}'\n")

    assert load(path).recovery.prompts.template == "{reason} {git} { x } {Y}"


def test_what_the_file_says_is_taken(path: Path) -> None:
    """One key changes, the others keep their defaults."""
    path.write_text('[tmux]\nhistory_limit = 1000\n[daemon]\nlog_level = "debug"\n')

    loaded = load(path)

    assert (loaded.tmux.history_limit, loaded.tmux.socket) == (1000, "sm")
    assert loaded.daemon.log_level == "debug"


def test_thresholds_of_unlike_kinds_are_not_compared(path: Path) -> None:
    """Only an agent's window tells which is the higher one."""
    path.write_text(f"{MONITOR}warning_threshold = 100000\ncritical_threshold = 130000\n")

    monitor = load(path).context_monitor

    assert (monitor.early_threshold, monitor.warning_threshold) == ("40%", 100_000)
    assert (percent("40%"), percent(" 12.5 % ")) == (40.0, 12.5)


@pytest.mark.parametrize(
    ("text", "key"),
    [("[tmux]\nsoket = 'a'\n", "tmux.soket"), ("[tmucks]\n", "tmucks"), ("x = 1\n", "x")],
)
def test_an_unknown_key_is_named_with_its_file(path: Path, text: str, key: str) -> None:
    """A misspelt setting must not be silently without effect."""
    assert _refusal(path, text) == (
        f"{path}: unknown key {key}. See the configuration reference for what exists."
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[tmux]\nsocket = 5\n", "tmux.socket must be a text in quotes, not a whole number."),
        (
            "[tmux]\nhistory_limit = 'many'\n",
            "tmux.history_limit must be a whole number, not a text in quotes.",
        ),
        ("tmux = 1\n", "tmux must be a table of keys, not a whole number."),
    ],
)
def test_a_value_of_the_wrong_type_is_named(path: Path, text: str, words: str) -> None:
    """The key, what was expected, what was found."""
    assert _refusal(path, text) == f"{path}: {words}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[tmux]\nsocket = ''\n", "tmux.socket must be 1 to 40 letters"),
        ("[tmux]\nsocket = '..'\n", "tmux.socket must be 1 to 40 letters"),
        ("[tmux]\nsocket = 'a/b'\n", "tmux.socket must be 1 to 40 letters"),
        (f"[tmux]\nsocket = '{'a' * 41}'\n", "tmux.socket must be 1 to 40 letters"),
        ("[tmux]\nhistory_limit = 99\n", "tmux.history_limit must be between 100 and 10000000."),
        ("[tmux]\nhistory_limit = 10000001\n", "tmux.history_limit must be between"),
        ("[store]\nurl = 'mysql://x'\n", 'store.url must be "sqlite".'),
        (MONITOR + "early_threshold = 'half'\n", "context_monitor.early_threshold must be a part"),
        (MONITOR + "warning_threshold = 0\n", "context_monitor.warning_threshold must be a part"),
        (MONITOR + "critical_threshold = '101%'\n", "context_monitor.critical_threshold must be"),
        (
            MONITOR + "warning_threshold = '66%'\n",
            "context_monitor.critical_threshold must be above warning_threshold.",
        ),
        (
            MONITOR + "early_threshold = 9\nwarning_threshold = 9\n",
            "context_monitor.warning_threshold must be above early_threshold.",
        ),
        (MONITOR + "fallback_tool_count = 0\n", "context_monitor.fallback_tool_count must be more"),
        (MONITOR + "check_frequency = 0\n", "context_monitor.check_frequency must be more than 0."),
        ("[archive]\nretention = 'long'\n", 'archive.retention must be a time such as "90d"'),
        ("[archive]\nretention = '90'\n", 'archive.retention must be a time such as "90d"'),
        ("[archive]\nretention = '0d'\n", 'archive.retention must be a time such as "90d"'),
        ("[daemon]\nlog_size = '0B'\n", 'daemon.log_size must be a size such as "5MB"'),
        (
            "[delivery.routes]\nnope = ['paste']\n",
            "delivery.routes.nope must be named by one of claude, demo, generic.",
        ),
        ("[daemon]\nlog_level = 'loud'\n", "daemon.log_level must be debug, info, warning or"),
        ("[daemon]\nlog_size = 'big'\n", 'daemon.log_size must be a size such as "5MB"'),
        ("[handoff]\ncooldown = '-1s'\n", "handoff.cooldown must be a time such as"),
        ("[handoff]\nmax_document = 'big'\n", 'handoff.max_document must be a size such as "1MB"'),
        ("[handoff]\nexpiry = 'soon'\n", 'handoff.expiry must be a time such as "2h", "10m" or'),
        ("[handoff]\nexpiry = '0s'\n", "handoff.expiry must be a time such as"),
        ("[handoff]\ndeadline = 'now'\n", "handoff.deadline must be a time such as"),
        ("[handoff]\ncooldown = '2'\n", "handoff.cooldown must be a time such as"),
        ("[handoff]\nmax_restarts = -1\n", "handoff.max_restarts must be 0 or more."),
        (f"[daemon]\nlog_size = '{'9' * 400}B'\n", "daemon.log_size must be a size such as"),
    ],
)
def test_a_value_without_meaning_is_named_with_what_is_expected(
    path: Path, text: str, words: str
) -> None:
    """Right type, no meaning: said when the file is read, not when the value is used."""
    assert _refusal(path, text).startswith(f"{path}: {words}")


@pytest.mark.parametrize(
    "content",
    [b"[tmux\n", b"\xff\xfe", b"x = " + b"[" * 20_000, b"x = " + b"9" * 5000],
    ids=["unclosed", "not UTF-8", "nested too deep", "a number too long"],
)
def test_a_file_that_is_no_toml_is_refused_in_words(path: Path, content: bytes) -> None:
    """Whatever is in the file, no traceback."""
    path.write_bytes(content)

    with pytest.raises(ConfigError) as refused:
        load(path)

    assert str(refused.value).startswith(f"{path}: not valid TOML: ")


def test_a_file_that_cannot_be_read_is_refused_in_words(path: Path) -> None:
    """The reason is the system's."""
    path.mkdir()

    with pytest.raises(ConfigError) as refused:
        load(path)

    assert str(refused.value) == f"{path}: cannot be read: Is a directory."


@pytest.mark.parametrize(
    ("text", "value"),
    [("45s", 45.0), ("30m", 1800.0), ("12h", 43_200.0), ("90d", 7_776_000.0), ("1.5 h", 5400.0)],
)
def test_times_are_read(text: str, value: float) -> None:
    """As people write them."""
    assert seconds(text) == value


@pytest.mark.parametrize(
    ("text", "value"), [("5MB", 5_000_000), ("300kb", 300_000), ("1GB", 10**9)]
)
def test_sizes_are_read(text: str, value: int) -> None:
    """As people write them."""
    assert size(text) == value


_TABLES = st.sampled_from(["tmux", "store", "archive", "daemon", "other"])
_KEYS = st.sampled_from(["socket", "history_limit", "url", "retention", "log_size", "log_level"])
_VALUES = st.one_of(
    st.text().map(repr),
    st.integers().map(str),
    st.sampled_from(["inf", "nan", "true", "1979-05-27", "[]", "{}", "[[1]]", "'9e9d'"]),
)
_LINES = st.lists(st.tuples(_TABLES, _KEYS, _VALUES), max_size=4)


@given(content=st.one_of(st.binary(), _LINES))
@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_file_makes_loading_fail_otherwise(
    path: Path, content: bytes | list[tuple[str, str, str]]
) -> None:
    """Random bytes and random settings: loaded, or refused in words."""
    if not isinstance(content, bytes):
        lines = [f"[{table}]\n{key} = {value}\n" for table, key, value in content]
        content = "".join(lines).encode(errors="replace")
    path.write_bytes(content)

    with suppress(ConfigError):
        load(path)


def test_routes_can_be_switched_off_per_agent(path: Path) -> None:
    """An agent that is not named keeps all of its routes."""
    path.write_text('[delivery.routes]\nclaude = ["paste", "doorbell"]\ndemo = []\n')

    assert load(path).delivery.routes == {"claude": ["paste", "doorbell"], "demo": []}
    assert Settings().delivery.routes == {}


def test_every_route_the_core_knows_can_be_named(path: Path) -> None:
    assert set(ROUTES) == {route.value for route in Route}


@pytest.mark.parametrize("routes", ['["telepathy"]', '["paste", "Paste"]', '"paste"', "[1]"])
def test_a_route_that_does_not_exist_is_refused_with_those_that_do(path: Path, routes: str) -> None:
    told = _refusal(path, f"[delivery.routes]\nclaude = {routes}\n")

    assert "delivery.routes" in told
    assert str(path) in told


def test_the_agents_that_may_have_routes_are_those_there_are() -> None:
    assert {Dialects().named(name).name for name in AGENTS} == set(AGENTS)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[delivery.routes]\ndemo = []\nclaude = 'paste'", "delivery.routes.claude"),
        ("[delivery.routes]\nclaude = ['paste', 7]", "delivery.routes.claude[1]"),
        ("[redaction.patterns]\nbadge = 7", "redaction.patterns.badge"),
        ("[channels]\n'/src' = 7", 'channels."/src"'),
    ],
)
def test_a_value_of_the_wrong_type_is_named_under_a_free_name(
    path: Path, text: str, key: str
) -> None:
    """Not only its table."""
    assert _refusal(path, text).startswith(f"{path}: {key} must be ")


def test_own_patterns_are_taken(path: Path) -> None:
    """Each is a kind of its own."""
    path.write_text("[redaction.patterns]\nbadge = 'BADGE-[0-9]{4}'\n")

    assert load(path).redaction.patterns == {"badge": "BADGE-[0-9]{4}"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("badge = '[a-'", "badge must be a regular expression (unterminated character set"),
        ("badge = '(?=x)y'", "badge must be a regular expression without look-around"),
        ("badge = 'x*'", "badge must be a regular expression that does not match an empty text."),
        ("Badge = 'x'", "Badge must be named with 1 to 40 small letters, digits or '-'"),
        ("badge = 5", "patterns.badge must be a text in quotes, not a whole number."),
    ],
)
def test_a_pattern_that_cannot_be_used_is_named(path: Path, text: str, words: str) -> None:
    """A secret must not pass because of a slip in the configuration."""
    said = _refusal(path, f"[redaction.patterns]\n{text}\n")

    assert said.startswith(f"{path}: redaction.patterns")
    assert words in said


# --- channels ---------------------------------------------------------------------------------


def test_folders_are_registered_under_names(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tilde is the person's home; two folders may share a name."""
    monkeypatch.setenv("HOME", "/home/me")
    path.write_text('[channels]\n"~/src/api" = "api"\n"/srv/ünï: x" = "api"\n"~" = "home"\n')

    settings = load(path)

    assert settings.channels == {"~/src/api": "api", "/srv/ünï: x": "api", "~": "home"}
    assert registry(settings) == {
        "/home/me/src/api": "api",
        "/srv/ünï: x": "api",
        "/home/me": "home",
    }


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('"src/api" = "api"', 'channels."src/api" must be a name for an absolute folder such as'),
        ('"" = "api"', 'channels."" must be a name for an absolute folder'),
        ('"/a\\u0000" = "api"', 'channels."/a\\u0000" must be a name for an absolute folder'),
        ('"~nobody-of-that-name/x" = "api"', 'channels."~nobody-of-that-name/x" must be a name'),
        ('"/a" = "../../x"', "channels.\"/a\" must be 1 to 64 letters, digits, '-', '_' or '.', "),
        (
            '"/a" = "a"\n"/b/../a/" = "b"',
            "channels.\"/b/../a/\" must be 'a', as the same",
        ),
        ('"/a" = "api"\n"/b" = "API"', "channels.\"/b\" must be spelt 'api', as it is above"),
        ('"/a" = 5', 'channels."/a" must be a text in quotes, not a whole number.'),
    ],
)
def test_a_channel_that_cannot_be_one_is_named(path: Path, lines: str, words: str) -> None:
    assert _refusal(path, f"[channels]\n{lines}\n").startswith(f"{path}: {words}")


def test_the_core_has_the_same_rule_for_names() -> None:
    """A name the configuration takes is one the ledger takes."""
    assert (CHANNEL.pattern, CHANNEL_RULE) == (NAME.pattern, NAME_RULE)


def test_a_text_is_judged_before_it_is_written(path: Path) -> None:
    """As if it were the file."""
    assert parse(b"[tmux]\nhistory_limit = 1000\n", path).tmux.history_limit == 1000
    with pytest.raises(ConfigError, match="unknown key x"):
        parse(b"x = 1\n", path)
    assert not path.exists()


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    """Some editors write one; nobody sees it."""
    assert parse(b"\xef\xbb\xbf[daemon]\nlog_size = '1MB'", tmp_path).daemon.log_size == "1MB"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tmux.socket = 1", "tmux.socket must be a text in quotes, not a whole number."),
        ("handoff.max_restarts = 'x'", "handoff.max_restarts must be a whole number, not a text"),
        ("handoff.teach_agents = 1.5", "handoff.teach_agents must be true or false, not a number."),
        ("delivery.routes = []", "delivery.routes must be a table of keys, not a list."),
        ("context_monitor.early_threshold = true", "must be a whole number or a text in quotes,"),
    ],
)
def test_a_value_of_another_kind_is_told_in_plain_words(
    tmp_path: Path, text: str, words: str
) -> None:
    """File and key, what should be there and what is."""
    with pytest.raises(ConfigError) as refused:
        parse(text.encode(), tmp_path / "config.toml")

    assert str(refused.value).startswith(f"{tmp_path / 'config.toml'}: ")
    assert words in str(refused.value)
