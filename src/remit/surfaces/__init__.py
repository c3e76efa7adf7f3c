"""Ways to call a tool: each translates its host's shapes, and decides nothing.

Surfaces are imported by path, so that `import remit` loads none of them.
"""
