"""The linear discriminant of true values from reports: LKT08 §6's correction of variances, for covariances too.

    E[w | y] = E[x | y],    Cov[w | y] = Cov[x | y] + diag(noise variances)
    score(y | x) = x'Σ⁻¹μ_y − ½ μ_y'Σ⁻¹μ_y + log P(y),    Σ = pooled Cov[w | y] − diag(noise variances)

Few parameters: the recipe for few records. Σ's eigenvalues, in units of the reports' deviations, are kept above a share
of the noise's part, because what is left after subtraction may be anything down to below zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from scipy.special import softmax

from sfumato.counts import Reports
from sfumato.domain import Categories, Floats, as_numbers
from sfumato.domain.checked import given_numbers, given_rows
from sfumato.mining.estimator import Channels, Column, Learner, class_codes_in
from sfumato.mining.moments import less_noise, mean_noise, numbers_of


class LinearDiscriminant(Learner):
    """Linear discriminant analysis for true numbers, learned from reports.

    channels: one entry (channel, choice, or None for a clear column) a column, or a mapping from column name.

    Fitted: ``classes_``, ``coef_`` (one row a class), ``intercept_``, ``covariance_`` (of true values within classes).
    """

    form = "linear-discriminant"

    def __init__(self, channels: Channels = None) -> None:
        self.channels = channels

    def _learn(self, reports: Reports, rng: np.random.Generator) -> None:
        columns = [reports.column(name) for name in reports.names]
        for column in columns:
            if column.labels is not None or isinstance(getattr(column.channel, "domain", None), Categories):
                raise TypeError(f"column {column.name!r} holds categories; a linear discriminant needs numbers")
        noise = np.array([mean_noise(column) for column in columns])
        reports = reports.sampled()
        values = np.column_stack([numbers_of(reports, name) for name in reports.names])
        weight = np.ones(len(reports)) if reports.weights is None else reports.weights
        present = np.where(np.isnan(values), 0.0, weight[:, None])
        self.fill_ = (np.nan_to_num(values) * present).sum(axis=0) / np.maximum(present.sum(axis=0), 1e-300)
        self._discriminate(self._filled(values), np.eye(len(self.classes_))[class_codes_in(reports)], weight, noise)

    def _discriminate(self, values: Floats, of_class: Floats, weight: Floats, noise: Floats) -> None:
        mass = of_class * weight[:, None]
        total = np.maximum(mass.sum(axis=0), 1e-12)
        means = mass.T @ values / total[:, None]
        within = values - of_class @ means
        self.covariance_ = less_noise((within * weight[:, None]).T @ within / weight.sum(), noise)
        self.coef_ = np.linalg.solve(self.covariance_, means.T).T
        self.intercept_ = np.log(total / weight.sum()) - 0.5 * np.sum(self.coef_ * means, axis=1)

    def _filled(self, values: Floats) -> Floats:
        return np.where(np.isnan(values), self.fill_, values)

    def _probabilities(self, columns: list[Column]) -> Floats:
        """P(class | true values) under normal classes of one covariance."""
        return np.asarray(softmax(self._scores(columns), axis=1))

    def _scores(self, columns: list[Column]) -> Floats:
        values = self._filled(np.column_stack([as_numbers(column) for column in columns]))
        return linear_scores(values, self.coef_, self.intercept_)

    def _state(self) -> dict[str, Any]:
        return {"coef": self.coef_.tolist(), "intercept": self.intercept_.tolist(), "fill": self.fill_.tolist()}

    @classmethod
    def _from_state(cls, data: Mapping[str, Any]) -> Self:
        model = cls()
        columns, classes = len(data["attributes"]), len(given_rows(data, "classes"))
        model.coef_ = given_numbers(data, "coef", (classes, columns))
        model.intercept_ = given_numbers(data, "intercept", (classes,))
        model.fill_ = given_numbers(data, "fill", (columns,))
        return model


def linear_scores(values: Floats, coef: Floats, intercept: Floats) -> Floats:
    """intercept_y + x₁·coef_y1 + x₂·coef_y2 + …, one row a record, added from left to right."""
    found = np.repeat(intercept[None], len(values), axis=0)
    for x, slope in zip(values.T, coef.T, strict=True):
        found += x[:, None] * slope
    return found
