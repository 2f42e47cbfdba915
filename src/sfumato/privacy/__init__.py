"""Attacks on plans, audits of their implementations, and advice on channels that meet a privacy target."""

from sfumato.privacy.advice import Advice, advise
from sfumato.privacy.audit import Audit, AuditSettings, audit
from sfumato.privacy.targets import BeliefTarget, WidthTarget

__all__ = ["Advice", "Audit", "AuditSettings", "BeliefTarget", "WidthTarget", "advise", "audit"]
