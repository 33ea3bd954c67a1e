"""Health and metrics of a real daemon."""

from prometheus_client.parser import text_string_to_metric_families

from sm.version import VERSION
from tests.web.conftest import Web


def test_health_tells_what_runs(web: Web) -> None:
    """Version, processes, port, tmux."""
    health = web.get("/health")

    assert (health["version"], health["port"]) == (VERSION, web.port)
    assert health["tmux_connected"] is True
    assert health["pid"] != health["worker"]
    assert health["sessions"] >= 1


def test_the_metrics_can_be_read_by_prometheus(web: Web) -> None:
    """Every figure has its help and type; sessions are counted by state."""
    answer = web.call("GET", "/metrics")
    families = {f.name: f for f in text_string_to_metric_families(answer.content.decode())}

    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert {"sm_sessions", "sm_messages_open", "sm_events", "sm_commits"} <= set(families)
    by_state = {s.labels["state"]: s.value for s in families["sm_sessions"].samples}
    listed = web.get("/sessions?all=true")
    assert by_state["ended"] == sum(s["state"] == "ended" for s in listed)
    commits = {s.name: s.value for s in families["sm_commits"].samples}["sm_commits_total"]
    assert commits > 5
