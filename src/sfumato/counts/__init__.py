"""Reports become counts: all that reconstruction reads."""

from sfumato.counts.memory import Counts, Tally

__all__ = ["Counts", "Tally"]
