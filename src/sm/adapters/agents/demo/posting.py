"""Hooks of the type ``http``: the payload is posted, the answer read as a command's output.

Loaded when the first one is called: http.client is slow to import.
"""

import http.client
import os
import re
from typing import Any
from urllib.parse import urlsplit

_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


class NotPostedError(Exception):
    """Nobody took it, or not in time; the message is what Claude Code shows."""


def post(call: dict[str, Any], payload: str, *, timeout: float) -> tuple[int, str]:
    """The status and the body of the answer. Raises NotPostedError."""
    url = urlsplit(str(call.get("url", "")))
    host, port = url.hostname or "", url.port or 80
    connection = http.client.HTTPConnection(host, port, timeout=timeout)
    try:
        connection.request(
            "POST", url.path or "/", payload.encode("utf-8", "replace"), _headers(call)
        )
        answer = connection.getresponse()
        status, body = answer.status, answer.read().decode("utf-8", "replace")
    except ConnectionRefusedError:
        raise NotPostedError(f"connect ECONNREFUSED {host}:{port}") from None
    except TimeoutError:
        raise NotPostedError(f"timeout of {int(timeout * 1000)}ms exceeded") from None
    except (OSError, http.client.HTTPException) as error:
        raise NotPostedError(str(error) or type(error).__name__) from None
    finally:
        connection.close()
    if not 200 <= status < 300:
        raise NotPostedError(f"Request failed with status code {status}")
    return status, body


def _headers(call: dict[str, Any]) -> dict[str, str]:
    given = call.get("headers")
    allowed = call.get("allowedEnvVars")
    names = {str(name) for name in allowed} if isinstance(allowed, list) else set()
    own = given.items() if isinstance(given, dict) else ()
    return {
        "Accept": "application/json, text/plain, */*",
        "Content-Type": "application/json",
        **{str(name): _filled(str(value), names) for name, value in own},
    }


def _filled(value: str, allowed: set[str]) -> str:
    """The value with the variables it may name; others are left out."""

    def variable(found: "re.Match[str]") -> str:
        name = found.group(1) or found.group(2)
        return os.environ.get(name, "") if name in allowed else ""

    return _VARIABLE.sub(variable, value)
