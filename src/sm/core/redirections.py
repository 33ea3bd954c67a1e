"""Files a shell command writes, as far as its words show it plainly.

Conservative: only what stands behind ``>``, ``>>`` or ``tee``, outside quotes, and is a plain path.
A file that a program writes by itself is not seen.
"""

import re

_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
# Down to its own end mark: what stands in a here-document is no command.
_HERE = re.compile(r"(<<-?\s*[\"']?(\w+)[\"']?[^\n]*\n).*?^\s*\2\s*$", re.DOTALL | re.MULTILINE)
_TARGET = re.compile(
    r"(?<![\d&<>=-])(?:1?>>?|&>>?)\s*([\w./~+@%,-]+)|\btee\s+(?:-a\s+)?([\w./~+@%,-]+)"
)


def written_by(command: str) -> list[str]:
    """Paths as they are written there, each once."""
    if ">" not in command and "tee " not in command:
        return []
    plain = _QUOTED.sub("''", _HERE.sub(r"\1", command))
    named = (first or second for first, second in _TARGET.findall(plain))
    return list(dict.fromkeys(path for path in named if _is_file(path)))


def _is_file(path: str) -> bool:
    return not path.startswith(("/dev/", "-")) and any(c.isalpha() for c in path)
