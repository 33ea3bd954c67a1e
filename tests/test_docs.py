"""The documents and the program say the same: what exists is documented, what is named exists."""

import argparse
import ast
import inspect
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn, is_typeddict

import msgspec
import pytest

from sm.adapters.agents.demo import model
from sm.adapters.agents.demo.options import Options
from sm.api import types
from sm.cli.completion import whole_parser
from sm.cli.main import COMMANDS
from sm.core import delivery, reasons
from sm.core.crash import Cause
from sm.core.terminal import Obstacle
from sm.settings.config import Settings
from sm.web.app import all_endpoints

ROOT = Path(__file__).parents[1]
DOCS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
_FENCED = re.compile(r"^```.*?^```$", re.M | re.S)
_ROW = re.compile(r"^\| (.+?) \|", re.M)
_OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")


def text(name: str) -> str:
    return (ROOT / "docs" / name).read_text()


def in_code(page: str) -> set[str]:
    """Everything a page shows between single backticks."""
    return set(re.findall(r"`([^`\n]+)`", _FENCED.sub("", page)))


# --- commands --------------------------------------------------------------------------------


def commands() -> dict[str, argparse.ArgumentParser]:
    for action in whole_parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    raise AssertionError("the whole parser has no commands")


def options(command: str) -> set[str]:
    actions = commands()[command]._actions
    return {flag for action in actions for flag in action.option_strings} - {"-h", "--help"}


def sections() -> dict[str, str]:
    """What the reference says about each command."""
    parts = re.split(r"^### `sm (\w+)`$", text("cli.md"), flags=re.M)
    return {name: re.split(r"^## ", body, flags=re.M)[0] for name, body in _pairs(parts[1:])}


def _pairs(parts: list[str]) -> Iterator[tuple[str, str]]:
    return zip(parts[::2], parts[1::2], strict=True)


def calls(page: str) -> list[str]:
    """Every command line a page shows: in backticks, in indented lines and in consoles."""
    lines = re.findall(r"^(?:    |\$ )?(sm .*)$", page, re.M)
    spans = [span for span in in_code(page) if span.startswith("sm ")]
    return [re.split(r"\s--\s|\s+#|\)", call)[0] for call in [*lines, *spans]]


def test_every_command_has_its_section() -> None:
    """The reference explains exactly the commands there are."""
    assert set(sections()) == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_a_command_is_explained(command: str) -> None:
    """A person finds each option in its command's section, and none that does not exist."""
    named = set(_OPTION.findall(" ".join(in_code(sections()[command]))))

    assert options(command) - named == set()
    assert set(_OPTION.findall(_usage(command))) - options(command) == set()


def _usage(command: str) -> str:
    """The section's own command lines, and the first column of its table of options."""
    section = sections()[command]
    lines = [call for call in calls(section) if call.startswith(f"sm {command}")]
    return " ".join([*lines, *_ROW.findall(section)])


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_command_lines_in_the_documents_can_be_typed(page: Path) -> None:
    """Each command line in any document names a command and options that exist."""
    for call in calls(page.read_text()):
        word = call.split()[1]
        if not re.fullmatch(r"[a-z]+", word):
            continue
        assert word in COMMANDS, f"{page.name}: {call}"
        unquoted = re.sub(r"\"[^\"]*\"|'[^']*'", "", call)
        unknown = set(_OPTION.findall(unquoted)) - options(word) - {"--help"}
        assert unknown == set(), f"{page.name}: {call}"


def test_every_json_key_is_explained() -> None:
    """Scripts rely on the keys: each one is in the reference."""
    views = [value for value in vars(types).values() if is_typeddict(value)]
    keys = {key for view in views if not _is_body(view) for key in view.__annotations__}
    words = set(re.findall(r"\w+", " ".join(in_code(text("cli.md")))))

    assert keys - words == {"error"}  # a refusal's, explained with the API


def _is_body(view: type) -> bool:
    return view.__name__.endswith("Body")


def test_every_key_of_a_request_is_explained() -> None:
    """What the API takes is in its page."""
    bodies = [value for value in vars(types).values() if is_typeddict(value) and _is_body(value)]
    keys = {key for body in bodies for key in body.__annotations__}

    assert keys - in_code(text("api.md")) == set()


def test_every_reason_for_waiting_is_explained() -> None:
    """Whatever `sm messages` says, its page says what helps."""
    table = text("receipts.md").partition("## Why a message waits")[2].partition("\n## ")[0]
    said = {part for row in _ROW.findall(table) for part in (row, *row.split("; "))}
    words = {obstacle.words for obstacle in Obstacle} | set(reasons._STATE_REASONS.values())

    assert {w for w in words if w not in said and f"{w};" not in table} == set()


def test_the_pauses_are_the_programs_own() -> None:
    """How long a person may have to wait for the next try."""
    shown = text("receipts.md").partition("The pauses:")[2].partition("\n## ")[0]
    *first, last = (f"{pause:g}" for pause in delivery.PAUSES)
    drawing = delivery.DRAWING[: -len(delivery.PAUSES)]

    assert f"| {', '.join(first)}, then every {last} s;" in shown
    assert f"| {', '.join(map(str, drawing))} s first" in shown
    for pause in (delivery.ASK_AGAIN_AFTER, delivery.CONFIRM_WITHIN, delivery.INTERRUPT_WITHIN,
                  delivery.UNPROVED_PAUSE):  # fmt: skip
        assert f"| {pause:g} s" in shown


