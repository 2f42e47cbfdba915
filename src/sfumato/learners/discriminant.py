"""The linear discriminant of true values from reports: LKT08 §6's correction of variances, for covariances too.

    E[u | y] = E[x | y],    Cov[u | y] = Cov[x | y] + noise
    score(y | x) = x'Σ⁻¹μ_y − ½ μ_y'Σ⁻¹μ_y + log P(y),    Σ = pooled Cov[u | y] − noise

u are unbiased readings of the reports. A number is one of them, with the noise of its column. Labels are indicators,
all but the last: u is a column of the inverse of the channel's table, E[u | x] = e_x, and because e_x e_x' = diag(e_x)
its noise is E[u u'] − diag(E[u]). Blurred classes are read likewise: a record counts for true classes by the inverse.

Few parameters: the recipe for few records. Σ's eigenvalues, in units of the reports' deviations, are kept above a share
of the noise's part, because what is left after subtraction may be anything down to below zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.linalg import block_diag
from scipy.special import softmax

from sfumato.channels.base import Channel
from sfumato.counts import Reports, encode_known
from sfumato.domain import Floats, as_numbers
from sfumato.domain.checked import given_labels, given_numbers, given_rows
from sfumato.learners.classes import class_codes_in, class_people, true_class_shares
from sfumato.learners.device import DeviceForm, linear_term
from sfumato.learners.estimator import Channels, Column, Learner
from sfumato.learners.moments import TINY, less_noise, mean_noise, numbers_of, units
from sfumato.prose import Voice
from sfumato.reconstruction import Axis

Labels = tuple[Any, ...] | None


@dataclass(frozen=True)
class Reading:
    """Unbiased readings of one column: one row a record, NaN where it is missing; and their noise covariance."""

    labels: Labels
    values: Floats
    noise: Floats

    @classmethod
    def of(cls, reports: Reports, name: str) -> Reading:
        column = reports.column(name)
        labels = Axis(column).labels
        if labels is None:
            return cls(None, numbers_of(reports, name)[:, None], np.array([[mean_noise(column)]]))
        tables = [np.linalg.pinv(each.matrix()) for each in column.levels.values()] or [np.eye(len(labels))]
        read = np.hstack(tables).T[:, :-1]
        share = column.histogram / max(column.histogram.sum(), 1)
        noise = (read * share[:, None]).T @ read - np.diag(share @ read)
        return cls(tuple(labels), np.vstack([read, np.full((1, read.shape[1]), np.nan)])[column.present], noise)


class LinearDiscriminant(Learner):
    """Linear discriminant analysis for true values, learned from reports.

    channels: one entry (channel, choice, or None for a clear column) a column, or a mapping from column name.
    label_channel: the channel that class labels went through, None if they are clear.

    Of more than a million records it reads a fixed sample, drawn by hash.
    Without channels, on numbers, it is scikit-learn's LinearDiscriminantAnalysis.

    Fitted: ``classes_``, ``labels_`` (of each column, None for numbers), ``coef_`` (one row a class; a column for each
    number and for each label but a column's last), ``intercept_``, ``covariance_`` (of true values within classes).
    """

    form = "linear-discriminant"

    def __init__(self, channels: Channels = None, *, label_channel: Channel | None = None) -> None:
        self.channels = channels
        self.label_channel = label_channel

    def _learn(self, reports: Reports, rng: np.random.Generator) -> None:
        reports = reports.sampled()
        readings = [Reading.of(reports, name) for name in reports.names]
        self.labels_: list[Labels] = [each.labels for each in readings]
        values = np.hstack([each.values for each in readings])
        weight = np.ones(len(reports)) if reports.weights is None else reports.weights
        present = np.where(np.isnan(values), 0.0, weight[:, None])
        self.fill_ = (np.nan_to_num(values) * present).sum(axis=0) / np.maximum(present.sum(axis=0), TINY)
        of_class = true_class_shares(reports)[class_codes_in(reports)]
        noise = block_diag(*(each.noise for each in readings))
        mass = of_class * weight[:, None]
        self._discriminate(np.where(np.isnan(values), self.fill_, values), mass, weight, class_people(reports), noise)

    def _discriminate(self, values: Floats, mass: Floats, weight: Floats, people: Floats, noise: Floats) -> None:
        share, centre = people / people.sum(), np.average(values, axis=0, weights=weight)
        unit = units(centre, np.average((values - centre) ** 2, axis=0, weights=weight))
        values, noise = (values - centre) / unit, noise / np.outer(unit, unit)
        means = mass.T @ values / people[:, None]
        own = np.diagonal(noise)
        within = (values * weight[:, None]).T @ values / weight.sum() - (means * share[:, None]).T @ means
        covariance = less_noise(within - (noise - np.diag(own)), np.maximum(own, 0.0))
        self.covariance_ = covariance * np.outer(unit, unit)
        self.coef_ = np.linalg.solve(covariance, means.T).T / unit
        self.intercept_ = np.log(share) - np.sum(self.coef_ * (0.5 * unit * means + centre), axis=1)

    @property
    def terms(self) -> list[tuple[Floats, Floats]]:
        """What each column adds for every class: the slope of a number, or a row a label; and where it is missing."""
        sizes = [1 if labels is None else len(labels) - 1 for labels in self.labels_]
        ends = np.cumsum(sizes)[:-1]
        found = []
        for labels, slopes, fill in zip(
            self.labels_, np.split(self.coef_.T, ends), np.split(self.fill_, ends), strict=True
        ):
            rows = slopes[0] if labels is None else np.vstack([slopes, np.zeros(len(self.intercept_))])
            found.append((rows, fill @ slopes))
        return found

    def _probabilities(self, columns: list[Column]) -> Floats:
        """P(class | true values) under normal classes of one covariance."""
        return np.asarray(softmax(self._scores(columns), axis=1))

    def _scores(self, columns: list[Column]) -> Floats:
        """intercept_y + what each column adds, one row a record, added from left to right."""
        found = np.repeat(self.intercept_[None], len(columns[0]), axis=0)
        for column, labels, (rows, missing) in zip(columns, self.labels_, self.terms, strict=True):
            if labels is None:
                x = as_numbers(column)[:, None]
                found += np.where(np.isnan(x), missing, x * rows)
            else:
                found += np.vstack([rows, missing])[encode_known(labels, column)]
        return found

    def device_form(self, say: Voice) -> DeviceForm:
        columns = enumerate(zip(self.labels_, self.terms, strict=True))
        terms = (linear_term(j, labels, rows, missing) for j, (labels, (rows, missing)) in columns)
        return DeviceForm.sum(self.device_classes(), self.intercept_, terms)

    def _state(self) -> dict[str, Any]:
        labels = [None if each is None else list(each) for each in self.labels_]
        learned = {"coef": self.coef_.tolist(), "intercept": self.intercept_.tolist(), "fill": self.fill_.tolist()}
        return {**learned, "labels": labels}

    @classmethod
    def _from_state(cls, data: Mapping[str, Any]) -> Self:
        model = cls()
        columns, classes = len(data["attributes"]), len(given_rows(data, "classes"))
        stated = given_rows(data, "labels", columns) if "labels" in data else [None] * columns
        model.labels_ = [None if each is None else given_labels({"labels": each}, "labels") for each in stated]
        indicators = sum(1 if each is None else len(each) - 1 for each in model.labels_)
        model.coef_ = given_numbers(data, "coef", (classes, indicators))
        model.intercept_ = given_numbers(data, "intercept", (classes,))
        model.fill_ = given_numbers(data, "fill", (indicators,))
        return model


def linear_scores(values: Floats, coef: Floats, intercept: Floats) -> Floats:
    """intercept_y + x₁·coef_y1 + x₂·coef_y2 + …, one row a record, added from left to right."""
    found = np.repeat(intercept[None], len(values), axis=0)
    for x, slope in zip(values.T, coef.T, strict=True):
        found += x[:, None] * slope
    return found
