"""Naive Bayes from randomized reports (LKT08 §6): P(y | x) ∝ P(y) · Π_j p(x_j | y), with p(x_j | y) by ``density``:

    "auto"           each column is normal or reconstructed, whichever its held-out reports ask for (`density_choice`)
    "moments"        numbers are normal within a class: E[x] = E[w], Var[x] = Var[w] − noise variance, above zero
    "direct"         numbers are normal with the reports' own variance: for classifying reports
    "reconstructed"  each column's distribution within a class is reconstructed in cells

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
from sfumato.evidence.observed import LEAST_DOUBLE
from sfumato.learners.classes import check_at_face_value, class_people, true_class_shares
from sfumato.learners.density_choice import (
    choose_steps,
    count_in_cells,
    densities_after_steps,
    fit_within_classes,
    normal_in_cells,
)
from sfumato.learners.device import DeviceForm
from sfumato.learners.estimator import Channels, Learner
from sfumato.learners.estimator import Column as Values
from sfumato.learners.moments import code_excess, code_noise, code_values, moments, shrink_variances, units
from sfumato.prose import Voice

DENSITIES = ("auto", "moments", "reconstructed", "direct")
CELLS = 40
"""True cells of a column of numbers. By judgement: a larger number leaves fewer people to each cell, a smaller one
blurs the density by a larger part of the domain."""
COARSENESS = 0.1
"""Width of report cells in noise deviations: a tenth loses hardly any information (`evidence.resolution`), and wider
cells lose more."""
PSEUDO_COUNT = 1.0
"""People spread evenly over the cells of each class: one, as for a Laplace estimate over all cells together. Larger
makes classes alike, 0 excludes a class for good by one value that nobody reported."""
FOLDS = 5
"""Folds by which held-out reports choose a column's density, as is usual in cross-validation; more folds cost more
counts, fewer fit on fewer people."""


@dataclass(frozen=True)
class NormalDensity:
    """The normal densities of a column of numbers within each class.

        log N(x; mean_y, variance_y) = peak_y − curve_y · (x − mean_y)²
        curve_y = 1/(2·variance_y),    peak_y = −½·log(2π·variance_y)

    peak: stored beside the variance, because logarithms differ between languages in their last digit.
    """

    mean: Floats
    variance: Floats
    peak: Floats

    @classmethod
    def of(cls, mean: Floats, variance: Floats) -> Self:
        """Return normal densities with these means and variances of the classes."""
        return cls(mean, variance, -0.5 * np.log(2.0 * np.pi * variance))

    @property
    def curve(self) -> Floats:
        """1/(2·variance) of each class."""
        return 1.0 / (2.0 * self.variance)

    def log_density(self, column: npt.NDArray[Any]) -> Floats:
        """Return log p(x | class) of every value, one column a class; 0 where the value is missing."""
        x = as_numbers(column)[:, None]
        logs = self.peak - self.curve * (x - self.mean) ** 2
        return np.where(np.isnan(logs), 0.0, logs)

    def device_term(self, column: int, missing: Floats) -> dict[str, Any]:
        """Return the density as a term of a device's sum (`learners.device`); ``missing``: that of a missing value."""
        shape = {"peak": self.peak, "curve": self.curve, "mean": self.mean, "slope": np.zeros_like(missing)}
        stated = {"column": column, "missing": missing.tolist()}
        return {**stated, **{name: part.tolist() for name, part in shape.items()}}

    def to_dict(self) -> dict[str, Any]:
        """Return the densities as plain data for JSON."""
        stated = {"mean": self.mean, "variance": self.variance, "peak": self.peak}
        return {"form": "normal", **{name: part.tolist() for name, part in stated.items()}}


