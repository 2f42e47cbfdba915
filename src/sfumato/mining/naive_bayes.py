"""Naive Bayes from randomized reports (LKT08 §6).

    "moments"        numbers are normal within a class: E[x] = E[w], Var[x] = Var[w] − noise variance (kept above zero)
    "direct"         numbers are normal with the reports' own variance: for classifying reports
    "reconstructed"  each attribute's distribution within a class is reconstructed and used as it is

Categories are multinomial in all three: reconstructed through the channel's table, or counted for "direct".
Without channels "moments" and "direct" are scikit-learn's GaussianNB.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from sfumato.channels.base import Channel
from sfumato.channels.choice import Choice
from sfumato.domain import Categories, as_numbers
from sfumato.mining.columns import Axis, ColumnCells, ClearCategory, axis_of
from sfumato.mining.estimator import (
    Channels,
    channels_of_columns,
    class_codes,
    read_columns,
    record_weights,
    remember_names,
)
from sfumato.mining.level_columns import reports_in
from sfumato.mining.moments import moments_of_levels, noise_variance, noise_variances
from sfumato.mining.tree.association import counts_by_code, reconstruct_groups
from sfumato.mining.tree.growth import ClassMass

DENSITIES = ("moments", "reconstructed", "direct")
Floats = npt.NDArray[np.float64]
LEAST_VARIANCE_SHARE = 0.01
CELLS = 40
PSEUDO_COUNT = 1.0


@dataclass(frozen=True)
class NormalDensity:
    """log N(x; mean_y, variance_y)."""

    mean: Floats
    variance: Floats

    def log_density(self, column: npt.NDArray[Any]) -> Floats:
        x = as_numbers(column)[:, None]
        logs = -0.5 * (np.log(2.0 * np.pi * self.variance) + (x - self.mean) ** 2 / self.variance)
        return np.where(np.isnan(logs), 0.0, logs)

    def to_dict(self) -> dict[str, Any]:
        return {"form": "normal", "mean": self.mean.tolist(), "variance": self.variance.tolist()}


@dataclass(frozen=True)
class CellDensity:
    """log P(cell | y), for numbers divided by the width of the cell."""

    cells: ColumnCells
    p_cell_given_class: Floats

    def log_density(self, column: npt.NDArray[Any]) -> Floats:
        places = self.cells.true_cells(column)
        logs = np.log(self.p_cell_given_class)
        if self.cells.edges is not None:
            logs = logs - np.log(np.maximum(np.diff(self.cells.edges), 1e-300))
        found = logs[:, np.maximum(places, 0)].T
        return np.where(places[:, None] < 0, 0.0, found)

    def to_dict(self) -> dict[str, Any]:
        return {"form": "cells", "cells": self.cells.to_dict(), "p_cell_given_class": self.p_cell_given_class.tolist()}


class NaiveBayes(ClassifierMixin, BaseEstimator):
    """Naive Bayes for true values, learned from reports.

    channels: one entry (channel or None for a clear column) a column, or a mapping from column name.
    density: "moments", "reconstructed" or "direct".
    label_channel: the channel that class labels went through, None if they are clear.
    var_smoothing: this share of the largest variance is added to every variance, as in GaussianNB.

    Fitted: ``classes_``, ``class_prior_``, ``densities_`` (one a column).
    """

    def __init__(
        self,
        channels: Channels = None,
        density: str = "moments",
        *,
        label_channel: Channel | None = None,
        var_smoothing: float = 1e-9,
    ) -> None:
        self.channels = channels
        self.density = density
        self.label_channel = label_channel
        self.var_smoothing = var_smoothing

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit on reports X and classes y."""
        if self.density not in DENSITIES:
            raise ValueError(f"density={self.density!r} is unknown; use one of {', '.join(DENSITIES)}")
        names, columns = read_columns(self, X, reset=True)
        self.classes_, group = class_codes(y, self.label_channel)
        if group.size != len(columns[0]):
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X {len(columns[0])}, y {group.size}"
            )
        weight = record_weights(sample_weight, group.size)
        table = None if self.label_channel is None else self.label_channel.matrix()
        mass = ClassMass.dense(group, weight, len(self.classes_), table)
        self.class_prior_ = np.maximum(mass.sum(axis=0), 1e-12) / np.maximum(mass.sum(axis=0), 1e-12).sum()
        self.attribute_names_ = names
        channels = channels_of_columns(self.channels, names)
        self.epsilon_ = self._smoothing(columns, channels)
        self.densities_ = [self._density(*pair, mass) for pair in zip(names, channels, columns, strict=True)]
        return self

    def _smoothing(self, columns: list[npt.NDArray[Any]], channels: list[Channel | Choice | None]) -> float:
        """A share of the largest variance among the numbers."""
        pairs = zip(columns, channels, strict=True)
        numbers = [as_numbers(reports_in(column)) for column, channel in pairs if is_number(column, channel)]
        variances = [float(np.nanvar(column)) for column in numbers if not np.isnan(column).all()]
        return self.var_smoothing * max(variances, default=0.0)

    def _density(
        self, name: str, channel: Channel | Choice | None, column: npt.NDArray[Any], mass: Floats
    ) -> NormalDensity | CellDensity:
        number = is_number(column, channel)
        if number and (self.density != "reconstructed" or channel is None):
            reports = as_numbers(reports_in(column))
            if isinstance(channel, Choice) and self.density == "moments":
                mean, variance = moments_of_levels(reports, mass, noise_variances(channel, column))
                return NormalDensity(mean, variance + self.epsilon_)
            noise = noise_variance(channel) if isinstance(channel, Channel) and self.density == "moments" else 0.0
            return self._normal(reports, mass, noise)
        as_reported = self.density == "direct" or channel is None
        attribute = ClearCategory(name, reports_in(column)) if as_reported else axis_of(name, channel, column)
        return cell_density(attribute, mass)

    def _normal(self, column: Floats, mass: Floats, noise: float) -> NormalDensity:
        """Weighted moments of each class; the noise's variance is taken off."""
        known = ~np.isnan(column)
        x, m = column[known], mass[known]
        total = m.sum(axis=0)
        total = np.where(np.abs(total) < 1e-12, 1e-12, total)
        mean = x @ m / total
        variance = np.array([m[:, y] @ (x - mean[y]) ** 2 for y in range(m.shape[1])]) / total
        if noise:
            variance = np.maximum(variance - noise, LEAST_VARIANCE_SHARE * np.maximum(variance, 1e-300))
        return NormalDensity(mean, np.maximum(variance, 0.0) + self.epsilon_)

    # --- classification -----------------------------------------------------------------------------------------

    def predict_log_joint(self, X: Any) -> Floats:
        """log P(y) + Σ_j log p(x_j | y); missing values are left out."""
        check_is_fitted(self, "densities_")
        _, columns = read_columns(self, X, reset=False)
        logs = np.repeat(np.log(self.class_prior_)[None], len(columns[0]), axis=0)
        for density, column in zip(self.densities_, columns, strict=True):
            logs = logs + density.log_density(column)
        return np.asarray(logs)

    def predict_proba(self, X: Any) -> Floats:
        logs = self.predict_log_joint(X)
        odds = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def predict_log_proba(self, X: Any) -> Floats:
        logs = self.predict_log_joint(X)
        logs = logs - logs.max(axis=1, keepdims=True)
        return np.asarray(logs - np.log(np.exp(logs).sum(axis=1, keepdims=True)))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        logs = self.predict_log_joint(X)
        return np.asarray(self.classes_[np.argmax(logs, axis=1)])

    # --- plain data ---------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The fitted model as plain data for JSON."""
        check_is_fitted(self, "densities_")
        return {
            "model": "naive-bayes",
            "named": hasattr(self, "feature_names_in_"),
            "density": self.density,
            "attributes": self.attribute_names_,
            "classes": self.classes_.tolist(),
            "prior": self.class_prior_.tolist(),
            "densities": [density.to_dict() for density in self.densities_],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        model = cls(density=data["density"])
        model.attribute_names_ = list(data["attributes"])
        remember_names(model, data)
        model.classes_ = np.array(data["classes"])
        model.class_prior_ = np.array(data["prior"])
        model.densities_ = [density_from_dict(density) for density in data["densities"]]
        return model


def density_from_dict(data: dict[str, Any]) -> NormalDensity | CellDensity:
    if data["form"] == "normal":
        return NormalDensity(np.array(data["mean"]), np.array(data["variance"]))
    return CellDensity(ColumnCells.from_dict(data["cells"]), np.array(data["p_cell_given_class"]))


def is_number(column: npt.NDArray[Any], channel: Channel | Choice | None) -> bool:
    if channel is not None:
        return not isinstance(channel.domain, Categories)
    return column.dtype.kind in "iuf"


def cell_density(attribute: Axis, mass: Floats) -> CellDensity:
    """P(cell | y), reconstructed through the attribute's table for each class."""
    cells = attribute.at(CELLS, 0.1)
    codes = np.maximum(attribute.codes, 0)
    known = attribute.codes >= 0
    one = np.zeros(int(known.sum()), np.int64)
    rows = []
    for y in range(mass.shape[1]):
        by_code = counts_by_code(codes[known], one, np.ascontiguousarray(mass[known, y]), 1, cells.cell_of_code.size)[0]
        by_cell = np.maximum(np.bincount(cells.cell_of_code, by_code, cells.table.shape[0]), 0.0)
        p = (
            by_cell / max(by_cell.sum(), 1e-300)
            if cells.identity
            else reconstruct_groups(cells.table, by_cell[None])[0]
        )
        total = max(by_cell.sum(), 1e-12)
        rows.append((p * total + PSEUDO_COUNT / cells.size) / (total + PSEUDO_COUNT))
    return CellDensity(cells, np.array(rows))
