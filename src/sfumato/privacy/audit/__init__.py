"""The audit of a plan or channel: checks of its implementation on its own reports, attacks, and both in words."""

from sfumato.privacy.audit.audit import AuditSettings, audit
from sfumato.privacy.audit.probe import SAMPLES
from sfumato.privacy.audit.report import Audit

__all__ = ["SAMPLES", "Audit", "AuditSettings", "audit"]