@dataclass(frozen=True)
class CellDensity:
    """The densities of a column within each class, constant in each cell.

        log p(x | y) = log P(cell of x | y) − log(width of the cell);    the width of a label's cell is 1

    p_cell_given_class: [class, cell]. logs: log p(x | y), [class, cell]; stored beside the probabilities, because
    logarithms differ between languages in their last digit.
    """

    cells: ColumnCells
    p_cell_given_class: Floats
    logs: Floats

    @classmethod
    def of(cls, cells: ColumnCells, p_cell_given_class: Floats) -> Self:
        """Return the densities with these probabilities of the cells, one row a class."""
        width = 1.0 if cells.edges is None else np.maximum(np.diff(cells.edges), LEAST_DOUBLE)
        return cls(cells, p_cell_given_class, np.log(p_cell_given_class) - np.log(width))

    def log_density(self, column: npt.NDArray[Any]) -> Floats:
        """Return log p(x | class) of every value, one column a class; 0 where it is missing or an unknown label."""
        cell = self.cells.true_cells(column)
        return np.where(cell[:, None] < 0, 0.0, self.logs[:, np.maximum(cell, 0)].T)

    def device_term(self, column: int, missing: Floats) -> dict[str, Any]:
        """Return the density as a term of a device's sum (`learners.device`); ``missing``: that of a missing value."""
        where = {key: part for key, part in self.cells.to_dict().items() if key in ("labels", "edges")}
        return {"column": column, "missing": missing.tolist(), **where, "scores": self.logs.T.tolist()}

    def to_dict(self) -> dict[str, Any]:
        """Return the densities as plain data for JSON."""
        stated = {"p_cell_given_class": self.p_cell_given_class.tolist(), "log_density": self.logs.tolist()}
        return {"form": "cells", "cells": self.cells.to_dict(), **stated}


Density = NormalDensity | CellDensity


@dataclass(frozen=True)
class NumericReports:
    """The reports of a column of numbers, counted.

    values: the (unbiased) numbers that occur. counts: [value, reported class], people. noise: the noise variance of
    each value. excess: by how much the square of each value is too large; None: the noise variance.
    counts_by_fold: [fold, value, reported class]; None where no fold is held out.
    """

    values: Floats
    counts: Floats
    noise: Floats | float = 0.0
    excess: Floats | None = None
    counts_by_fold: Floats | None = None

    def moments(self, counts: Floats) -> tuple[Floats, Floats]:
        """Return mean and variance of the true values within each class, from counts[value, true class]."""
        mean, variance = moments(self.values, counts, self.noise, self.excess)
        return mean, shrink_variances(variance, counts, self.noise)


