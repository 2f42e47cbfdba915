"""Classes and draws of true values that go with reports, by a fitted gaussian mixture.

    P(z | w) ∝ π_z · N(w; μ_z, Σ_z + S) · Π_j (C_j θ_j)(w_j | z),    times L[y', y_z] where the class is given,
    x | w, z  ~  N(μ_z + G(w − μ_z), Σ_z − GΣ_z),  G = Σ_z(Σ_z + S)⁻¹;    P(x_j | w_j, z) ∝ C_j[w_j, x_j]·θ_j(x_j | z)

z components, w reports, S the variances of their noise, C_j the table of a category's channel, L that of the class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.counts import Reports
from sfumato.domain import Codes, Floats, Interval
from sfumato.evidence import DenseTable
from sfumato.learners.gaussian_mixture.fit import BlockComponents, Parameters, log_sum
from sfumato.learners.gaussian_mixture.records import Columns, Records, records_of
from sfumato.learners.probabilities import draw_columns


def p_class_given(parameters: Parameters, records: Records, label_table: Floats) -> Floats:
    """Return P(reported class | reports of the columns), one row a person.

    label_table: P[reported class, true class].
    """
    tables = tables_of(records.columns)
    blind, p_class = np.ones_like(label_table), np.empty((len(records.values), len(label_table)))
    for block in records.blocks():
        view = BlockComponents(parameters, tables, block, blind)
        for part in block.chunks():
            logs = view.logs(part)[0]
            p_class[part.rows] = (label_table[:, parameters.classes[view.components]] @ np.exp(logs - log_sum(logs))).T
    return p_class


def tables_of(columns: Columns) -> list[DenseTable]:
    """Return P[report, label] of each category, with a last row for missing reports."""
    return [DenseTable(cut.table_with_missing(True)) for cut in columns.cells]


def draws_given(
    parameters: Parameters, reports: Reports, columns: Columns, label_table: Floats | None, m: int,
    rng: np.random.Generator,
) -> list[npt.NDArray[Any]]:
    """Draw m records of true values for each of the reports; return one array a column, m draws of a record together.

    label_table: P[reported class, true class], for draws given the reported class; None: given the columns alone.
    """
    records = records_of(reports, columns)
    blind = np.ones((parameters.groups, parameters.groups)) if label_table is None else label_table
    tables = tables_of(columns)
    numbers = np.empty((len(records.values), m, len(columns.numbers)))
    codes = np.empty((len(records.values), m, len(columns.categories)), np.int64)
    for block in records.blocks():
        view = BlockComponents(parameters, tables, block, blind)
        logs, away = view.logs(block)
        shares = np.exp(logs - log_sum(logs))
        component = draw_columns(shares, np.repeat(np.arange(block.rows.size), m), rng).reshape(-1, m)
        numbers[block.rows] = draw_numbers(parameters, view, away, component, rng)
        for j, table in enumerate(tables):
            theta = parameters.thetas[j][view.components][component.ravel()]
            likely = table.dense()[np.repeat(block.codes[:, j], m)] * theta
            codes[block.rows, :, j] = draw_columns(likely.T, np.arange(len(likely)), rng).reshape(-1, m)
    return [drawn_column(j, reports, columns, numbers, codes, rng) for j in range(len(reports.names))]


def draw_numbers(
    parameters: Parameters, view: BlockComponents, away: Floats, component: Codes, rng: np.random.Generator
) -> Floats:
    """Draw the true numbers of a block's people, [person, draw, column], in the units of `Columns`.

    away: w − μ_z, [component, person, observed column]. component: the component of each draw, [person, draw].
    """
    gain = view.gain()
    left = view.covariances - gain @ np.swapaxes(view.covariances[:, :, view.observed], 1, 2)
    values, vectors = np.linalg.eigh(left)
    root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    numbers = rng.standard_normal((*component.shape, parameters.means.shape[1]))
    for z in np.unique(component):
        person, draw = np.nonzero(component == z)
        middle = parameters.means[view.components[z]] + away[z, person] @ gain[z].T
        numbers[person, draw] = middle + numbers[person, draw] @ root[z].T
    return numbers


def drawn_column(
    j: int, reports: Reports, columns: Columns, numbers: Floats, codes: Codes, rng: np.random.Generator
) -> npt.NDArray[Any]:
    """Return the draws of column j in its own units; a clear value that was answered stays as it is.

    numbers: draws of the columns of numbers, [person, draw, number]. codes: draws of categories, [person, draw,
    category].
    """
    name = reports.names[j]
    channel, m = reports.channels[name], numbers.shape[1]
    if j in columns.categories:
        k = columns.categories.index(j)
        drawn = columns.cells[k].draw(codes[:, :, k].ravel(), rng)
    else:
        k = columns.numbers.index(j)
        drawn = columns.centre[k] + columns.scale[k] * numbers[:, :, k].ravel()
        domain = None if channel is None else channel.domain
        if isinstance(domain, Interval):
            drawn = np.clip(np.rint(drawn) if domain.integer else drawn, domain.low, domain.high)
    if channel is not None:
        return drawn
    clear = np.repeat(reports.values(name), m)
    answered = clear == clear if clear.dtype.kind == "f" else np.array([value is not None for value in clear])
    return np.where(answered, clear, drawn)


