"""Requests that wait for a person: filed, decided, compared again, run once (laws L6 and L7)."""

from remit.approvals.requests import Decision, Request
from remit.approvals.service import Approvals, Compare

__all__ = ["Approvals", "Compare", "Decision", "Request"]
