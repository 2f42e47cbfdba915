"""Mixture of products, for more columns than a grid can hold:

    P(w, y') = Σ_z π_z · (L η)(y' | z) · Π_j (C_j θ_j)(w_j | z),

the class being one more column with the label's table. EM with a few inner steps through each table, Dirichlet
pseudo-counts, components started from the posteriors of random people, stopped on the likelihood of held-out reports.
Linear in the combinations of reports that occur, and in columns.
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
from sfumato.evidence.held_out import TENTH
from sfumato.evidence.resolution import shift_of
from sfumato.evidence.tables import Array
from sfumato.learners.classes import label_table_of
from sfumato.learners.probabilities import added, draw_columns, rescaled

RESOLUTION = Resolution(24, 0.25)
COMPONENTS = 60
PSEUDO_COUNT = 0.2
FULL_COMPONENT = 250.0
"""Components with fewer people than this get fewer pseudo-counts in proportion."""
INNER_STEPS = 3
BLOCK = 10
LIMIT = 200
TOLERANCE = 1e-4
MOST_NUMBERED = 2.0**60  # combinations of cells
TINY = np.float32(1e-12)
RESCALED = 16
"""After so many columns products are divided by the largest: each column leaves at least TINY, doubles hold 1e-308."""
AT_ONCE = 2_048  # records whose masses stay in the cache
Rows = npt.NDArray[np.int32]


class ProductMixtureFit:
    """The EM of one mixture."""

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
        self.train, self.weight = self._occurring(~TENTH)
        if not self.weight.size:  # a handful of people may all be held out
            self.train, self.weight = self._occurring(TENTH)
        self._start(rng, components, pseudo_count)

    def _label_table(self) -> Array:
        return (label_table_of(self.reports) if self.by_class else np.eye(1)).astype(np.float32)

    def _occurring(self, fold: Fold) -> tuple[Rows, Array]:
        """The combinations of report cells and class that occur among the people of a fold, with their weights."""
        names = [cut.name for cut in self.cells]
        if np.prod([float(table.shape[0]) for table in self.tables]) < MOST_NUMBERED:
            found = self.reports.combinations(names, self.cells, by_class=self.by_class, fold=fold)
            counts = found.counts if self.by_class else found.counts[:, None]
            place, group = np.nonzero(counts)
            rows = np.column_stack([found.rows[place], group])
            return np.ascontiguousarray(rows, np.int32), counts[place, group].astype(np.float32)
        chosen = self.reports.chosen(fold)
        weight = self.reports.weights
        everyone = np.ones(len(self.reports), np.float32) if weight is None else weight.astype(np.float32)
        return np.ascontiguousarray(self.rows_of(chosen)), everyone[chosen]

    def rows_of(self, chosen: npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> Rows:
        """The report cells and the class of each of these records."""
        columns = [self.reports.cells_of(cut.name, cut, cut.reported)[chosen] for cut in self.cells]
        codes = self.reports.class_codes if self.by_class else None
        group = np.zeros(len(self.reports), np.int64) if codes is None else codes
        return np.column_stack([*columns, group[chosen]]).astype(np.int32)

    def _start(self, rng: np.random.Generator, components: int, pseudo_count: float) -> None:
        """Components at the posteriors of random people."""
        people = float(self.weight.sum(dtype=np.float64))
        components = int(min(components, max(2, people // 20)))
        self.pseudo_count = pseudo_count * min(1.0, people / components / FULL_COMPONENT)
        share = self.weight.astype(np.float64) / max(people, 1e-12)
        seeds = self.train[rng.choice(self.weight.size, components, p=share / share.sum())]
        self.prior = np.full(components, 1 / components, np.float32)
        self.thetas: list[Array] = []
        for j, table in enumerate(self.tables):
            posterior = table[seeds[:, j]] + np.float32(1e-3 / table.shape[1])
            self.thetas.append(posterior / posterior.sum(axis=1, keepdims=True))

    def p_report(self) -> Array:
        """P(w_j = s | z), padded to the largest table."""
        largest = max(table.shape[0] for table in self.tables)
        stacked = np.zeros((len(self.tables), largest, self.prior.size), np.float32)
        for j, (table, theta) in enumerate(zip(self.tables, self.thetas, strict=True)):
            stacked[j, : table.shape[0]] = table @ theta.T + TINY
        return stacked

    def step(self) -> None:
        p_report = self.p_report()
        counts = np.zeros_like(p_report)
        mixture_step(self.train, self.weight, p_report, self.prior, counts)
        mass = counts[0].sum(axis=0) + np.float32(self.pseudo_count)
        self.prior = mass / mass.sum()
        for j, table in enumerate(self._through):
            self.thetas[j] = inner_steps(table, self.thetas[j], counts[j, : table.shape[0]].T, self.pseudo_count)

    def run(self) -> MixtureMember:
        """Fit until the likelihood of held-out people gains less than a tolerance in a block of steps."""
        test, weight = self._occurring(TENTH)
        people = max(float(weight.sum(dtype=np.float64)), 1e-12)

        def block() -> float:
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
    """θ(· | z) after a few EM steps from each component's counts of reports, one component a row."""
    evidence = Evidence.of_counts(table, np.ascontiguousarray(counts))
    smoothing = pseudo_count * table.shape[1]
    return maximise_likelihood(evidence, start=thetas, stop=Steps(steps), smoothing=smoothing).probabilities