def test_every_cause_of_an_end_is_explained() -> None:
    """Whatever `sm show` names as the cause, its page says what speaks for it."""
    section = text("recovery.md").partition("## What counts as a crash")[2].partition("\n## ")[0]
    table = section.partition("| cause |")[2].partition("\n\n")[0]

    assert {row.strip("`") for row in _ROW.findall(table)} - {"---"} == set(Cause)


# --- settings --------------------------------------------------------------------------------


def settings() -> dict[str, object]:
    tables: dict[str, dict[str, object]] = msgspec.to_builtins(Settings())
    told = {f"{table}.{key}": v for table, values in tables.items() for key, v in values.items()}
    prompts = told.pop("recovery.prompts")
    assert isinstance(prompts, dict)
    return told | {f"recovery.prompts.{key}": v for key, v in prompts.items()}


def test_every_setting_is_explained_with_its_default() -> None:
    """The table of settings is exactly what a config.toml may hold, with the true defaults."""
    rows = re.findall(r"^\| `(\w+\.[\w.]+)` \| `([^`]+)` \|", text("configuration.md"), re.M)

    assert dict(rows) == {k: msgspec.json.encode(v).decode() for k, v in settings().items()}


def test_the_example_configuration_can_be_used() -> None:
    """What a person copies from the page works."""
    (example,) = re.findall(r"^```toml\n(.*?)^```$", text("configuration.md"), re.M | re.S)

    assert isinstance(msgspec.toml.decode(example, type=Settings), Settings)


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_settings_named_in_the_documents_exist(page: Path) -> None:
    """`table.key` in backticks, for one of our tables, is a setting."""
    tables = "|".join({name.partition(".")[0] for name in settings()})
    named = {w for w in in_code(page.read_text()) if re.fullmatch(rf"({tables})\.\w+", w)}

    assert named - set(settings()) - _FILES == set()


_FILES = {"store.db", "daemon.log", "daemon.lock", "daemon.pid", "tmux.conf"}
"""Files whose names look like settings."""


# --- endpoints -------------------------------------------------------------------------------


def _no_health() -> NoReturn:
    raise NotImplementedError


ENDPOINTS = all_endpoints(_no_health)


def test_every_endpoint_is_explained() -> None:
    """The table of calls is exactly what the daemon answers."""
    rows = re.findall(r"^\| ([A-Z]+) \| `([^`]+)` \|", text("api.md"), re.M)
    served = {(endpoint.method, endpoint.path) for endpoint in ENDPOINTS}

    assert set(rows) == served | {("GET", "/openapi.json")}


@pytest.mark.parametrize(
    "endpoint", [e for e in ENDPOINTS if e.query], ids=lambda e: f"{e.method} {e.path}"
)
def test_every_query_parameter_is_explained(endpoint: object) -> None:
    """Each parameter is in its call's row."""
    found = next(e for e in ENDPOINTS if e is endpoint)
    row = next(r for r in text("api.md").splitlines() if f"`{found.path}`" in r)

    assert {q.name for q in found.query} - in_code(row) == set()


# --- the demo agent --------------------------------------------------------------------------


def directives() -> set[str]:
    """The words the demo program itself looks for."""
    tree = ast.parse(inspect.getsource(model._directive))
    values = [node.value for node in ast.walk(tree) if isinstance(node, ast.MatchValue)]
    words = {value.value for value in values if isinstance(value, ast.Constant)}
    return {word for word in words if isinstance(word, str)}


def test_every_directive_is_explained() -> None:
    """The page names exactly the directives the program understands."""
    named = {word for code in in_code(text("demo-agent.md")) for word in _directives_in(code)}

    assert named == directives()


def _directives_in(code: str) -> list[str]:
    return re.findall(r"(?:^|\s)%(\w+)", code)


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_directives_named_in_the_documents_exist(page: Path) -> None:
    """A prompt copied from any document does what the document says."""
    shown = [line for line in page.read_text().splitlines() if line.startswith("%")]
    named = [w for code in [*in_code(page.read_text()), *shown] for w in _directives_in(code)]

    assert set(named) - directives() == set()


def test_every_option_of_the_demo_agent_is_explained() -> None:
    """Its page names exactly its options."""
    table = text("demo-agent.md").partition("## Options")[2]
    named = set(_OPTION.findall(" ".join(_ROW.findall(table))))

    assert named == {f"--{name.replace('_', '-')}" for name in Options._fields} - {"--prompt"}


# --- links and machines ----------------------------------------------------------------------


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_relative_links_lead_somewhere(page: Path) -> None:
    """Each link to a file or a heading of this repository finds it."""
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if "://" in target:
            continue
        path, _, heading = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        assert found.exists(), f"{page.name}: {target}"
        assert not heading or heading in _anchors(found), f"{page.name}: {target}"


def _anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", _FENCED.sub("", page.read_text()), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


_FOLDERS = "|".join(("/work", "/root", re.escape(str(ROOT))))
"""A developer's own, and wherever this is checked out."""
_REGISTRIES = "|".join(
    map(r"\.".join, (("pypi", "org"), ("pythonhosted", "org"), ("registry", "npm")))
)
_MACHINE = re.compile(
    rf"(?<![\w.-])(?:{_FOLDERS})/|{_REGISTRIES}|\bindex[-]url\b|/simple[/]?[\"'\s]", re.I
)


def test_no_file_speaks_of_one_machine() -> None:
    """No tracked file holds a path of somebody's machine or the address of a package registry."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    paths = {ROOT / name for name in listed.split("\0") if name} | set(DOCS)
    texts = {path: path.read_bytes() for path in sorted(paths) if path.is_file()}
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path, content in texts.items()
        if b"\0" not in content
        for match in [_MACHINE.search(content.decode(errors="replace"))]
        if match is not None
    ]

    assert found == []
