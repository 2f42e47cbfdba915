"""The linear discriminant of true values from reports: LKT08 §6's correction of variances, for covariances too.

    E[w | y] = E[x | y],    Cov[w | y] = Cov[x | y] + diag(noise variances)
    score(y | x) = x'Σ⁻¹μ_y − ½ μ_y'Σ⁻¹μ_y + log P(y),    Σ = pooled Cov[w | y] − diag(noise variances)

Few parameters: the recipe for few records. Σ's eigenvalues, in units of the reports' deviations, are kept above a share
of the noise's part, because what is left after subtraction may be anything down to below zero.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from sfumato.channels.choice import Choice
from sfumato.domain import Categories, Floats, as_numbers
from sfumato.mining.estimator import Channels, channels_of_columns, class_codes, read_columns
from sfumato.mining.level_columns import reports_in
from sfumato.mining.moments import noise_variance, noise_variances

FLOOR = 0.1


class LinearDiscriminant(ClassifierMixin, BaseEstimator):
    """Linear discriminant analysis for true numbers, learned from reports.

    channels: one entry (channel, choice, or None for a clear column) a column, or a mapping from column name.

    Fitted: ``classes_``, ``coef_`` (one row a class), ``intercept_``, ``covariance_`` (of true values within classes).
    """

    def __init__(self, channels: Channels = None) -> None:
        self.channels = channels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Fit on reports X and classes y."""
        names, columns = read_columns(self, X, reset=True)
        channels = channels_of_columns(self.channels, names)
        for name, channel in zip(names, channels, strict=True):
            if channel is not None and isinstance(channel.domain, Categories):
                raise TypeError(f"column {name!r} holds categories; a linear discriminant needs numbers")
        self.classes_, group = class_codes(y, None)
        if group.size != columns[0].size:
            raise ValueError(f"X has {columns[0].size} records but y has {group.size}; inconsistent numbers of samples")
        noise = np.array([mean_noise(channel, column) for channel, column in zip(channels, columns, strict=True)])
        reports = np.column_stack([as_numbers(reports_in(column)) for column in columns])
        self.fill_ = np.array([known.mean() if (known := c[~np.isnan(c)]).size else 0.0 for c in reports.T])
        self._discriminate(self._filled(reports), group, noise)
        return self

    def _discriminate(self, reports: Floats, group: npt.NDArray[np.int64], noise: Floats) -> None:
        shares = np.bincount(group, minlength=self.classes_.size) / group.size
        means = np.array([reports[group == k].mean(axis=0) for k in range(self.classes_.size)])
        within = reports - means[group]
        self.covariance_ = less_noise(within.T @ within / group.size, noise)
        self.coef_ = np.linalg.solve(self.covariance_, means.T).T
        self.intercept_ = np.log(shares) - 0.5 * np.sum(self.coef_ * means, axis=1)

    def _filled(self, values: Floats) -> Floats:
        return np.where(np.isnan(values), self.fill_, values)

    def predict_proba(self, X: Any) -> Floats:
        """P(class | true values) under normal classes of one covariance."""
        check_is_fitted(self, "coef_")
        _, columns = read_columns(self, X, reset=False)
        values = self._filled(np.column_stack([as_numbers(column) for column in columns]))
        scores = values @ self.coef_.T + self.intercept_
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each record of true values."""
        winners = np.argmax(self.predict_proba(X), axis=1)
        return np.asarray(self.classes_[winners])


def mean_noise(channel: Any, column: npt.NDArray[Any]) -> float:
    """The mean noise variance of a column's reports."""
    if channel is None:
        return 0.0
    return float(noise_variances(channel, column).mean()) if isinstance(channel, Choice) else noise_variance(channel)


def less_noise(covariance: Floats, noise: Floats) -> Floats:
    """The covariance without the noise's part, kept positive."""
    scale = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    part = np.minimum(noise / scale**2, 1.0)
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale) - np.diag(part))
    kept = np.maximum(values, max(FLOOR * float(part.max(initial=0.0)), 1e-9))
    return np.asarray((vectors * kept) @ vectors.T * np.outer(scale, scale))