def fit_mixtures(
    reports: Reports, axes: Sequence[Axis], rng: np.random.Generator, count: int, components: int = COMPONENTS,
    pseudo_count: float = PSEUDO_COUNT,
) -> list[MixtureMember]:
    """Mixtures that are started and cut differently."""
    cuts = [Resolution(RESOLUTION.cells - m, RESOLUTION.coarseness, shift_of(m)) for m in range(count)]
    return [ProductMixtureFit(reports, axes, cut, rng, components, pseudo_count).run() for cut in cuts]


class MixtureMember:
    """P(y, x) = Σ_z π_z · P(y | z) · Π_j θ_j(x_j | z)."""

    def __init__(self, cells: tuple[ColumnCells, ...], weights: Array, p_class: Array, thetas: list[Array]) -> None:
        self.cells, self.weights, self.p_class, self.thetas = cells, weights, p_class, thetas
        self.classes = int(p_class.shape[0])

    def joint_of_classes(self, places: list[Codes]) -> Floats:
        blocks = (slice(start, start + AT_ONCE) for start in range(0, max(places[0].size, 1), AT_ONCE))
        return np.concatenate([self._joint_of([place[some] for place in places]) for some in blocks])

    def _joint_of(self, places: list[Codes]) -> Floats:
        mass = np.repeat(self.weights[:, None].astype(np.float64), places[0].size, axis=1)
        for place, theta in zip(places, self.thetas, strict=True):
            known = np.vstack([theta, np.ones((1, theta.shape[1]), theta.dtype)])
            mass = rescaled(mass * known.T[:, place])
        p_class = self.p_class.T.astype(np.float64)
        return added(one[:, None] * share for one, share in zip(mass, p_class, strict=True))

    def sample_cells(self, n: int, rng: np.random.Generator) -> tuple[Codes, list[Codes]]:
        component = draw_columns(self.weights[:, None], np.zeros(n, np.int64), rng)
        group = draw_columns(self.p_class, component, rng)
        return group, [draw_columns(theta, component, rng) for theta in self.thetas]

    def draws_given(
        self, reports: Reports, m: int, rng: np.random.Generator, *, with_class: bool = False
    ) -> list[npt.NDArray[Any]]:
        """m draws of the true record behind each record of reports, whatever its class or given that too:

            P(z | w) ∝ π_z · Π_j (C_j θ_j)(w_j | z),   P(x_j | w, z) ∝ C_j[w_j, x_j] · θ_j(x_j | z).

        One array a column, in the order of the cells, of len(reports)·m values: the m draws of the first record, then
        those of the second. A clear value is drawn as it is, a missing one from P(x_j | z). A member read from a file
        has no tables to read reports with.
        """
        rows, mass = self._told(reports)
        if with_class:
            mass = rescaled(mass * (label_table_of(reports) @ self.p_class + TINY)[reports.class_codes])
        component = draw_columns(mass.T, np.repeat(np.arange(len(reports)), m), rng)
        return [self._draws_of_column(j, reports, np.repeat(row, m), component, rng) for j, row in enumerate(rows)]

    def p_class_given(self, reports: Reports) -> Floats:
        """P(reported class | reports), one row a record."""
        _, mass = self._told(reports)
        found = mass @ (label_table_of(reports) @ self.p_class).T
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def _told(self, reports: Reports) -> tuple[list[Codes], Floats]:
        """The cell of every report by column, and P(z | w) up to a factor, one row a record."""
        if not all(cut.table.size for cut in self.cells):
            raise ValueError("a mixture read from a file cannot read reports; fit one on reports")
        rows = [report_cells(reports, cut) for cut in self.cells]
        mass = np.repeat(self.weights[:, None].astype(np.float64), len(reports), axis=1)
        for cut, theta, row in zip(self.cells, self.thetas, rows, strict=True):
            mass = rescaled(mass * (cut.table_with_missing(True) @ theta + TINY)[row].T)
        return rows, mass.T

    def _draws_of_column(
        self, j: int, reports: Reports, row: Codes, component: Codes, rng: np.random.Generator
    ) -> npt.NDArray[Any]:
        cut = self.cells[j]
        posterior = cut.table_with_missing(True)[row] * self.thetas[j].T[component]
        below = np.cumsum(posterior, axis=1)
        place = (below < rng.random(row.size)[:, None] * below[:, -1:]).sum(axis=1)
        drawn = cut.draw(np.minimum(place, cut.size - 1), rng)
        if not cut.identity:
            return drawn
        given = np.repeat(reports.values(cut.name), row.size // max(len(reports), 1))
        return np.where(row < cut.reported, given, drawn)

    def to_dict(self) -> dict[str, Any]:
        return {
            "form": "mixture", "cells": [cut.to_dict() for cut in self.cells], "weights": self.weights.tolist(),
            "p_class": self.p_class.tolist(), "thetas": [theta.tolist() for theta in self.thetas],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], columns: int, classes: int) -> Self:
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
    """The cell of every report, the last for none; codes of clear values are those of their own table."""
    if not cut.identity:
        return np.asarray(reports.cells_of(cut.name, cut, cut.reported), np.int64)
    known = cut.true_cells(reports.values(cut.name))
    return np.where(known < 0, cut.reported, known)


@njit(cache=True, fastmath=True)
def mixture_step(rows: Rows, weight: Array, p_report: Array, prior: Array, counts: Array) -> float:
    """E-step of a mixture of products: adds P(z | w) to counts[j, w_j, z]; returns the log-likelihood.

    p_report[j, s, z] = P(w_j = s | z); rows[i, j] is the report cell of combination i, which has weight[i] people.
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
