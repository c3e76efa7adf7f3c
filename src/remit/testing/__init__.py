"""The kit with which users prove their own tools: one agent, any surface, real clients.

``agent(app, principal=…, deps=…, surface=…)`` calls tools as an agent would, through the surface
that is named, and gives back `Ok` or `Refused`, whichever it was. It works without pytest and
without a network: MCP's stdio and HTTP are spoken in this process, with the SDK's own client and
server.
"""

from remit.testing.agents import SURFACES, Agent, agent

__all__ = ["SURFACES", "Agent", "agent"]
