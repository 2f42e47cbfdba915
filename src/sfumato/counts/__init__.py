"""Reports become counts: all that reconstruction and learning read."""

from sfumato.counts.columns import Column, Fold, Tally, columns_in, encode_known, fold_hash, known_labels
from sfumato.counts.questions import Question
from sfumato.counts.reports import Combinations, Reports, as_codes, counts_of_plan, from_codes
from sfumato.counts.tallies import Counts

__all__ = [
    "Counts", "Tally", "Reports", "Question", "Column", "Combinations", "Fold", "columns_in", "counts_of_plan",
    "as_codes", "from_codes", "fold_hash", "encode_known", "known_labels",
]