class NaiveBayesClassifier(Learner):
    """Naive Bayes for true values, learned from reports.

    channels: one entry (channel, choice, or None for a clear column) a column, or a mapping from column name; a column
        ``<name>.level`` says which level of a choice each person took. None: nothing is blurred.
    density: the densities of columns within classes. "moments": numbers are normal, with the mean and variance of the
        reports less their noise. "reconstructed": every column's distribution is reconstructed in cells. "auto":
        whichever of the two predicts the held-out reports of a column better. "direct": numbers are normal with the
        reports' own variance, and reported labels are counted; for classifying reports.
    label_channel: the channel that class labels went through; None: they are clear.
    var_smoothing: this share of a column's variance is added to its variances within classes; GaussianNB adds that
        of the largest, which drowns columns in small units.

    It reads counts only: of each column by class, and for "auto" by fold too.

    Fitted: ``classes_``, ``class_prior_``, ``densities_`` (one a column).

    >>> import numpy as np, sfumato as sf
    >>> age, rng = sf.Gaussian(sf.Interval(20, 80), privacy=0.5), np.random.default_rng(1)
    >>> retired = rng.random(2000) < 0.4
    >>> ages = np.where(retired, rng.normal(70, 5, 2000), rng.normal(45, 8, 2000)).clip(20, 80)
    >>> model = sf.NaiveBayesClassifier([age]).fit(age.randomize(ages, rng)[:, None], retired)
    >>> model.predict([[50.0], [72.0]]).tolist()
    [False, True]
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
        normal = {name: self._numeric_reports(reports, name, counted) for name in numeric}
        self.epsilon_ = {name: self.smoothing(reports.column(name)) for name in normal}
        self.densities_: list[Density] = [
            self._density_of_numbers(reports, name, normal[name], shares) if name in normal
            else self._density_in_cells(reports, name, shares)
            for name in reports.names
        ]

    def _is_normal(self, reports: Reports, name: str) -> bool:
        """Say whether a column holds numbers with normal densities, which "auto" may still replace by cells."""
        column = reports.column(name)
        if not column.levels:
            return column.labels is None
        return not isinstance(column.channel.domain, Categories) and self.density != "reconstructed"

    def smoothing(self, column: Column) -> float:
        """Return what is added to a column's variances within classes; above zero even for ``var_smoothing=0``."""
        share = max(self.var_smoothing, np.finfo(float).eps)
        return float(share * units(*moments_of_all(column))[0] ** 2)

    def _numeric_reports(self, reports: Reports, name: str, clear: Mapping[str, Floats]) -> NumericReports:
        """Return the reports of a column of numbers; ``clear``: counts[value, reported class] of clear columns."""
        column = reports.column(name)
        if column.levels:
            by_fold = reports.counts([name], by_fold=FOLDS)[:, : column.size] if self.density == "auto" else None
            counts = reports.counts([name])[: column.size] if by_fold is None else by_fold.sum(axis=0)
            if self.density == "direct":
                return NumericReports(code_values(column, as_reported=True), counts)
            return NumericReports(code_values(column), counts, code_noise(column), code_excess(column), by_fold)
        assert column.values is not None
        return NumericReports(column.values, clear[name])

    def _density_of_numbers(self, reports: Reports, name: str, numbers: NumericReports, shares: Floats) -> Density:
        """Return normal densities or, for "auto" and where held-out reports ask for them, densities in cells."""
        column = reports.column(name)
        if self.density == "auto" and column.levels:
            in_cells = self._cells_if_better(reports, numbers, Axis(column).at(CELLS, COARSENESS), shares)
            if in_cells is not None:
                return in_cells
        mean, variance = numbers.moments(numbers.counts @ shares)
        return NormalDensity.of(mean, variance + self.epsilon_[name])

    def _cells_if_better(
        self, reports: Reports, numbers: NumericReports, cells: ColumnCells, shares: Floats
    ) -> CellDensity | None:
        """Return densities in cells if held-out reports prefer them to normal ones, None otherwise."""
        assert numbers.counts_by_fold is not None
        by_fold = numbers.counts_by_fold @ shares
        squares = np.abs(by_fold)
        if reports.weighted:
            squares = reports.counts([cells.name], by_fold=FOLDS, squared=True)[:, : numbers.values.size] @ shares**2
        everybody = by_fold.sum(axis=0)
        fitted = [numbers.moments(fill_empty_classes(everybody - held_out)) for held_out in by_fold]
        least = self.epsilon_[cells.name]
        normals = np.array([normal_in_cells(mean, variance + least, cells) for mean, variance in fitted])
        steps = choose_steps(count_in_cells(by_fold, cells), count_in_cells(squares, cells), normals, cells)
        if steps is None:
            return None
        counts = np.maximum(count_in_cells(everybody, cells), 0.0)
        return smooth_density(cells, dict(densities_after_steps(counts, cells))[steps], counts)

    def _prepare(self, reports: Reports, names: Sequence[str]) -> None:
        """Count these columns by fold in one pass over the reports."""
        kinds = (False, True) if reports.weighted else (False,)
        reports.prepare([
            reports.counting([name], by_fold=FOLDS, squared=squared) for name in names for squared in kinds
        ])

    def _density_in_cells(self, reports: Reports, name: str, shares: Floats) -> CellDensity:
        """Return a column's densities in cells, reconstructed through its table or, for "direct", as reported."""
        column = reports.column(name)
        direct = self.density == "direct" and column.levels
        cells = cells_as_reported(column) if direct else Axis(column).at(CELLS, COARSENESS)
        counts = np.maximum((reports.counts([name], [cells])[: cells.reported] @ shares).T, 0.0)
        if not cells.identity:
            return smooth_density(cells, fit_within_classes(cells, counts), counts)
        return smooth_density(cells, counts / np.maximum(counts.sum(axis=1, keepdims=True), LEAST_DOUBLE), counts)

    # --- classification -----------------------------------------------------------------------------------------

    def predict_log_joint(self, X: Any) -> Floats:
        """Return log P(y) + Σ_j log p(x_j | y) of each record, in the order of ``classes_``.

        X: a table or array of true values with the columns that were fitted; missing values are left out of the sum.
        """
        check_is_fitted(self)
        return self._scores(self._columns(X, reset=False)[1])

    def _scores(self, columns: list[Values]) -> Floats:
        return log_joint(self.log_prior_, self.densities_, columns)

    def _probabilities(self, columns: list[Values]) -> Floats:
        return np.asarray(softmax(self._scores(columns), axis=1))

    def predict_log_proba(self, X: Any) -> Floats:
        """Return log P(class | true values) of each record of X, in the order of ``classes_``."""
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
        model.log_prior_ = given_logs(data, "log_prior", np.log(np.maximum(model.class_prior_, LEAST_DOUBLE)))
        model.densities_ = [density_from_dict(row, classes) for row in given_rows(data, "densities", columns)]
        return model


