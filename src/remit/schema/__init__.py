"""Schemas: the key policies of the types a tool takes, and the document that says so.

Everything here is a function of types: no I/O, no clock, no framework but pydantic.
"""
