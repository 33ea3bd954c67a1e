"""Every statement of the store, defined once for SQLite and PostgreSQL."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Dialect, Insert, Table, bindparam, delete, insert, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql.dml import UpdateBase

from sm.adapters.store import schema
from sm.adapters.store.batch import UNPROVED, Batch, Row
from sm.core.ids import SessionId
from sm.core.message import MessageState
from sm.core.passage import OPEN

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

OPEN_STATES = (MessageState.QUEUED.value, MessageState.OFFERED.value, MessageState.ACCEPTED.value)
OPEN_HANDOFFS = tuple(state.value for state in OPEN)

SESSIONS = select(schema.session.c.body)
# By way of the sessions: their index finds the few open ones without reading all the past.
OPEN_MESSAGES = (
    select(schema.message.c.body)
    .where(schema.message.c.session_id.in_(select(schema.session.c.id)))
    .where(schema.message.c.state.in_(OPEN_STATES))
    .order_by(schema.message.c.number)
)
EFFECTS = select(schema.effect).order_by(schema.effect.c.id)
EVENTS = select(
    schema.event.c.seq,
    schema.event.c.session_id,
    schema.event.c.at,
    schema.event.c.kind,
    schema.event.c.body,
)
HOOKS = (
    select(schema.event.c.hook_id)
    .where(schema.event.c.hook_id.is_not(None))
    .order_by(schema.event.c.seq.desc())
)
LAST_SEQ = select(schema.event.c.seq).order_by(schema.event.c.seq.desc()).limit(1)
LAST_EFFECT = select(schema.counter.c.value).where(schema.counter.c.name == schema.LAST_EFFECT)


def searched(state: MessageState) -> tuple[str, ...]:
    """The values of the column under which a message in this state is kept."""
    value = state.value
    return (value, UNPROVED) if state is MessageState.OFFERED else (value,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A statement compiled once: compiling and binding cost a quarter of a small commit."""

    sql: str
    order: tuple[str, ...] | None
    """The parameters' places, where the driver knows them by place."""

    def run(self, connection: Connection, rows: Sequence[Row]) -> None:
        if not rows:
            return
        if self.order is None:
            connection.exec_driver_sql(self.sql, list(rows))
        else:
            order = self.order
            connection.exec_driver_sql(self.sql, [tuple(row[k] for k in order) for row in rows])


class Writes:
    """What a commit and a pruning write, in one database's dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._sessions = self._upsert(schema.session)
        self._messages = self._upsert(schema.message)
        self._handoffs = self._upsert(schema.handoff)
        self._events = self._write(insert(schema.event), schema.event, without="seq")
        self._effects = self._write(insert(schema.effect), schema.effect)
        self._finished = self._delete(schema.effect)
        self._counter = self._upsert(schema.counter, rising="value")
        self.drop_messages = self._delete(schema.message)
        self.drop_handoffs = self._delete(schema.handoff)
        self.drop_events = self._delete(schema.event)
        # The session last: the other rows point at it.
        self._forget = [
            self._delete(table, column)
            for table, column in (
                (schema.effect, "session_id"),
                (schema.message, "session_id"),
                (schema.handoff, "session_id"),
                (schema.event, "session_id"),
                (schema.session, "id"),
            )
        ]

    def commit(self, connection: Connection, batch: Batch) -> None:
        """Sessions first: the other rows point at them."""
        self._sessions.run(connection, batch.sessions)
        self._messages.run(connection, batch.messages)
        self._handoffs.run(connection, batch.handoffs)
        self._events.run(connection, batch.events)
        self._effects.run(connection, batch.effects)
        self._finished.run(connection, batch.finished)
        if batch.last_effect:
            row = {"name": schema.LAST_EFFECT, "value": batch.last_effect}
            self._counter.run(connection, [row])

    def forget(self, connection: Connection, session: SessionId) -> None:
        for delete_rows in self._forget:
            delete_rows.run(connection, [{"key": session}])

    def _upsert(self, table: Table, *, rising: str | None = None) -> Write:
        """Insert, or overwrite the row with the same key (if ``rising``: only when higher)."""
        statement = self._insert(table)
        excluded = statement.excluded
        update = statement.on_conflict_do_update(
            index_elements=list(table.primary_key),
            set_={c.name: excluded[c.name] for c in table.c if not c.primary_key},
            where=None if rising is None else excluded[rising] > table.c[rising],
        )
        return self._write(update, table)

    def _insert(self, table: Table) -> "postgresql.Insert | sqlite.Insert":
        if self._dialect.name == "postgresql":
            # Every PostgreSQL type there is comes with it: 40 ms and 4 MB.
            from sqlalchemy.dialects import postgresql

            return postgresql.insert(table)
        return sqlite.insert(table)

    def _delete(self, table: Table, column: str | None = None) -> Write:
        """Delete the rows with this value in a column: the key, unless another one is named."""
        (key,) = table.primary_key if column is None else (table.c[column],)
        return self._compile(delete(table).where(key == bindparam("key")), [])

    def _write(self, statement: Insert, table: Table, *, without: str = "") -> Write:
        return self._compile(statement, [c.name for c in table.c if c.name != without])

    def _compile(self, statement: UpdateBase, columns: list[str]) -> Write:
        compiled: Any = statement.compile(dialect=self._dialect, column_keys=columns)
        order = compiled.positiontup
        return Write(sql=str(compiled), order=None if order is None else tuple(order))
