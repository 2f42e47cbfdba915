"""Statements of what a report, or all that a person sends, can reveal, in numbers and sentences; privacy breaches."""

from sfumato.guarantee.amplification import breach_information, rounded_up
from sfumato.guarantee.breach import Breach
from sfumato.guarantee.statement import Guarantee
from sfumato.guarantee.total import ClearAnswerCounts, CombinedGuarantee

__all__ = ["Breach", "ClearAnswerCounts", "CombinedGuarantee", "Guarantee", "breach_information", "rounded_up"]
