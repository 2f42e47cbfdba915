"""Privacy you can check: attacks, audits, advice and statements people understand."""

from sfumato.privacy.advice import Advice, advise
from sfumato.privacy.audit import Audit, AuditSettings, audit
from sfumato.privacy.targets import BeliefTarget, WidthTarget

__all__ = ["Advice", "Audit", "AuditSettings", "BeliefTarget", "WidthTarget", "advise", "audit"]
