"""What one report can reveal, and all that leaves a device; breaches that show where a statement fails."""

from sfumato.guarantee.amplification import breach_information, rounded_up
from sfumato.guarantee.breach import Breach
from sfumato.guarantee.statement import Guarantee
from sfumato.guarantee.total import CombinedGuarantee, Tells

__all__ = ["Breach", "CombinedGuarantee", "Guarantee", "Tells", "breach_information", "rounded_up"]
