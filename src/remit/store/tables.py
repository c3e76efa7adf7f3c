"""The tables. Times are seconds since the epoch, given by callers: nothing here reads a clock."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

__all__ = ["audit", "audit_head", "effects", "metadata", "requests"]

metadata: Final = sa.MetaData()


def _text(*names: str, nullable: bool = False) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=nullable) for name in names]


def _moment(*names: str, nullable: bool = False) -> list[sa.Column[float]]:
    return [sa.Column(name, sa.Double, nullable=nullable) for name in names]


audit: Final = sa.Table(
    "audit",
    metadata,
    sa.Column("chain", sa.Text, primary_key=True),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    *_text("call_id"),
    *_moment("at"),
    *_text("tool", "principal", "client", "surface", "outcome"),
    # The exact bytes that were hashed: a row is verified as it is stored, never rewritten first.
    sa.Column("rec", sa.LargeBinary, nullable=False),
    sa.Column("hash", sa.LargeBinary, nullable=False),
)

audit_head: Final = sa.Table(
    "audit_head",
    metadata,
    sa.Column("chain", sa.Text, primary_key=True),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("hash", sa.LargeBinary, nullable=False),
)

effects: Final = sa.Table(
    "effects",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    *_text("tool", "issuer", "principal", "client"),
    sa.Column(
        "key", sa.Text
    ),  # NULLs differ from each other, so that calls without a key never meet
    *_text("arguments_digest", "state"),
    *_text("outcome", nullable=True),
    *_moment("started"),
    *_moment("finished", "expires", nullable=True),
    sa.UniqueConstraint("tool", "issuer", "principal", "client", "key", name="effects_key"),
    sa.Index("effects_open", "state", "started"),
)

requests: Final = sa.Table(
    "requests",
    metadata,
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
    sa.Index("requests_state", "state", "created"),
    sa.Index("requests_subject", "issuer", "subject", "state"),
)
