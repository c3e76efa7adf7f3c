"""Where outcomes, intents and requests are kept: SQLite in one file, or PostgreSQL by URL."""

from remit.store.errors import StoreError
from remit.store.store import Store

__all__ = ["Store", "StoreError"]
