"""Reports become counts: all that reconstruction and learning read."""

from sfumato.counts.columns import Column, columns_in, encode_known, known_labels
from sfumato.counts.folds import Fold, fold_hash
from sfumato.counts.reports import Combinations, Reports, counts_of_plan
from sfumato.counts.tallies import Counts, Tally, check_channel, codes_of

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
    "fold_hash",
    "encode_known",
    "known_labels",
]
