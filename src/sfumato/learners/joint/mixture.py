"""A mixture of products, for more columns than a grid can hold, fitted to reports by EM:

    P(w, y') = Σ_z π_z · (L η)(y' | z) · Π_j (C_j θ_j)(w_j | z)

w_j      report of column j, through its table C_j; y' the reported class, through its table L
π, η, θ  P(component z), P(class | z), P(true cell of column j | z)

Each step of EM takes a few inner steps through each table and adds Dirichlet pseudo-counts; components start at the
posteriors of random people, and EM stops by the likelihood of held-out reports. Time grows linearly with the
combinations of reports that occur, and with columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from numba import njit

from sfumato.counts import Fold, Reports
from sfumato.domain import Codes, Floats
from sfumato.domain.checked import given_numbers, given_rows
from sfumato.evidence import (
    Axis,
    ColumnCells,
    DenseTable,
    Evidence,
    LikelihoodGain,
    Resolution,
    Steps,
    maximise_likelihood,
    repeat,
)
from sfumato.evidence.held_out import LEAST_PEOPLE, TENTH
from sfumato.evidence.resolution import shift_of
from sfumato.evidence.tables import Array
from sfumato.learners.classes import label_table_of
from sfumato.learners.probabilities import add_in_order, draw_columns, rescale_columns

RESOLUTION = Resolution(24, 0.25)
"""Cells of a column of numbers, and width of report cells in noise deviations. By judgement: components, not cells,
hold the dependence; more cells cost time and leave fewer people to each."""
COMPONENTS = 60
"""The most components. By trial on AGI92's functions, together with PSEUDO_COUNT and INNER_STEPS; more cost time in
proportion, fewer blur what columns say together."""
PSEUDO_COUNT = 0.2
"""Dirichlet pseudo-counts in every cell of every component. By the same trial; larger makes components alike, smaller
lets them follow chance."""
PEOPLE_PER_COMPONENT = 20
"""People that a component should have at least. By judgement; fewer let components follow single people, more miss
small groups."""
FULL_COMPONENT = 250.0
"""Components with fewer people than this get pseudo-counts in proportion, so that these never outweigh the people. By
judgement; larger smooths small samples less."""
INNER_STEPS = 3
"""Steps of EM through a column's table within one step of the mixture's. By the same trial; more take time, fewer need
more steps of the mixture."""
BLOCK = 10
"""Steps of EM between two looks at held-out people. By judgement: a look costs a tenth of a step."""
LIMIT = 200
"""The most steps of EM. By judgement; fits stop earlier by the held-out likelihood unless many people are in them."""
TOLERANCE = 1e-4
"""Nats a held-out person by which a block has to raise the likelihood for EM to go on. By judgement: a larger number
leaves components alike, a smaller one takes steps that gain nothing."""
MOST_NUMBERED = 2.0**60
"""Combinations of report cells that fit in a signed number of 64 bits, by which equal combinations are counted
together; where there are more, every record stands by itself."""
LEAST_CHANCE = 1e-12
"""Added to the chance of a report in a component, so that a report that a component excludes leaves a mass above zero.
The product over `RESCALED` columns then stays within doubles, which the smaller numbers of `evidence` would leave."""
RESCALED = 16
"""Columns after which products are divided by the largest: LEAST_CHANCE to the power of 16 is 1e-192, and doubles hold
1e-308."""
AT_ONCE = 2_048
"""Records whose masses are computed together, 2,048 × 60 doubles or 1 MB, so that they stay in a processor's cache."""
Rows = npt.NDArray[np.int32]


