"""Runs the revisions on the connection, and in the transaction, that `remit.store.schema` holds."""

from alembic import context

from remit.store.tables import metadata

_attributes = context.config.attributes
context.configure(
    connection=_attributes["connection"],
    target_metadata=metadata,
    version_table=_attributes["version_table"],
    transactional_ddl=False,  # the transaction is the caller's
)
context.run_migrations()
