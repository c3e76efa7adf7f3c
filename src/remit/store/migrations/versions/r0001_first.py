"""The first tables, with fences around the audit rows."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

# Fences, no proof: whoever owns the database can take them down. The hash chain is what shows it.
_SQLITE = (
    """CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit
       BEGIN SELECT RAISE(ABORT, 'audit rows are never changed'); END""",
    """CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit
       BEGIN SELECT RAISE(ABORT, 'audit rows are never deleted'); END""",
    # INSERT OR REPLACE deletes without a DELETE trigger unless recursive_triggers is on.
    """CREATE TRIGGER audit_no_replace BEFORE INSERT ON audit
       WHEN EXISTS (SELECT 1 FROM audit WHERE chain = NEW.chain AND seq = NEW.seq)
       BEGIN SELECT RAISE(ABORT, 'audit rows are never replaced'); END""",
)
_POSTGRES = (
    """CREATE FUNCTION remit_audit_fence() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN RAISE EXCEPTION 'audit rows are never changed or deleted'; END $$""",
    """CREATE TRIGGER audit_no_change BEFORE UPDATE OR DELETE ON audit
       FOR EACH ROW EXECUTE FUNCTION remit_audit_fence()""",
    """CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON audit
       FOR EACH STATEMENT EXECUTE FUNCTION remit_audit_fence()""",
)


def _text(*names: str, nullable: bool = False) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=nullable) for name in names]


def _moment(*names: str, nullable: bool = False) -> list[sa.Column[float]]:
    return [sa.Column(name, sa.Double, nullable=nullable) for name in names]


def upgrade() -> None:
    """Make the first tables."""
    op.create_table(
        "audit",
        sa.Column("chain", sa.Text, primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        *_text("call_id"),
        *_moment("at"),
        *_text("tool", "principal", "client", "surface", "outcome"),
        sa.Column("rec", sa.LargeBinary, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "audit_head",
        sa.Column("chain", sa.Text, primary_key=True),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
    )
    op.execute(
        sa.text("INSERT INTO audit_head (chain, seq, hash) VALUES ('main', 0, :zero)").bindparams(
            sa.bindparam("zero", bytes(32), sa.LargeBinary)
        )
    )
    op.create_table(
        "effects",
        sa.Column("id", sa.Text, primary_key=True),
        *_text("tool", "issuer", "principal", "client"),
        sa.Column("key", sa.Text),
        *_text("arguments_digest", "state"),
        *_text("outcome", nullable=True),
        *_moment("started"),
        *_moment("finished", "expires", nullable=True),
        sa.UniqueConstraint("tool", "issuer", "principal", "client", "key", name="effects_key"),
    )
    op.create_index("effects_open", "effects", ["state", "started"])
    op.create_table(
        "requests",
        sa.Column("id", sa.Text, primary_key=True),
        *_text("tool", "tool_version", "schema_digest"),
        sa.Column("arguments", sa.LargeBinary, nullable=False),
        *_text("digest", "principal", "issuer", "subject", "client"),
        *_text("record_version", nullable=True),
        *_text("resources"),
        *_moment("created", "expires"),
        *_text("state", "approvers", "nonce"),
        *_text("shown", nullable=True),
        sa.Column("repeats", sa.Integer, nullable=False),
        *_text("decided_by", nullable=True),
        *_moment("decided", nullable=True),
        *_text("reason", "run_token", nullable=True),
        *_moment("lease", nullable=True),
        *_text("outcome", nullable=True),
        *_moment("finished", nullable=True),
    )
    op.create_index("requests_state", "requests", ["state", "created"])
    op.create_index("requests_subject", "requests", ["issuer", "subject", "state"])
    dialect = op.get_bind().dialect.name
    for statement in _POSTGRES if dialect == "postgresql" else _SQLITE:
        op.execute(statement)
