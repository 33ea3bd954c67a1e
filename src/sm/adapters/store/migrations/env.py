"""Runs migrations on the connection, and in the transaction, that ``upgrade`` hands over."""

from alembic import context

from sm.adapters.store import schema

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=schema.metadata,
    render_as_batch=True,
)
context.run_migrations()
