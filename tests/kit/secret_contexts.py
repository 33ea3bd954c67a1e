"""Where secrets are found: lines that hold one, and the files, logs and records around them."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapper:
    """Surroundings: how they escape what stands in them, and what is around it."""

    name: str
    frame: Callable[[str], str]
    escape: Callable[[str], str]
    before: str
    after: str
    is_json: bool = False


def snippet_of(r: random.Random, name: str, value: str) -> str:
    """A line or two that hold a token which is recognisable by itself."""
    return r.choice(
        (
            f"{name}={value}",
            f'{name}="{value}"',
            f"export {name}='{value}'",
            f"{name}: {value}",
            f'"{name}": "{value}"',
            f"'{name}': '{value}',",
            f'client = Client(token="{value}", retries=3)',
            f"const key = `{value}`;",
            value,
            f"  - {value}",
            f"The key is {value}.",
            f"| {name} | {value} |",
            f"`{value}`",
            f"https://api.example.com/v1/items?limit=5&{name}={value}&page=2",
            f"curl -H '{name}: {value}' https://api.example.com",
            f"tool login --token {value}",
            f"<add key='{name}' value='{value}' />",
            f"{name},{value},2026-01-01",
            f"found\t{value}\tin 3 files",
            f"error: invalid credentials ({value})",
            f"{name}:{value}",
            f"\x1b[32m{value}\x1b[0m",
        )
    )


def _plain(text: str) -> str:
    return text


def _json(text: str) -> str:
    return json.dumps(text)[1:-1]


def _json_html(text: str) -> str:
    """As encoders that must be safe in a page write it: quotes and ampersands by number."""
    hidden = _json(text.replace('"', "\0").replace("'", "\1").replace("&", "\2"))
    for mark, code in (("0000", "0022"), ("0001", "0027"), ("0002", "0026")):
        hidden = hidden.replace(f"\\u{mark}", f"\\u{code}")
    return hidden


def _twice(text: str) -> str:
    return _json(_json(text))


def _record(text: str) -> str:
    """A line of a transcript: what a tool printed."""
    result = {"type": "tool_result", "tool_use_id": "toolu_01", "content": f"before\n{text}\nafter"}
    record = {"type": "user", "message": {"role": "user", "content": [result]}, "cwd": "/src/app"}
    return json.dumps(record) + "\n"


def _record_html(text: str) -> str:
    return f'{{"type": "result", "text": "before {_json_html(text)} after"}}\n'


def _record_twice(text: str) -> str:
    """A record within a record: an API request that was logged."""
    inner = json.dumps({"stdout": f"before\n{text}\nafter", "code": 0})
    return json.dumps({"level": "debug", "body": inner}) + "\n"


def _log(text: str) -> str:
    return f"2026-11-16T06:00:01Z INFO before\n2026-11-16T06:00:02Z DEBUG {text}\nafter done\n"


def _file(text: str) -> str:
    return f"# before\nPORT=8080\n{text}\nDEBUG=true\n# after\n"


def _markdown(text: str) -> str:
    return f"## Set-up before\n\n```\n{text}\n```\n\nThen after that run `make`.\n"


def _diff(text: str) -> str:
    body = "\n".join(f"+{line}" for line in text.split("\n"))
    return f"@@ -1,3 +1,4 @@ before\n unchanged\n{body}\n after\n"


def _indented(text: str) -> str:
    body = "\n".join(f"      {line}" for line in text.split("\n"))
    return f"before:\n  env:\n{body}\n  after: 1\n"


def _history(text: str) -> str:
    return f"  501  cd before\n  502  {text}\n  503  ls after\n"


def _windows(text: str) -> str:
    return f"before\r\n{text}\r\nafter\r\n".replace("\r\n", "\n").replace("\n", "\r\n")


def _as_it_is(name: str, frame: Callable[[str], str]) -> Wrapper:
    return Wrapper(name=name, frame=frame, escape=_plain, before="before", after="after")


def _escaped(name: str, frame: Callable[[str], str], escape: Callable[[str], str]) -> Wrapper:
    return Wrapper(
        name=name, frame=frame, escape=escape, before="before", after="after", is_json=True
    )


WRAPPERS = (
    _as_it_is("file", _file),
    _as_it_is("log", _log),
    _as_it_is("markdown", _markdown),
    _as_it_is("diff", _diff),
    _as_it_is("indented", _indented),
    _as_it_is("shell history", _history),
    _as_it_is("windows file", _windows),
    Wrapper(name="alone", frame=_plain, escape=_plain, before="", after=""),
    _escaped("transcript record", _record, _json),
    _escaped("record by numbers", _record_html, _json_html),
    _escaped("record within a record", _record_twice, _twice),
)
