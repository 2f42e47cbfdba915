"""Naive Bayes from randomized reports (LKT08 §6).

    "auto"           each column is normal or reconstructed, whichever its held-out reports ask for (`density_choice`)
    "moments"        numbers are normal within a class: E[x] = E[w], Var[x] = Var[w] − noise variance (kept above zero)
    "direct"         numbers are normal with the reports' own variance: for classifying reports
    "reconstructed"  each column's distribution within a class is reconstructed and used as it is

Categories are multinomial in all four: reconstructed through the channel's table, or counted for "direct".
Without channels "auto", "moments" and "direct" are scikit-learn's GaussianNB on columns of equal variance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax, softmax
from sklearn.utils.validation import check_is_fitted

from sfumato.channels.base import Channel
from sfumato.counts import Column, Reports
from sfumato.domain import Categories, Floats, as_numbers
from sfumato.domain.checked import given_numbers, given_one_of, given_rows, given_table
from sfumato.evidence import Axis, ColumnCells
from sfumato.learners.classes import check_at_face_value, class_people, true_class_shares
from sfumato.learners.density_choice import after_steps, in_cells, normal_in_cells, steps_wanted, within_classes
from sfumato.learners.device import DeviceForm
from sfumato.learners.estimator import Channels, Learner
from sfumato.learners.estimator import Column as Values
from sfumato.learners.moments import TINY, code_excess, code_noise, code_values, moments, settled, units
from sfumato.prose import Voice

DENSITIES = ("auto", "moments", "reconstructed", "direct")
CELLS, COARSENESS = 40, 0.1
PSEUDO_COUNT = 1.0
FOLDS = 5


@dataclass(frozen=True)
class NormalDensity:
    """log N(x; mean_y, variance_y) = peak_y − curve_y · (x − mean_y)², curve_y = 1/(2·variance_y).

    Logarithms are stated beside what they are of, because languages differ in their last digit.
    """

    mean: Floats
    variance: Floats
    peak: Floats

    @classmethod
    def of(cls, mean: Floats, variance: Floats) -> Self:
        return cls(mean, variance, -0.5 * np.log(2.0 * np.pi * variance))

    @property
    def curve(self) -> Floats:
        return 1.0 / (2.0 * self.variance)

    def log_density(self, column: npt.NDArray[Any]) -> Floats:
        x = as_numbers(column)[:, None]
        logs = self.peak - self.curve * (x - self.mean) ** 2
        return np.where(np.isnan(logs), 0.0, logs)

    def device_term(self, column: int, missing: Floats) -> dict[str, Any]:
        """Return what the density adds to the scores, as a device computes it (see `learners.device`)."""
        shape = {"peak": self.peak, "curve": self.curve, "mean": self.mean, "slope": np.zeros_like(missing)}
        stated = {"column": column, "missing": missing.tolist()}
        return {**stated, **{name: part.tolist() for name, part in shape.items()}}

    def to_dict(self) -> dict[str, Any]:
        stated = {"mean": self.mean, "variance": self.variance, "peak": self.peak}
        return {"form": "normal", **{name: part.tolist() for name, part in stated.items()}}


@dataclass(frozen=True)
class CellDensity:
    """log P(cell | y), for numbers less the logarithm of the cell's width."""

    cells: ColumnCells
    p_cell_given_class: Floats
    logs: Floats

    @classmethod
    def of(cls, cells: ColumnCells, p_cell_given_class: Floats) -> Self:
        width = 1.0 if cells.edges is None else np.maximum(np.diff(cells.edges), TINY)
        return cls(cells, p_cell_given_class, np.log(p_cell_given_class) - np.log(width))

    def log_density(self, column: npt.NDArray[Any]) -> Floats:
        places = self.cells.true_cells(column)
        found = self.logs[:, np.maximum(places, 0)].T
        return np.where(places[:, None] < 0, 0.0, found)

    def device_term(self, column: int, missing: Floats) -> dict[str, Any]:
        """Return what the density adds to the scores, as a device computes it (see `learners.device`)."""
        where = {key: part for key, part in self.cells.to_dict().items() if key in ("labels", "edges")}
        return {"column": column, "missing": missing.tolist(), **where, "scores": self.logs.T.tolist()}

    def to_dict(self) -> dict[str, Any]:
        stated = {"p_cell_given_class": self.p_cell_given_class.tolist(), "log_density": self.logs.tolist()}
        return {"form": "cells", "cells": self.cells.to_dict(), **stated}


Density = NormalDensity | CellDensity


