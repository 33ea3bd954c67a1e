"""Where secrets are met: files, commands, headers, logs, sources, and text inside JSON.

A place is text with a hole for the secret and, where it has one, the name it is kept under.
"""

import json
import re
from collections.abc import Callable
from random import Random

NAMED: tuple[str, ...] = (
    "# settings\nPORT=8080\n{NAME}={v}\nDEBUG=false\n",
    '{NAME}="{v}"\nLOG_LEVEL=info\n',
    "export {NAME}='{v}'\nexport PATH=/usr/bin\n",
    "export {NAME}={v} && npm run deploy\n",
    '{{\n  "region": "eu-west-1",\n  "{camel}": "{v}",\n  "retries": 3\n}}\n',
    '{{"{snake}":"{v}","ok":true}}\n',
    "service:\n  {snake}: {v}\n  port: 5432\n",
    'service:\n  {snake}: "{v}"\n  port: 5432\n',
    "env:\n  - name: {NAME}\n    value: {v}\n  - name: PORT\n    value: '80'\n",
    "environment:\n  - {NAME}={v}\n  - TZ=UTC\n",
    "[default]\n{snake} = {v}\nregion = us-east-1\n",
    '{snake} = "{v}"  # rotated last week\nname = "app"\n',
    'client = Client({snake}="{v}", timeout=30)\n',
    "os.environ['{NAME}'] = '{v}'\nimport app\n",
    'const {camel} = "{v}";\nfetch(url);\n',
    "const config = {{ {camel}: '{v}', retries: 2 }};\n",
    "  {camel}: `{v}`,\n",
    'os.Setenv("{NAME}", "{v}")\ndefer done()\n',
    '\t{Camel}: "{v}",\n\tTimeout: 5 * time.Second,\n',
    "'{snake}' => '{v}',\n'debug' => true,\n",
    "docker run -e {NAME}={v} -p 80:80 app:latest\n",
    "heroku config:set {NAME}={v} --app prod\n",
    "kubectl create secret generic app --from-literal={NAME}={v} -n prod\n",
    "ENV {NAME} {v}\nRUN make\n",
    "ENV {NAME}={v}\nRUN make\n",
    "deploy --{kebab} {v} --verbose\n",
    "deploy --{kebab}={v} --verbose\n",
    '<add key="{Camel}" value="{v}" />\n',
    "{dotted}={v}\nserver.port=8080\n",
    "diff --git a/.env b/.env\n@@ -1,2 +1,2 @@\n-{NAME}=old\n+{NAME}={v}\n PORT=1\n",
    'diff\n-    "{camel}": "{v}",\n+    "{camel}": "${{{NAME}}}",\n',
    "2026-03-01T10:22:31Z DEBUG starting with {NAME}={v} workers=4\n",
    "Set `{NAME}={v}` in your shell, then run `make`.\n",
    "```bash\nexport {NAME}={v}\n```\n",
    "\x1b[36m{NAME}\x1b[0m=\x1b[33m{v}\x1b[0m\n",
    '\x1b[34;1m"{snake}"\x1b[0m\x1b[1;39m:\x1b[0m \x1b[0;32m"{v}"\x1b[0m\n',
    "$ printenv | grep {NAME}\n{NAME}={v}\n$ \n",
    "A=1 {NAME}={v} {NAME}_2={v2} node server.js\n",
)
"""Named by what stands before them."""
BARE: tuple[str, ...] = (
    "my token is {v}\n",
    "use {v}, then tell me.\n",
    "({v})\n",
    "Here: `{v}`.\n",
    "'{v}'\n",
    "{v}\n",
    "| staging | {v} | active |\n",
    "curl -H 'Authorization: Bearer {v}' https://api.example.com/v1/me\n",
    'curl -s https://api.example.com/v1/me -H "X-Api-Key: {v}" | jq .\n',
    "> Authorization: Bearer {v}\r\n> Accept: */*\r\n",
    "GET /v1/items?limit=5&api_key={v} HTTP/1.1\n",
    "GET /callback?token={v}&state=xyz 200 12ms\n",
    "2026-03-01 10:22:31,113 ERROR auth failed for key {v} (401)\n",
    '{{"level":"error","msg":"rejected credential {v}","code":401}}\n',
    "\x1b[32m{v}\x1b[0m\n",
    "config.yml:12:    \x1b[01;31m\x1b[K{v}\x1b[m\x1b[K\n",
    "+  {v}\n",
    "first {v} second {v2}\n",
    "{v} {v2} {v}\n",
    'login("{v}");\n',
    "echo {v} | pbcopy\n",
    "<td>{v}</td>\n",
    "- old: {v}\n- new: {v2}\n",
)
"""Known by their own shape."""


def _names(name: str) -> dict[str, str]:
    words = name.lower().split("_")
    camel = words[0] + "".join(w.capitalize() for w in words[1:])
    return {
        "NAME": name,
        "snake": name.lower(),
        "kebab": "-".join(words),
        "dotted": ".".join(words),
        "camel": camel,
        "Camel": camel[0].upper() + camel[1:],
    }


Segments = list[tuple[str, bool]]
"""Text, and whether it is a secret."""


def put(place: str, name: str, first: str, second: str) -> Segments:
    values = {"v": "\x00v\x00", "v2": "\x00v2\x00"}
    text = place.format(**_names(name), **values)
    held = {"v": first, "v2": second}
    return [
        (held[piece], True) if at % 2 else (piece, False)
        for at, piece in enumerate(re.split("\x00(v2?)\x00", text))
        if at % 2 or piece
    ]


def _inside_json(text: str) -> str:
    return json.dumps(text)[1:-1]


def _twice(text: str) -> str:
    return _inside_json(_inside_json(text))


WRAPPERS: tuple[tuple[str, Callable[[str], str], str], ...] = (
    ("", str, ""),
    ('{"type":"user","message":{"content":[{"type":"tool_result","content":"$ cat it\\n',
     _inside_json, '"}]},"uuid":"b1ce1d4e-de21-422b-ba06-0b431a7c0dea"}\n'),
    ('{"line":"{\\"command\\":\\"', _twice, '\\"}"}\n'),
)  # fmt: skip


def wrap(rng: Random, segments: Segments) -> Segments:
    """As it is, or as a transcript keeps it: escaped once, sometimes twice."""
    before, escape, after = rng.choices(WRAPPERS, weights=(6, 3, 1))[0]
    return [(before, False), *((escape(text), secret) for text, secret in segments), (after, False)]
