"""The device in Python: it answers plans with its own secret, and remembers and sends its reports."""

from sfumato.client.device import Device, Reply
from sfumato.client.home import Home
from sfumato.client.ledger import Ledger, LedgerEntry, LedgerError, Limit, LimitError, Receipt, Total
from sfumato.client.outbox import Entry, Outbox, OutboxError, Sending
from sfumato.plan import survey, survey_schema

__all__ = [
    "survey", "survey_schema", "Home", "Device", "Reply", "Ledger", "LedgerError", "Limit", "LimitError", "Receipt",
    "LedgerEntry", "Total", "Outbox", "OutboxError", "Entry", "Sending",
]  # fmt: skip
