"""Brings a database to today's tables, whatever sm left it there.

Alembic takes a third of a second to import, so only a real migration does.
"""

from collections.abc import Callable

from sqlalchemy import Connection, inspect, select

from sm.adapters.store import schema
from sm.adapters.store.errors import StoreDamagedError, StoreTooNewError


def bring_to_head(connection: Connection, *, place: str, keep_copy: Callable[[str], None]) -> None:
    """Create, migrate or refuse, inside the caller's transaction.

    ``keep_copy`` is called before a migration with the revision it leads to.
    """
    tables = inspect(connection).get_table_names()
    if not tables:
        schema.metadata.create_all(connection)
        schema.version.create(connection)
        connection.execute(schema.version.insert().values(version_num=schema.HEAD))
        return
    if schema.version.name not in tables:
        raise StoreDamagedError(
            f"{place} is a database, but not one of sm's. Move it away and start sm again."
        )
    revision = connection.scalar(select(schema.version.c.version_num))
    if revision == schema.HEAD:
        return
    if revision is not None and revision not in schema.REVISIONS:
        raise StoreTooNewError(
            f"{place} was written by a newer sm (revision {revision}, this sm knows up to "
            f"{schema.HEAD}). Upgrade sm, or move the file away to start with an empty store."
        )
    keep_copy(schema.HEAD)
    migrate(connection, schema.HEAD)


def migrate(connection: Connection, to: str) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "sm.adapters.store:migrations")
    config.attributes["connection"] = connection
    command.upgrade(config, to)