def log_joint(log_prior: Floats, densities: Sequence[Density], columns: Sequence[Values]) -> Floats:
    """Return log P(y) + log p(x₁ | y) + log p(x₂ | y) + …, one row a record, added from left to right."""
    logs = np.repeat(log_prior[None], len(columns[0]), axis=0)
    for density, column in zip(densities, columns, strict=True):
        logs += density.log_density(column)
    return logs


def fill_empty_classes(counts: Floats) -> Floats:
    """Return counts[value, class], where a class without people gets the counts of all classes together."""
    return np.where(counts.sum(axis=0) > 0, counts, counts.sum(axis=1, keepdims=True))


def smooth_density(cells: ColumnCells, p: Floats, counts: Floats) -> CellDensity:
    """Return the densities p[class, cell] after a pseudo-count is spread evenly over the cells of each class.

    counts: [class, report cell]; their sum says how many people p stands for.
    """
    people = counts.sum(axis=1, keepdims=True)
    return CellDensity.of(cells, (p * people + PSEUDO_COUNT / cells.size) / (people + PSEUDO_COUNT))


def moments_of_all(column: Column) -> tuple[Floats, Floats]:
    """Return mean and variance of all values of a column, as arrays of one entry; each record counts once."""
    values = column.values if column.values is not None else code_values(column)
    occurring = column.occurring if column.occurring is not None else column.histogram
    return moments(values, occurring[:, None].astype(np.float64))


def cells_as_reported(column: Column) -> ColumnCells:
    """Return a column's cells if reports are taken for true values: one for each label that can be reported."""
    reported = [label for channel in column.levels.values() for label in channel.outputs.labels]  # type: ignore[union-attr]
    labels = tuple(dict.fromkeys(reported))
    cell_of_code = np.array([labels.index(label) for label in reported], np.int32)
    return ColumnCells(column.name, np.eye(len(labels)), cell_of_code, None, labels, identity=True)


def density_from_dict(data: Mapping[str, Any], classes: int) -> Density:
    """Return the density of one column that ``to_dict`` wrote; what does not fit together raises ValueError."""
    if given_one_of(data, "form", ("normal", "cells")) == "normal":
        mean = given_numbers(data, "mean", (classes,))
        normal = NormalDensity.of(mean, given_numbers(data, "variance", (classes,), LEAST_DOUBLE))
        return replace(normal, peak=given_logs(data, "peak", normal.peak))
    cells = ColumnCells.from_dict(given_table(data, "cells"))
    density = CellDensity.of(cells, given_numbers(data, "p_cell_given_class", (classes, cells.size), LEAST_DOUBLE))
    return replace(density, logs=given_logs(data, "log_density", density.logs))


def given_logs(data: Mapping[str, Any], key: str, computed: Floats) -> Floats:
    """Return the logarithms under ``key`` of a document, or the computed ones where an old document has none."""
    return given_numbers(data, key, computed.shape) if key in data else computed
