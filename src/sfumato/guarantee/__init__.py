"""What one report can reveal: the statement, and breaches that show where it fails."""

from sfumato.guarantee.breach import Breach
from sfumato.guarantee.statement import CombinedGuarantee, Guarantee, breach_information

__all__ = ["Breach", "CombinedGuarantee", "Guarantee", "breach_information"]
