"""Schemas as each provider takes them: the table, the walk, the way back, a request's budget."""

from remit.schema.lowering.budget import Plan, lowered_names, planned
from remit.schema.lowering.dialects import PROVIDERS, Provider
from remit.schema.lowering.lowered import Lowered, Strict, lower

__all__ = [
    "PROVIDERS",
    "Lowered",
    "Plan",
    "Provider",
    "Strict",
    "lower",
    "lowered_names",
    "planned",
]
