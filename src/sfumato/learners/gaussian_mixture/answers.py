"""Classes of true values by a fitted gaussian mixture:

    P(y, x) ∝ Σ_z π_z · P(y | z) · Π_j θ_j(x_j | z) · exp(p_z − ½ (x − μ_z)'Λ_z(x − μ_z)),    p_z = ½ log|Λ_z|

z components, Λ_z precisions (inverse covariances) of the numbers, θ_j categories. A missing number is integrated out:
Λ without column a is Λ − Λ_a Λ_a'/Λ_aa, and P is divided by √Λ_aa. The model's document states p and Λ, and exp is
computed as a product of sums, so that every language finds the same P.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sfumato.counts import encode_known
from sfumato.domain import Codes, Floats, as_numbers
from sfumato.domain.checked import given_labels, given_numbers, given_rows
from sfumato.evidence.observed import LEAST_DOUBLE
from sfumato.learners.gaussian_mixture.fit import Parameters
from sfumato.learners.gaussian_mixture.records import Columns
from sfumato.learners.probabilities import add_in_order, rescale_columns

CLOSE = 1e-6
"""Difference of the two largest log P(y, x) below which they are computed in the stated order. Fast matrix products are
wrong by far less; larger only costs time."""
LEAST_EXPONENT = -700.0
"""Exponent below which exp is taken as 0: e^−745 is below the smallest double."""
TERMS = 16
"""Terms of the series of exp(x/1024): with |x| ≤ 700 the next is (0.7)^17/17!, 4e-18, less than a double holds."""
SQUARINGS = 10
"""Squarings that raise exp(x/1024) to the power of 1024 = 2^10."""


@dataclass(frozen=True)
class NormalMember:
    """A fitted mixture, as it predicts classes; each component has normal numbers and independent categories.

        P(y, x) ∝ Σ_z weight_z · P(y | z) · Π_j θ_j(x_j | z) · exp(peak_z − ½ (x − mean_z)' precision_z (x − mean_z))

    numbers, categories: indices of the columns. labels: of each category. p_class: P(class y | component z), one row a
    class. thetas: P(label | component) of each category, one row a label. peaks: half the log determinant of each
    precision. means: one row a component, in the columns' own units. precisions: inverse covariances.
    """

    numbers: tuple[int, ...]
    categories: tuple[int, ...]
    labels: tuple[tuple[Any, ...], ...]
    weights: Floats
    p_class: Floats
    thetas: list[Floats]
    peaks: Floats
    means: Floats
    precisions: Floats

    @classmethod
    def of(cls, parameters: Parameters, columns: Columns) -> Self:
        """Return the mixture with these fitted parameters, in the columns' own units."""
        precisions = np.linalg.inv(parameters.covariances) / np.multiply.outer(columns.scale, columns.scale)
        precisions = (precisions + np.swapaxes(precisions, 1, 2)) / 2
        _, log_det = np.linalg.slogdet(precisions) if columns.numbers else (None, np.zeros(len(parameters.weights)))
        return cls(
            columns.numbers, columns.categories, tuple(cut.labels or () for cut in columns.cells), parameters.weights,
            np.eye(parameters.groups)[parameters.classes].T, [theta.T for theta in parameters.thetas], log_det / 2,
            columns.centre + columns.scale * parameters.means, precisions,
        )

    def read(self, columns: list[Any]) -> tuple[Floats, Codes]:
        """Return the numbers (NaN: missing) and the codes of labels (−1: missing or unknown) of records."""
        numbers = [as_numbers(columns[j]) for j in self.numbers]
        pairs = zip(self.categories, self.labels, strict=True)
        codes = [encode_known(labels, columns[j]) for j, labels in pairs]
        size = len(columns[0])
        values = np.column_stack(numbers) if numbers else np.zeros((size, 0))
        return values, np.column_stack(codes).astype(np.int64) if codes else np.zeros((size, 0), np.int64)

    def log_joint(self, columns: list[Any]) -> Floats:
        """Return log P(y, x) of each record up to a constant, one column a class.

        Where the two likeliest classes are nearly equal, the logarithms are those of `masses`.
        """
        values, codes = self.read(columns)
        logs = np.empty((len(values), self.weights.size))
        for rows, missing in group_by_missing(np.isnan(values)):
            precisions, added_log = self._integrate_out(missing)
            present = values[rows]
            for z, (peak, mean) in enumerate(zip(self.peaks, self.means, strict=True)):
                away = np.where(missing, 0.0, present - mean)
                logs[rows, z] = peak + added_log[z] - 0.5 * np.einsum("ij,ij->i", away @ precisions[z], away)
        logs += np.log(np.maximum(self.weights, LEAST_DOUBLE))
        for j, theta in enumerate(self.thetas):
            logs += np.log(np.maximum(np.vstack([theta, np.ones((1, theta.shape[1]))]), LEAST_DOUBLE))[codes[:, j]]
        largest = logs.max(axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            of_class = largest + np.log(np.exp(logs - largest) @ self.p_class.T)
        return self._recompute_close(of_class, values, codes)

    def _integrate_out(self, missing: Any) -> tuple[Floats, Floats]:
        """Return (precisions without the missing columns, what integrating these out adds to each component's log)."""
        precisions, added_log = self.precisions, np.zeros(self.weights.size)
        for a in np.flatnonzero(missing):
            own = precisions[:, a]
            added_log = added_log - 0.5 * np.log(own[:, a])
            precisions = precisions - (precisions[:, :, a] / own[:, a, None])[:, :, None] * own[:, None, :]
        return precisions, added_log

    def _recompute_close(self, logs: Floats, values: Floats, codes: Codes) -> Floats:
        """Replace the logarithms of records whose two likeliest classes are nearly equal by those of `masses`."""
        if logs.shape[1] < 2:
            return logs
        first, second = -np.partition(-logs, 1, axis=1)[:, :2].T
        for row in np.flatnonzero(first - second < CLOSE):
            with np.errstate(divide="ignore"):
                logs[row] = np.log(self.masses(values[row], codes[row]))
        return logs

    def masses(self, values: Floats, codes: Codes) -> Floats:
        """Return P(y, x) of one record up to a factor, by operations in a stated order.

        values: its numbers, NaN where missing. codes: of its labels, −1 where missing or unknown.
        """
        mass = self.weights[:, None]
        for theta, code in zip(self.thetas, codes.tolist(), strict=True):
            mass = rescale_columns(mass * theta[code][:, None]) if code >= 0 else mass
        mass, rows, missing = mass[:, 0], self.precisions, np.isnan(values)
        for a in np.flatnonzero(missing):
            own = rows[:, a]
            mass = mass / np.sqrt(own[:, a])
            rows = rows - (rows[:, :, a] / own[:, a, None])[:, :, None] * own[:, None, :]
        logs = self.peaks
        if values.size:
            away = np.where(missing, 0.0, values - self.means)
            inner = add_in_order(np.moveaxis(rows * away[:, None, :], 2, 0))
            logs = logs - add_in_order((away * inner).T) / 2
        parts = mass * stated_exp(logs - logs.max())
        return add_in_order(part * share for part, share in zip(parts, self.p_class.T, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return the mixture as plain data for JSON."""
        columns = range(len(self.numbers) + len(self.categories))
        labels = dict(zip(self.categories, self.labels, strict=True))
        thetas = dict(zip(self.categories, self.thetas, strict=True))
        return {
            "form": "normal", "cells": [{"labels": list(labels[j])} if j in labels else {} for j in columns],
            "weights": self.weights.tolist(), "p_class": self.p_class.tolist(),
            "thetas": [thetas[j].tolist() if j in thetas else None for j in columns], "numbers": list(self.numbers),
            "peaks": self.peaks.tolist(), "means": self.means.tolist(), "precisions": self.precisions.tolist(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], columns: int, classes: int) -> Self:
        """Return the mixture of so many columns and classes that ``to_dict`` wrote."""
        cells = given_rows(data, "cells", columns)
        labels = {j: tuple(given_labels(cut, "labels")) for j, cut in enumerate(cells) if "labels" in cut}
        numbers = tuple(j for j in range(columns) if j not in labels)
        if list(given_rows(data, "numbers")) != list(numbers):
            raise ValueError("numbers are not those columns that have no labels")
        weights = given_numbers(data, "weights", (None,), 0.0)
        size, d = weights.size, len(numbers)
        thetas = given_rows(data, "thetas", columns)
        return cls(
            numbers, tuple(labels), tuple(labels.values()), weights,
            given_numbers(data, "p_class", (classes, size), 0.0),
            [given_numbers({"thetas": thetas[j]}, "thetas", (len(of), size), 0.0) for j, of in labels.items()],
            given_numbers(data, "peaks", (size,)), given_numbers(data, "means", (size, d)),
            given_numbers(data, "precisions", (size, d, d)),
        )


def group_by_missing(missing: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (rows of records that miss the same columns, which columns these are); ``missing``: [record, column]."""
    if len(missing) and not missing.any():
        yield slice(None), missing[0]
        return
    patterns, which = np.unique(missing, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        yield np.flatnonzero(which.ravel() == number), pattern


def stated_exp(x: Floats) -> Floats:
    """Return exp(x) of numbers up to 0 as (Σ_i (x/1024)^i / i!)^1024, the same to the last bit in every language."""
    power, within = np.ones_like(x), np.maximum(x, LEAST_EXPONENT)
    for i in range(TERMS, 0, -1):
        power = 1 + power * within / 1024 / i
    for _ in range(SQUARINGS):
        power = power * power
    return np.where(x < LEAST_EXPONENT, 0.0, power)
