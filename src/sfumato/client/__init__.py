"""The device in Python: it answers plans with its own secret and remembers what it has told whom."""

from sfumato.client.device import Device, Reply
from sfumato.client.ledger import Ledger, LedgerError, Limit, LimitError, Receipt, Told, Total
from sfumato.client.outbox import Entry, Outbox, OutboxError, Sending
from sfumato.client.survey import survey, survey_schema

__all__ = [
    "Device", "Ledger", "LedgerError", "Limit", "LimitError", "Receipt", "Reply", "Told", "Total", "Entry", "Outbox",
    "OutboxError", "Sending", "survey", "survey_schema",
]  # fmt: skip
