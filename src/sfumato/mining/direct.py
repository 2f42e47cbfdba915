"""Direct mining (LKT08 §6): any scikit-learn classifier on the reports, as if they were true values.

What it learns is P(y | w). On true values that is biased: noise flattens what depends on an attribute, roughly by the
factor Var x / Var w, and hides what is narrower than the noise. It costs no reconstruction, and with few records or
little noise it may serve better; `Chooser` tells from the reports.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.validation import check_is_fitted

from sfumato.mining.columns import encode_known, known_labels
from sfumato.mining.estimator import Channels, class_codes, read_columns
from sfumato.mining.level_columns import reports_in

Labels = tuple[Any, ...] | None


class DirectClassifier(ClassifierMixin, BaseEstimator):
    """A scikit-learn classifier fitted on reports, and applied to true values (or to reports) as they are.

    estimator: any classifier; None takes gaussian naive Bayes, whose class means noise leaves unbiased.
    channels: only used to know which columns ``<name>.level`` are levels, which are left out.

    Numbers go in as they are (missing: the mean of the reports), labels as one column each.
    """

    def __init__(self, estimator: Any = None, channels: Channels = None) -> None:
        self.estimator = estimator
        self.channels = channels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Fit on reports X and classes y."""
        _, columns = read_columns(self, X, reset=True)
        columns = [reports_in(column) for column in columns]
        self.classes_, group = class_codes(y, None)
        if group.size != columns[0].size:
            raise ValueError(f"X has {columns[0].size} records but y has {group.size}; inconsistent numbers of samples")
        self.labels_: list[Labels] = [None if c.dtype.kind in "iuf" else known_labels(c) for c in columns]
        self.fill_ = [filling(column) for column in columns]
        template = GaussianNB() if self.estimator is None else self.estimator
        self.estimator_ = clone(template).fit(self._encoded(columns), group)
        return self

    def _encoded(self, columns: list[npt.NDArray[Any]]) -> npt.NDArray[np.float64]:
        parts = []
        for column, labels, fill in zip(columns, self.labels_, self.fill_, strict=True):
            if labels is None:
                numbers = column.astype(np.float64)
                parts.append(np.where(np.isnan(numbers), fill, numbers)[:, None])
            else:
                parts.append((encode_known(labels, column)[:, None] == np.arange(len(labels))).astype(float))
        return np.hstack(parts)

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """The estimator's class probabilities, with values taken as reports."""
        check_is_fitted(self, "estimator_")
        _, columns = read_columns(self, X, reset=False)
        found = np.zeros((columns[0].size, self.classes_.size))
        found[:, self.estimator_.classes_] = self.estimator_.predict_proba(self._encoded(columns))
        return found

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The estimator's classes."""
        check_is_fitted(self, "estimator_")
        _, columns = read_columns(self, X, reset=False)
        return np.asarray(self.classes_[self.estimator_.predict(self._encoded(columns))])


def filling(column: npt.NDArray[Any]) -> float:
    """What stands for a missing number: the mean of the others."""
    if column.dtype.kind not in "iuf":
        return 0.0
    known = column[~np.isnan(column.astype(np.float64))]
    return float(known.mean()) if known.size else 0.0
