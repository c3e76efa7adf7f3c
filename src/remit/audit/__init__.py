"""The audit log: one row per call, decision and run, chained so that a change shows (law L10)."""

from remit.audit.log import Audit, Head, Verdict
from remit.audit.record import Record, Row

__all__ = ["Audit", "Head", "Record", "Row", "Verdict"]
