"""Is the implementation what it claims to be? Exact tests on its own reports."""

from sfumato.privacy.checks.channel import check_channel
from sfumato.privacy.checks.check import Check

__all__ = ["Check", "check_channel"]
