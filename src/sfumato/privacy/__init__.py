"""Privacy you can check: attacks, audits, advice and statements people understand."""

from sfumato.privacy.advice import Advice, advise
from sfumato.privacy.audit import Audit, audit
from sfumato.privacy.targets import BeliefTarget, WidthTarget

__all__ = ["Advice", "Audit", "BeliefTarget", "WidthTarget", "advise", "audit"]
