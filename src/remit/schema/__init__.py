"""Schemas: the key policies of the types a tool takes, and the documents for each reader.

Everything here is a function of types and schemas: no I/O, no clock, no framework but pydantic.
`document`, `places`, `collide` and `variants` read schemas; `policy`, `walk`, `exact`, `derive` and
`merge` make the canonical one of a declaration; the packages and `forwarding` derive the others.
"""

from remit.schema.comparing import Change, diff
from remit.schema.document import untyped
from remit.schema.flattening import Flat, flatten, flattened
from remit.schema.forwarding import forwarding
from remit.schema.lowering import Lowered, Plan, lower, lowered_names, planned
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
