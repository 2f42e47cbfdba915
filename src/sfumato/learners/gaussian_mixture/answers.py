"""What a fitted mixture says of true values:

    P(y, x) = Σ_z π_z · P(y | z) · Π_j θ_j(x_j | z) · exp(p_z − ½ (x − μ_z)'Λ_z(x − μ_z)),    p_z = ½ log|Λ_z|.

A number that is missing integrates out: Λ without column a is Λ − Λ_a Λ_a'/Λ_aa, and the mass is divided by √Λ_aa.
p and Λ are stated in the document, and exp is a product of sums: every language finds the same masses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sfumato.counts import encode_known
from sfumato.domain import Codes, Floats, as_numbers
from sfumato.domain.checked import given_labels, given_numbers, given_rows
from sfumato.learners.gaussian_mixture.fit import Parameters
from sfumato.learners.gaussian_mixture.records import Columns
from sfumato.learners.probabilities import added, rescaled

CLOSE, TINY = 1e-6, 1e-300
LEAST_EXPONENT, TERMS, SQUARINGS = -700.0, 16, 10


@dataclass(frozen=True)
class NormalMember:
    """Components of normal numbers and of categories, each of one class."""

    numbers: tuple[int, ...]
    categories: tuple[int, ...]
    labels: tuple[tuple[Any, ...], ...]
    weights: Floats
    p_class: Floats
    """P(class | component), one row a class."""
    thetas: list[Floats]
    """P(label | component) of each category, one row a label."""
    peaks: Floats
    means: Floats
    precisions: Floats

    @classmethod
    def of(cls, parameters: Parameters, columns: Columns) -> Self:
        precisions = np.linalg.inv(parameters.covariances) / np.multiply.outer(columns.scale, columns.scale)
        precisions = (precisions + np.swapaxes(precisions, 1, 2)) / 2
        _, log_det = np.linalg.slogdet(precisions) if columns.numbers else (None, np.zeros(len(parameters.weights)))
        return cls(
            columns.numbers, columns.categories, tuple(cut.labels or () for cut in columns.cells), parameters.weights,
            np.eye(parameters.groups)[parameters.classes].T, [theta.T for theta in parameters.thetas], log_det / 2,
            columns.centre + columns.scale * parameters.means, precisions,
        )

    def read(self, columns: list[Any]) -> tuple[Floats, Codes]:
        """Numbers (NaN: missing) and codes of labels (−1: missing or unknown) of records."""
        numbers = [as_numbers(columns[j]) for j in self.numbers]
        pairs = zip(self.categories, self.labels, strict=True)
        codes = [encode_known(labels, columns[j]) for j, labels in pairs]
        size = len(columns[0])
        values = np.column_stack(numbers) if numbers else np.zeros((size, 0))
        return values, np.column_stack(codes).astype(np.int64) if codes else np.zeros((size, 0), np.int64)

    def log_joint(self, columns: list[Any]) -> Floats:
        """log P(y, x) up to a constant, one column a class; where two classes are next to equal, from `masses`."""
        values, codes = self.read(columns)
        logs = np.empty((len(values), self.weights.size))
        for rows, gap in alike(np.isnan(values)):
            precisions, fall = self._without(gap)
            here = values[rows]
            for z, (peak, mean) in enumerate(zip(self.peaks, self.means, strict=True)):
                away = np.where(gap, 0.0, here - mean)
                logs[rows, z] = peak + fall[z] - 0.5 * np.einsum("ij,ij->i", away @ precisions[z], away)
        logs += np.log(np.maximum(self.weights, TINY))
        for j, theta in enumerate(self.thetas):
            logs += np.log(np.maximum(np.vstack([theta, np.ones((1, theta.shape[1]))]), TINY))[codes[:, j]]
        largest = logs.max(axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            found = largest + np.log(np.exp(logs - largest) @ self.p_class.T)
        return self._settled(found, values, codes)

    def _without(self, gap: Any) -> tuple[Floats, Floats]:
        """Λ with the rows and columns of gaps integrated out, and what that adds to the logarithms."""
        precisions, fall = self.precisions, np.zeros(self.weights.size)
        for a in np.flatnonzero(gap):
            own = precisions[:, a]
            fall = fall - 0.5 * np.log(own[:, a])
            precisions = precisions - (precisions[:, :, a] / own[:, a, None])[:, :, None] * own[:, None, :]
        return precisions, fall

    def _settled(self, logs: Floats, values: Floats, codes: Codes) -> Floats:
        """Logarithms as found, but from exact masses where the two best classes are next to equal."""
        if logs.shape[1] < 2:
            return logs
        first, second = -np.partition(-logs, 1, axis=1)[:, :2].T
        for row in np.flatnonzero(first - second < CLOSE):
            with np.errstate(divide="ignore"):
                logs[row] = np.log(self.masses(values[row], codes[row]))
        return logs

    def masses(self, values: Floats, codes: Codes) -> Floats:
        """P(y, x) of one record up to a factor, by operations in a stated order."""
        mass = self.weights[:, None]
        for theta, code in zip(self.thetas, codes.tolist(), strict=True):
            mass = rescaled(mass * theta[code][:, None]) if code >= 0 else mass
        mass, rows, gap = mass[:, 0], self.precisions, np.isnan(values)
        for a in np.flatnonzero(gap):
            own = rows[:, a]
            mass = mass / np.sqrt(own[:, a])
            rows = rows - (rows[:, :, a] / own[:, a, None])[:, :, None] * own[:, None, :]
        logs = self.peaks
        if values.size:
            away = np.where(gap, 0.0, values - self.means)
            inner = added(np.moveaxis(rows * away[:, None, :], 2, 0))
            logs = logs - added((away * inner).T) / 2
        parts = mass * stated_exp(logs - logs.max())
        return added(part * share for part, share in zip(parts, self.p_class.T, strict=True))

    def to_dict(self) -> dict[str, Any]:
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


def alike(gaps: Any) -> Iterator[tuple[Any, Any]]:
    """The rows of records with the same gaps, and those gaps."""
    if len(gaps) and not gaps.any():
        yield slice(None), gaps[0]
        return
    patterns, which = np.unique(gaps, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        yield np.flatnonzero(which.ravel() == number), pattern


def stated_exp(x: Floats) -> Floats:
    """exp(x) of numbers up to 0 as (Σ_i (x/1024)^i / i!)^1024, the same to the last bit in every language."""
    found, within = np.ones_like(x), np.maximum(x, LEAST_EXPONENT)
    for i in range(TERMS, 0, -1):
        found = 1 + found * within / 1024 / i
    for _ in range(SQUARINGS):
        found = found * found
    return np.where(x < LEAST_EXPONENT, 0.0, found)
