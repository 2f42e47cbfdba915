"""Counts of reports per combination of cells: the only thing about reports that reconstruction and learning read."""

from sfumato.counts.columns import Column, Tally, columns_in, encode_known, known_labels
from sfumato.counts.frames import FrameReports
from sfumato.counts.questions import Combinations, Counting, Fold, Question, fold_hash
from sfumato.counts.reports import Reports, as_codes, from_codes
from sfumato.counts.tallies import Counts

__all__ = [
    "Counts", "Tally", "Reports", "FrameReports", "Question", "Counting", "Column", "Combinations", "Fold",
    "columns_in", "as_codes", "from_codes", "fold_hash", "encode_known", "known_labels",
]
