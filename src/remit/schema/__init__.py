"""Schemas: the key policies of the types a tool takes, and the documents for each reader.

Everything here is a function of types and schemas: no I/O, no clock, no framework but pydantic.
"""

from remit.schema.budget import Plan, lowered_names, planned
from remit.schema.changes import diff
from remit.schema.document import untyped
from remit.schema.findings import Change
from remit.schema.flat import Flat, flatten, flattened
from remit.schema.forwarding import forwarding
from remit.schema.lowering import Lowered, lower
from remit.schema.policy import SchemaError
from remit.schema.report import Entry

__all__ = [
    "Change",
    "Entry",
    "Flat",
    "Lowered",
    "Plan",
    "SchemaError",
    "diff",
    "flatten",
    "flattened",
    "forwarding",
    "lower",
    "lowered_names",
    "planned",
    "untyped",
]