@dataclass(frozen=True)
class Numbers:
    """Values of a column, how many people of each reported class have them, the noise behind each, and by how much its
    square is too large; where folds are held out, also the counts of each of them."""

    values: Floats
    counts: Floats
    noise: Floats | float = 0.0
    excess: Floats | None = None
    held: Floats | None = None

    def moments(self, counts: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of the true values within each true class, which has so many people of each value."""
        mean, variance = moments(self.values, counts, self.noise, self.excess)
        return mean, settled(variance, counts, self.noise)


class NaiveBayesClassifier(Learner):
    """Naive Bayes for true values, learned from reports.

    channels: one entry (channel or None for a clear column) a column, or a mapping from column name.
    density: "auto", "moments", "reconstructed" or "direct".
    label_channel: the channel that class labels went through, None if they are clear.
    var_smoothing: this share of a column's variance is added to its variances within classes; GaussianNB adds that
        of the largest, which drowns columns in small units.

    It asks for counts only: of each column by class, and for "auto" by fold too.

    Fitted: ``classes_``, ``class_prior_``, ``densities_`` (one a column).
    """

    form = "naive-bayes"
    keeps_weightless = True  # for the columns' variances, as GaussianNB does

    def __init__(
        self, channels: Channels = None, density: str = "auto", *, label_channel: Channel | None = None,
        var_smoothing: float = 1e-9,
    ) -> None:
        self.channels = channels
        self.density = density
        self.label_channel = label_channel
        self.var_smoothing = var_smoothing

    def _learn(self, reports: Reports, rng: np.random.Generator) -> None:
        if self.density not in DENSITIES:
            raise ValueError(f"density={self.density!r} is unknown; use one of {', '.join(DENSITIES)}")
        if self.density == "direct":
            check_at_face_value(reports.channels)
        shares = true_class_shares(reports)
        people = class_people(reports)
        self.class_prior_ = people / people.sum()
        self.log_prior_ = np.log(self.class_prior_)
        clear = [name for name in reports.names if reports.column(name).values is not None]
        counted = dict(zip(clear, reports.value_counts(clear), strict=True))
        numeric = [name for name in reports.names if self._is_normal(reports, name)]
        if self.density == "auto":
            self._prepare(reports, [name for name in numeric if name not in counted])
        normal = {name: self._numbers(reports, name, counted) for name in numeric}
        self.epsilon_ = {name: self.smoothing(reports.column(name)) for name in normal}
        self.densities_: list[Density] = [
            self._in_numbers(reports, name, normal[name], shares) if name in normal
            else self._in_cells(reports, name, shares)
            for name in reports.names
        ]

    def _is_normal(self, reports: Reports, name: str) -> bool:
        """Whether a column is taken as normal: numbers, unless their densities are reconstructed."""
        column = reports.column(name)
        if not column.levels:
            return column.labels is None
        return not isinstance(column.channel.domain, Categories) and self.density != "reconstructed"

    def smoothing(self, column: Column) -> float:
        """What is added to a column's variances: above zero, whatever was asked for."""
        share = max(self.var_smoothing, np.finfo(float).eps)
        return float(share * units(*moments_of_all(column))[0] ** 2)

    def _numbers(self, reports: Reports, name: str, clear: Mapping[str, Floats]) -> Numbers:
        column = reports.column(name)
        if column.levels:
            held = reports.counts([name], by_fold=FOLDS)[:, : column.size] if self.density == "auto" else None
            counts = reports.counts([name])[: column.size] if held is None else held.sum(axis=0)
            if self.density == "direct":
                return Numbers(code_values(column, as_reported=True), counts)
            return Numbers(code_values(column), counts, code_noise(column), code_excess(column), held)
        assert column.values is not None
        return Numbers(column.values, clear[name])

    def _in_numbers(self, reports: Reports, name: str, numbers: Numbers, shares: Floats) -> Density:
        """The normal density, or for "auto" cells where those who were left out ask for them."""
        column = reports.column(name)
        if self.density == "auto" and column.levels:
            found = self._asked_for(reports, numbers, Axis(column).at(CELLS, COARSENESS), shares)
            if found is not None:
                return found
        mean, variance = numbers.moments(numbers.counts @ shares)
        return NormalDensity.of(mean, variance + self.epsilon_[name])

    def _asked_for(
        self, reports: Reports, numbers: Numbers, cells: ColumnCells, shares: Floats
    ) -> CellDensity | None:
        """The cells that held-out reports ask for, None where they ask for no more than normal densities."""
        assert numbers.held is not None
        held = numbers.held @ shares
        squares = np.abs(held)
        if reports.weighted:
            squares = reports.counts([cells.name], by_fold=FOLDS, squared=True)[:, : numbers.values.size] @ shares**2
        everybody = held.sum(axis=0)
        fitted = [numbers.moments(of_somebody(everybody - left_out)) for left_out in held]
        least = self.epsilon_[cells.name]
        normals = np.array([normal_in_cells(mean, variance + least, cells) for mean, variance in fitted])
        steps = steps_wanted(in_cells(held, cells), in_cells(squares, cells), normals, cells)
        if steps is None:
            return None
        counts = np.maximum(in_cells(everybody, cells), 0.0)
        return smoothed(cells, dict(after_steps(counts, cells))[steps], counts)

    def _prepare(self, reports: Reports, names: Sequence[str]) -> None:
        """The counts by fold are asked for together."""
        both = (False, True) if reports.weighted else (False,)
        reports.prepare([reports.counting([name], by_fold=FOLDS, squared=each) for name in names for each in both])

    def _in_cells(self, reports: Reports, name: str, shares: Floats) -> CellDensity:
        """P(cell | y): reconstructed through the column's table, or as reported."""
        column = reports.column(name)
        direct = self.density == "direct" and column.levels
        cells = reported_labels(column) if direct else Axis(column).at(CELLS, COARSENESS)
        counts = np.maximum((reports.counts([name], [cells])[: cells.reported] @ shares).T, 0.0)
        if not cells.identity:
            return smoothed(cells, within_classes(cells, counts), counts)
        return smoothed(cells, counts / np.maximum(counts.sum(axis=1, keepdims=True), TINY), counts)

    # --- classification -----------------------------------------------------------------------------------------

    def predict_log_joint(self, X: Any) -> Floats:
        """log P(y) + Σ_j log p(x_j | y); missing values are left out."""
        check_is_fitted(self)
        return self._scores(self._columns(X, reset=False)[1])

    def _scores(self, columns: list[Values]) -> Floats:
        return log_joint(self.log_prior_, self.densities_, columns)

    def _probabilities(self, columns: list[Values]) -> Floats:
        return np.asarray(softmax(self._scores(columns), axis=1))

    def predict_log_proba(self, X: Any) -> Floats:
        return np.asarray(log_softmax(self.predict_log_joint(X), axis=1))

    def device_form(self, say: Voice) -> DeviceForm:
        nothing = np.zeros(len(self.classes_))
        terms = (density.device_term(j, nothing) for j, density in enumerate(self.densities_))
        return DeviceForm.sum(self.device_classes(), self.log_prior_, terms)

    # --- plain data ---------------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        densities = [density.to_dict() for density in self.densities_]
        prior = {"prior": self.class_prior_.tolist(), "log_prior": self.log_prior_.tolist()}
        return {"density": self.density, **prior, "densities": densities}

    @classmethod
    def _from_state(cls, data: Mapping[str, Any]) -> Self:
        model = cls(density=given_one_of(data, "density", DENSITIES))
        columns, classes = len(data["attributes"]), len(given_rows(data, "classes"))
        model.class_prior_ = given_numbers(data, "prior", (classes,), 0.0)
        model.log_prior_ = given_logs(data, "log_prior", np.log(np.maximum(model.class_prior_, TINY)))
        model.densities_ = [density_from_dict(each, classes) for each in given_rows(data, "densities", columns)]
        return model


def log_joint(log_prior: Floats, densities: Sequence[Density], columns: Sequence[Values]) -> Floats:
    """log P(y) + log p(x₁ | y) + log p(x₂ | y) + …, one row a record, added from left to right."""
    logs = np.repeat(log_prior[None], len(columns[0]), axis=0)
    for density, column in zip(densities, columns, strict=True):
        logs += density.log_density(column)
    return logs


def of_somebody(counts: Floats) -> Floats:
    """Counts of each class, those of all classes together where a class has nobody."""
    return np.where(counts.sum(axis=0) > 0, counts, counts.sum(axis=1, keepdims=True))


def smoothed(cells: ColumnCells, p: Floats, counts: Floats) -> CellDensity:
    """Densities with a pseudo-count spread evenly over the cells of each class."""
    people = counts.sum(axis=1, keepdims=True)
    return CellDensity.of(cells, (p * people + PSEUDO_COUNT / cells.size) / (people + PSEUDO_COUNT))


def moments_of_all(column: Column) -> tuple[Floats, Floats]:
    """Mean and variance of all values of a column, each record counting once."""
    values = column.values if column.values is not None else code_values(column)
    occurring = column.occurring if column.occurring is not None else column.histogram
    return moments(values, occurring[:, None].astype(np.float64))


def reported_labels(column: Column) -> ColumnCells:
    """The labels that reports hold, each its own cell, as if they were true."""
    reported = [label for channel in column.levels.values() for label in channel.outputs.labels]  # type: ignore[union-attr]
    labels = tuple(dict.fromkeys(reported))
    cell_of_code = np.array([labels.index(label) for label in reported], np.int32)
    return ColumnCells(column.name, np.eye(len(labels)), cell_of_code, None, labels, identity=True)


def density_from_dict(data: Mapping[str, Any], classes: int) -> Density:
    if given_one_of(data, "form", ("normal", "cells")) == "normal":
        mean, variance = given_numbers(data, "mean", (classes,)), given_numbers(data, "variance", (classes,), TINY)
        normal = NormalDensity.of(mean, variance)
        return replace(normal, peak=given_logs(data, "peak", normal.peak))
    cells = ColumnCells.from_dict(given_table(data, "cells"))
    found = CellDensity.of(cells, given_numbers(data, "p_cell_given_class", (classes, cells.size), TINY))
    return replace(found, logs=given_logs(data, "log_density", found.logs))


def given_logs(data: Mapping[str, Any], key: str, computed: Floats) -> Floats:
    """The logarithms that stand in the document; files of the first builds hold none."""
    return given_numbers(data, key, computed.shape) if key in data else computed
