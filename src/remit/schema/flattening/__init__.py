"""Unions as one object, with a report of what that doesn't say."""

from remit.schema.flattening.flat import Flat, flatten, flattened

__all__ = ["Flat", "flatten", "flattened"]
