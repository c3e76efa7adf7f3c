"""Requests that wait for a person: filed, decided, compared again, and run once (laws L6 and L7)."""

from remit.approvals.requests import Decision, Request
from remit.approvals.service import Approvals

__all__ = ["Approvals", "Decision", "Request"]