class ProductMixtureFit:
    """One mixture of products in the course of its fit by EM.

    reports: with their classes. axes: of the columns in the mixture. resolution: how the columns are cut into cells.
    rng: chooses the people at whose posteriors components start. components: the most; a twentieth of the people if
    that is less. pseudo_count: Dirichlet pseudo-counts in every cell. by_class: whether the class is a column of the
    mixture; None: if the reports have classes.
    """

    def __init__(
        self, reports: Reports, axes: Sequence[Axis], resolution: Resolution, rng: np.random.Generator,
        components: int = COMPONENTS, pseudo_count: float = PSEUDO_COUNT, *, by_class: bool | None = None,
    ) -> None:
        self.reports = reports = reports.sampled()
        self.by_class = reports.classes is not None if by_class is None else by_class
        self.cells = tuple(resolution.cut(axis) for axis in axes)
        pairs = zip(axes, self.cells, strict=True)
        self.tables: list[Array] = [
            cut.table_with_missing(axis.column.has_missing).astype(np.float32) for axis, cut in pairs
        ]
        self.tables.append(self._label_table())
        self._through = [DenseTable(table, np.float32) for table in self.tables]
        self.train, self.weight = self._combinations(~TENTH)
        if not self.weight.size:  # a handful of people may all be held out
            self.train, self.weight = self._combinations(TENTH)
        self._start(rng, components, pseudo_count)

    def _label_table(self) -> Array:
        """Return P[reported class, true class]; a single entry where the class is no column of the mixture."""
        return (label_table_of(self.reports) if self.by_class else np.eye(1)).astype(np.float32)

    def _combinations(self, fold: Fold) -> tuple[Rows, Array]:
        """Return the combinations of report cells and class that occur in a fold, and how many people have each."""
        names = [cut.name for cut in self.cells]
        if np.prod([float(table.shape[0]) for table in self.tables]) < MOST_NUMBERED:
            occurring = self.reports.combinations(names, self.cells, by_class=self.by_class, fold=fold)
            counts = occurring.counts if self.by_class else occurring.counts[:, None]
            index, group = np.nonzero(counts)
            rows = np.column_stack([occurring.rows[index], group])
            return np.ascontiguousarray(rows, np.int32), counts[index, group].astype(np.float32)
        chosen = self.reports.chosen(fold)
        weight = self.reports.weights
        everyone = np.ones(len(self.reports), np.float32) if weight is None else weight.astype(np.float32)
        return np.ascontiguousarray(self.rows_of(chosen)), everyone[chosen]

    def rows_of(self, chosen: npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> Rows:
        """Return the report cells and, last, the reported class of some records, chosen by a mask or by indices."""
        columns = [self.reports.cells_of(cut.name, cut, cut.reported)[chosen] for cut in self.cells]
        codes = self.reports.class_codes if self.by_class else None
        group = np.zeros(len(self.reports), np.int64) if codes is None else codes
        return np.column_stack([*columns, group[chosen]]).astype(np.int32)

    def _start(self, rng: np.random.Generator, components: int, pseudo_count: float) -> None:
        """Start components at the posteriors P(true cell | report) of random people."""
        people = float(self.weight.sum(dtype=np.float64))
        components = int(min(components, max(2, people // PEOPLE_PER_COMPONENT)))
        self.pseudo_count = pseudo_count * min(1.0, people / components / FULL_COMPONENT)
        share = self.weight.astype(np.float64) / max(people, LEAST_PEOPLE)
        seeds = self.train[rng.choice(self.weight.size, components, p=share / share.sum())]
        self.prior = np.full(components, 1 / components, np.float32)
        self.thetas: list[Array] = []
        for j, table in enumerate(self.tables):
            posterior = table[seeds[:, j]] + np.float32(1e-3 / table.shape[1])
            self.thetas.append(posterior / posterior.sum(axis=1, keepdims=True))

    def p_report(self) -> Array:
        """Return P(w_j = s | z) as [column j, report cell s, component z], with zeros up to the largest table."""
        largest = max(table.shape[0] for table in self.tables)
        stacked = np.zeros((len(self.tables), largest, self.prior.size), np.float32)
        for j, (table, theta) in enumerate(zip(self.tables, self.thetas, strict=True)):
            stacked[j, : table.shape[0]] = table @ theta.T + LEAST_CHANCE
        return stacked

    def step(self) -> None:
        """Take one step of EM."""
        p_report = self.p_report()
        counts = np.zeros_like(p_report)
        mixture_step(self.train, self.weight, p_report, self.prior, counts)
        mass = counts[0].sum(axis=0) + np.float32(self.pseudo_count)
        self.prior = mass / mass.sum()
        for j, table in enumerate(self._through):
            self.thetas[j] = inner_steps(table, self.thetas[j], counts[j, : table.shape[0]].T, self.pseudo_count)

    def run(self) -> MixtureMember:
        """Fit until a block of steps raises the likelihood of held-out people by too little; return the mixture."""
        test, weight = self._combinations(TENTH)
        people = max(float(weight.sum(dtype=np.float64)), LEAST_PEOPLE)

        def block() -> float:
            """Take a block of steps; return the log-likelihood of a held-out person."""
            for _ in range(BLOCK):
                self.step()
            p_report = self.p_report()
            likelihood: float = mixture_step(test, weight, p_report, self.prior, np.zeros_like(p_report))
            return likelihood / people

        repeat(block, LikelihoodGain(nats=TOLERANCE, steps=1, limit=LIMIT // BLOCK))
        thetas = [theta.T for theta in self.thetas]
        return MixtureMember(self.cells, self.prior, thetas[-1], thetas[:-1])


def inner_steps(
    table: DenseTable, thetas: npt.NDArray[Any], counts: npt.NDArray[Any], pseudo_count: float, steps: int = INNER_STEPS
) -> npt.NDArray[Any]:
    """Return P(true cell | component) after a few EM steps from ``thetas``, one component a row.

    counts: of reports, [component, report cell].
    """
    evidence = Evidence.of_counts(table, np.ascontiguousarray(counts))
    smoothing = pseudo_count * table.shape[1]
    return maximise_likelihood(evidence, start=thetas, stop=Steps(steps), smoothing=smoothing).probabilities


def fit_mixtures(
    reports: Reports, axes: Sequence[Axis], rng: np.random.Generator, count: int, components: int = COMPONENTS,
    pseudo_count: float = PSEUDO_COUNT,
) -> list[MixtureMember]:
    """Fit ``count`` mixtures of products with different starts and cells."""
    cuts = [Resolution(RESOLUTION.cells - m, RESOLUTION.coarseness, shift_of(m)) for m in range(count)]
    return [ProductMixtureFit(reports, axes, cut, rng, components, pseudo_count).run() for cut in cuts]


class MixtureMember:
    """A fitted mixture of products over cells: P(y, x) = Σ_z π_z · P(y | z) · Π_j θ_j(x_j | z).

    cells: of each column. weights: π. p_class: P(class | z), one row a class. thetas: P(cell | z) of each column, one
    row a cell.
    """

    def __init__(self, cells: tuple[ColumnCells, ...], weights: Array, p_class: Array, thetas: list[Array]) -> None:
        self.cells, self.weights, self.p_class, self.thetas = cells, weights, p_class, thetas
        self.classes = int(p_class.shape[0])

    def joint_of_classes(self, cell_codes: list[Codes]) -> Floats:
        """Return P(y, x) of every record up to a factor of its own, one column a class.

        cell_codes: of each column the cell of every record; −1: missing, summed over.
        """
        blocks = (slice(start, start + AT_ONCE) for start in range(0, max(cell_codes[0].size, 1), AT_ONCE))
        return np.concatenate([self._joint_of([codes[block] for codes in cell_codes]) for block in blocks])

    def _joint_of(self, cell_codes: list[Codes]) -> Floats:
        """Return P(y, x) of a few records up to factors, one column a class: a block of `joint_of_classes`."""
        mass = np.repeat(self.weights[:, None].astype(np.float64), cell_codes[0].size, axis=1)
        for codes, theta in zip(cell_codes, self.thetas, strict=True):
            with_missing = np.vstack([theta, np.ones((1, theta.shape[1]), theta.dtype)])
            mass = rescale_columns(mass * with_missing.T[:, codes])
        p_class = self.p_class.T.astype(np.float64)
        return add_in_order(of_component[:, None] * share for of_component, share in zip(mass, p_class, strict=True))

    def sample_cells(self, n: int, rng: np.random.Generator) -> tuple[Codes, list[Codes]]:
        """Draw n records; return their class codes, and their cells by column."""
        component = draw_columns(self.weights[:, None], np.zeros(n, np.int64), rng)
        group = draw_columns(self.p_class, component, rng)
        return group, [draw_columns(theta, component, rng) for theta in self.thetas]

    def draws_given(
        self, reports: Reports, m: int, rng: np.random.Generator, *, with_class: bool = False
    ) -> list[npt.NDArray[Any]]:
        """Draw m records of true values x for each record w of reports:

            P(z | w) ∝ π_z · Π_j (C_j θ_j)(w_j | z),   P(x_j | w, z) ∝ C_j[w_j, x_j] · θ_j(x_j | z).

        z components, C_j the table of column j's channel, θ_j = P(x_j | z). A clear value is drawn as it is, a missing
        one from θ_j. Return one array a column of len(reports)·m values: the m draws of the first record, then those of
        the second. with_class: the draws are given the reported class too. A mixture that was read from a file has no
        tables for reports and raises ValueError.
        """
        rows, mass = self._component_masses(reports)
        if with_class:
            mass = rescale_columns(mass * (label_table_of(reports) @ self.p_class + LEAST_CHANCE)[reports.class_codes])
        component = draw_columns(mass.T, np.repeat(np.arange(len(reports)), m), rng)
        return [self._draws_of_column(j, reports, np.repeat(row, m), component, rng) for j, row in enumerate(rows)]

    def p_class_given(self, reports: Reports) -> Floats:
        """Return P(reported class | reports), one row a record."""
        _, mass = self._component_masses(reports)
        of_class = mass @ (label_table_of(reports) @ self.p_class).T
        return np.asarray(of_class / of_class.sum(axis=1, keepdims=True))

    def _component_masses(self, reports: Reports) -> tuple[list[Codes], Floats]:
        """Return (report cells of all records, by column; P(component | reports) up to a factor, one row a record)."""
        if not all(cut.table.size for cut in self.cells):
            raise ValueError("a mixture read from a file cannot read reports; fit one on reports")
        rows = [report_cells(reports, cut) for cut in self.cells]
        mass = np.repeat(self.weights[:, None].astype(np.float64), len(reports), axis=1)
        for cut, theta, row in zip(self.cells, self.thetas, rows, strict=True):
            mass = rescale_columns(mass * (cut.table_with_missing(True) @ theta + LEAST_CHANCE)[row].T)
        return rows, mass.T

    def _draws_of_column(
        self, j: int, reports: Reports, row: Codes, component: Codes, rng: np.random.Generator
    ) -> npt.NDArray[Any]:
        """Draw the true values of column j; row, component: the report cell and the component of each draw."""
        cut = self.cells[j]
        posterior = cut.table_with_missing(True)[row] * self.thetas[j].T[component]
        cumulative = np.cumsum(posterior, axis=1)
        cell = (cumulative < rng.random(row.size)[:, None] * cumulative[:, -1:]).sum(axis=1)
        drawn = cut.draw(np.minimum(cell, cut.size - 1), rng)
        if not cut.identity:
            return drawn
        clear = np.repeat(reports.values(cut.name), row.size // max(len(reports), 1))
        return np.where(row < cut.reported, clear, drawn)

    def to_dict(self) -> dict[str, Any]:
        """Return the mixture as plain data for JSON."""
        return {
            "form": "mixture", "cells": [cut.to_dict() for cut in self.cells], "weights": self.weights.tolist(),
            "p_class": self.p_class.tolist(), "thetas": [theta.tolist() for theta in self.thetas],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], columns: int, classes: int) -> Self:
        """Return the mixture of so many columns and classes that ``to_dict`` wrote."""
        cells = tuple(ColumnCells.from_dict(cut) for cut in given_rows(data, "cells", columns))
        if not cells:
            raise ValueError("a mixture needs at least one column")
        weights = given_numbers(data, "weights", (None,), 0.0).astype(np.float32)
        p_class = given_numbers(data, "p_class", (classes, weights.size), 0.0).astype(np.float32)
        thetas = [
            given_numbers({"thetas": theta}, "thetas", (cut.size, weights.size), 0.0).astype(np.float32)
            for cut, theta in zip(cells, given_rows(data, "thetas", columns), strict=True)
        ]
        return cls(cells, weights, p_class, thetas)


def report_cells(reports: Reports, cut: ColumnCells) -> Codes:
    """Return the report cell of every record of a column; a missing report has the cell after the last."""
    if not cut.identity:
        return np.asarray(reports.cells_of(cut.name, cut, cut.reported), np.int64)
    codes = cut.true_cells(reports.values(cut.name))
    return np.where(codes < 0, cut.reported, codes)


@njit(cache=True, fastmath=True)
def mixture_step(rows: Rows, weight: Array, p_report: Array, prior: Array, counts: Array) -> float:
    """Add P(z | w) of every person to counts[j, w_j, z], the E-step of a mixture of products; return log P(reports).

    rows: [i, j], the report cell of column j in combination i. weight: people who have each combination.
    p_report: [j, s, z], P(w_j = s | z). prior: P(z).
    """
    components = prior.size
    p = np.empty(components, np.float64)
    likelihood = 0.0
    for i in range(rows.shape[0]):
        for z in range(components):
            p[z] = prior[z]
        for j in range(rows.shape[1]):
            row = p_report[j, rows[i, j]]
            for z in range(components):
                p[z] *= row[z]
            if j % RESCALED == RESCALED - 1:
                largest = p.max()
                likelihood += weight[i] * np.log(largest)
                for z in range(components):
                    p[z] /= largest
        total = 0.0
        for z in range(components):
            total += p[z]
        likelihood += weight[i] * np.log(total)
        share = weight[i] / total
        for z in range(components):
            p[z] *= share
        for j in range(rows.shape[1]):
            row = counts[j, rows[i, j]]
            for z in range(components):
                row[z] += p[z]
    return likelihood
