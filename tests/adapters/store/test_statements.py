"""The same statements in both databases' words."""

from sqlalchemy import make_url

from sm.adapters.store.statements import Writes

SQLITE = Writes(make_url("sqlite://").get_dialect()())
POSTGRESQL = Writes(make_url("postgresql+psycopg://").get_dialect()())


def test_a_counter_only_rises_in_either_database() -> None:
    rises = (
        "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        " WHERE excluded.value > counter.value"
    )

    assert rises in SQLITE._counter.sql
    assert rises in POSTGRESQL._counter.sql


def test_parameters_go_by_place_or_by_name_as_the_driver_likes_it() -> None:
    assert SQLITE.drop_events.order == ("key",)
    assert SQLITE.drop_events.sql == "DELETE FROM event WHERE event.seq = ?"
    assert POSTGRESQL.drop_events.order is None
    assert POSTGRESQL.drop_events.sql == "DELETE FROM event WHERE event.seq = %(key)s::BIGINT"
