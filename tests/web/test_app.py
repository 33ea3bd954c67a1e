"""All resources together: what a caller gets for an address or a method that is not there."""

import stat
from pathlib import Path

from sm.web.app import all_endpoints
from tests.web.conftest import Web
from tests.web.test_openapi import DESCRIPTION, _no_health


def test_an_unknown_address_is_refused_in_json(web: Web) -> None:
    """In the same form as every refusal."""
    answer = web.call("GET", "/nowhere")

    assert (answer.status, answer.error) == (404, "There is no such address.")
    assert answer.headers["content-type"] == "application/json"


def test_a_method_an_address_does_not_take_is_refused(web: Web) -> None:
    """And the ones it takes are named."""
    answer = web.call("DELETE", "/health")

    assert (answer.status, answer.error) == (405, "This address does not take that method.")
    assert "GET" in answer.headers["allow"]


def test_every_endpoint_is_described() -> None:
    """Nothing is served that the description does not tell."""
    served = {(e.path, e.method.lower()) for e in all_endpoints(_no_health)}
    described = {(path, method) for path, o in DESCRIPTION["paths"].items() for method in o}

    assert served == described


def test_everything_on_the_disk_is_closed_to_others(web: Web) -> None:
    """Files 0600, programs and folders 0700, sockets 0600: under SM_HOME and at run time."""
    web.call("POST", f"/hooks/{web.ada}", b"no hook")
    found = [web.sm.home.base, *web.sm.home.base.rglob("*"), web.sm.home.runtime]
    found += web.sm.home.runtime.rglob("*")

    # What an agent writes is as open as its caller wants; its folder lets nobody else in.
    ours = [path for path in found if "demo" not in path.relative_to(web.sm.folder).parts]
    too_open = {str(path): oct(_mode(path)) for path in ours if _mode(path) & 0o077}

    assert too_open == {}
    assert len(ours) > 15
    assert _mode(web.sm.home.socket) == 0o600


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)
