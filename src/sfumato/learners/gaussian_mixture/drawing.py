"""What lies behind reports by a fitted gaussian mixture: their classes, and draws of the true records.

    P(z | w) ∝ π_z · N(w; μ_z, Σ_z + S) · Π_j (C_j θ_j)(w_j | z),    times L[y', y_z] where the class is given,
    x | w, z  ~  N(μ_z + G(w − μ_z), Σ_z − GΣ_z),  G = Σ_z(Σ_z + S)⁻¹;    x_j | w_j, z  ∝  C_j[w_j, x_j]·θ_j(x_j | z).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.counts import Reports
from sfumato.domain import Codes, Floats, Interval
from sfumato.evidence import DenseTable
from sfumato.learners.gaussian_mixture.fit import Parameters, View, log_sum
from sfumato.learners.gaussian_mixture.records import Columns, Records, records_of
from sfumato.learners.probabilities import draw_columns


def p_class_given(parameters: Parameters, records: Records, label_table: Floats) -> Floats:
    """P(reported class | reports), one row a person."""
    tables = tables_of(records.columns)
    blind, found = np.ones_like(label_table), np.empty((len(records.values), len(label_table)))
    for block in records.blocks():
        view = View(parameters, tables, block, blind)
        for part in block.chunks():
            logs = view.logs(part)[0]
            found[part.rows] = (label_table[:, parameters.classes[view.components]] @ np.exp(logs - log_sum(logs))).T
    return found


def tables_of(columns: Columns) -> list[DenseTable]:
    return [DenseTable(cut.table_with_missing(True)) for cut in columns.cells]


def draws_given(
    parameters: Parameters, reports: Reports, columns: Columns, label_table: Floats | None, m: int,
    rng: np.random.Generator,
) -> list[npt.NDArray[Any]]:
    """m draws behind each record of reports, one array a column; without a label table whatever the class."""
    records = records_of(reports, columns)
    blind = np.ones((parameters.groups, parameters.groups)) if label_table is None else label_table
    tables = tables_of(columns)
    numbers = np.empty((len(records.values), m, len(columns.numbers)))
    codes = np.empty((len(records.values), m, len(columns.categories)), np.int64)
    for block in records.blocks():
        view = View(parameters, tables, block, blind)
        logs, away = view.logs(block)
        shares = np.exp(logs - log_sum(logs))
        component = draw_columns(shares, np.repeat(np.arange(block.rows.size), m), rng).reshape(-1, m)
        numbers[block.rows] = drawn_numbers(parameters, view, away, component, rng)
        for j, table in enumerate(tables):
            theta = parameters.thetas[j][view.components][component.ravel()]
            likely = table.dense()[np.repeat(block.codes[:, j], m)] * theta
            codes[block.rows, :, j] = draw_columns(likely.T, np.arange(len(likely)), rng).reshape(-1, m)
    return [drawn_column(j, reports, columns, numbers, codes, rng) for j in range(len(reports.names))]


def drawn_numbers(
    parameters: Parameters, view: View, away: Floats, component: Codes, rng: np.random.Generator
) -> Floats:
    """Numbers in the units of `Columns`, of components that were drawn for each person and draw."""
    gain = view.gain()
    left = view.covariances - gain @ np.swapaxes(view.covariances[:, :, view.observed], 1, 2)
    values, vectors = np.linalg.eigh(left)
    root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    found = rng.standard_normal((*component.shape, parameters.means.shape[1]))
    for z in np.unique(component):
        person, draw = np.nonzero(component == z)
        middle = parameters.means[view.components[z]] + away[z, person] @ gain[z].T
        found[person, draw] = middle + found[person, draw] @ root[z].T
    return found


def drawn_column(
    j: int, reports: Reports, columns: Columns, numbers: Floats, codes: Codes, rng: np.random.Generator
) -> npt.NDArray[Any]:
    """A column of draws in its own units; a clear value that is known stays as it is."""
    name = reports.names[j]
    channel, m = reports.channels[name], numbers.shape[1]
    if j in columns.categories:
        place = columns.categories.index(j)
        drawn = columns.cells[place].draw(codes[:, :, place].ravel(), rng)
    else:
        place = columns.numbers.index(j)
        drawn = columns.centre[place] + columns.scale[place] * numbers[:, :, place].ravel()
        domain = None if channel is None else channel.domain
        if isinstance(domain, Interval):
            drawn = np.clip(np.rint(drawn) if domain.integer else drawn, domain.low, domain.high)
    if channel is not None:
        return drawn
    given = np.repeat(reports.values(name), m)
    known = given == given if given.dtype.kind == "f" else np.array([value is not None for value in given])
    return np.where(known, given, drawn)


