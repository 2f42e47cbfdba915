"""Reports become counts: all that reconstruction and learning read."""

from sfumato.counts.columns import (
    LEVEL_SUFFIX,
    Column,
    Fold,
    check_channel,
    codes_of,
    columns_in,
    encode_known,
    known_labels,
    levels_of,
)
from sfumato.counts.reports import Combinations, Reports, counts_of_plan
from sfumato.counts.tallies import Counts, Tally, identity_of

__all__ = [
    "Counts",
    "Tally",
    "Reports",
    "Column",
    "Combinations",
    "Fold",
    "check_channel",
    "codes_of",
    "columns_in",
    "counts_of_plan",
    "encode_known",
    "identity_of",
    "known_labels",
    "levels_of",
    "LEVEL_SUFFIX",
]
