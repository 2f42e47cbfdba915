"""The audit: what is stated is checked on the implementation's own reports, attacked, and told in words."""

from sfumato.privacy.audit.audit import AuditSettings, audit
from sfumato.privacy.audit.probe import SAMPLES
from sfumato.privacy.audit.report import Audit

__all__ = ["SAMPLES", "Audit", "AuditSettings", "audit"]
