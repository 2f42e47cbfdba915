"""A rule from reports: which columns it needs, at which resolution, and the form of its density.

Columns join the rule one by one, if cuts in them pay. One that depends on the rule's columns is modelled with them, so
that it is not cut for what it tells about another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.counts import Reports
from sfumato.domain import Codes, Floats
from sfumato.evidence import Axis, ColumnCells, Evidence, Resolution
from sfumato.evidence.fisher import STEPS
from sfumato.evidence.grids import squared_correlation
from sfumato.evidence.resolution import effective_dimension, shift_of, spread_of
from sfumato.learners.stiff_density import StiffDensity
from sfumato.learners.tree.rule.boxes import BoxTypes, Cuts, Groups, Parts, Rule
from sfumato.learners.tree.rule.moves import RuleMoves, RuleState

Detail = tuple[tuple[float, ...], tuple[float, ...]]
Pairs = tuple[tuple[int, int], ...]

DIMENSIONS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
"""Effective dimensions for which the rows below state a resolution; between them it is interpolated."""
SEARCH: Detail = (50.0, 19.0, 13.0, 10.0, 8.0, 6.0), (0.1, 0.5, 0.7, 0.9, 1.1, 1.3)
"""True cells of a column, and width of report cells in standard deviations of the noise, on which rules are searched.
By judgement; finer cells make every one of the many fits take longer, coarser ones hide a band."""
FINAL: Detail = (98.0, 29.0, 17.0, 11.0, 8.0, 6.0), (0.05, 0.25, 0.4, 0.6, 0.9, 1.1)
"""The same for the last fit of a rule that was found. By judgement; finer cells take longer and change little."""
SHIFT = 0.17
"""Cells by which inner edges are shifted, so that none is at a round part of the domain. By judgement."""
MOST_REPORT_CELLS = 40_000
"""Combinations of report cells and classes, at most. By judgement; more take longer, fewer lose what reports tell."""
STRONG = 0.1
"""Nats a person, if there were no noise, from which on the dependence of two columns is modelled. By judgement; less
may be the rule's own doing, with more columns are cut for what they tell about others."""
LEAK = 0.05
"""Part of the dependence of two columns that smooth products may leave unexplained. By judgement; with less a rule may
cut a column for that part."""
MOST_DIMENSIONS = 3.5
"""Effective dimensions of a rule's columns, at most. By judgement; more take long, on cells too coarse for a cut."""
MOST_FLIPS = 500
"""Changes of single boxes' types that a search compares. By judgement; nobody reads a rule of so many boxes, and the
time grows with the third power."""
WHOLE_NUMBERS = 25
"""Whole numbers of a column up to which each is an atom that no cut divides. By judgement; where there are more, a cut
between two of them is as well placed as any."""
PAIR_TERMS = 3
"""Cosines of each of two dependent columns that are multiplied: 9 products. By judgement; more cost more numbers."""
TERMS = (0, 2, 4)
"""Cosines of a column that are tried in the place of more. By judgement; few, because each trial is a fit."""


@dataclass(frozen=True)
class RuleForm:
    """Some columns in cells, and the form of their density.

    columns: their indices among all columns. evidence: their reports.
    terms: how many cosines the density has of each column; None: as many as `StiffDensity` has by itself.
    pairs: columns that depend on each other, by their order here.
    """

    columns: tuple[int, ...]
    evidence: Evidence
    terms: tuple[int, ...] | None = None
    pairs: Pairs = ()

    @property
    def cells(self) -> tuple[ColumnCells, ...]:
        """The cells of the columns."""
        return self.evidence.cells

    def density(self) -> StiffDensity:
        """Return the density of this form, whose coefficients are to be fitted."""
        clear = [clear_shares(self.evidence, j) if cut.identity else None for j, cut in enumerate(self.cells)]
        return StiffDensity(self.cells, self.terms, clear, dict.fromkeys(self.pairs, PAIR_TERMS))

    def moves(self) -> RuleMoves:
        """Return the search for rules over these columns and this density."""
        return RuleMoves(self.evidence, self.density())

    def parts(self) -> list[Parts]:
        """Return the parts of each column before it has a cut: a single one."""
        return [uncut(cut) for cut in self.cells]


@dataclass(frozen=True)
class FittedRule:
    """A fitted rule, with the form of its columns and density, and the moves that led to it."""

    form: RuleForm
    moves: RuleMoves
    state: RuleState


def clear_shares(evidence: Evidence, j: int) -> Floats:
    """Return what part of the people is in each cell of a clear column."""
    counts = evidence.in_cells
    of_column = counts.sum(axis=tuple(k for k in range(counts.ndim) if k != j))[: evidence.cells[j].size]
    return np.asarray(of_column / max(float(of_column.sum()), 1.0), np.float64)


def uncut(cut: ColumnCells) -> Parts:
    """Return the parts of a column without a cut: of cells that stay whole, or of a range that may be cut anywhere.

    Cells stay whole of labels, of clear columns, and of few whole numbers.
    """
    if cut.edges is None or cut.identity or (cut.integer and cut.edges[-1] - cut.edges[0] <= WHOLE_NUMBERS):
        return Groups(np.zeros(cut.size, np.int64), cut.labels is None)
    return Cuts((cut.edges - cut.edges[0]) / (cut.edges[-1] - cut.edges[0]), np.zeros(0))


def form_of(
    reports: Reports, axes: Sequence[Axis], columns: tuple[int, ...], classes: int, detail: Detail = SEARCH,
    member: int = 0,
) -> RuleForm:
    """Return the form of some columns, cut as finely as so many of them allow.

    axes: all columns. columns: which of them. detail: true cells of a column and widths of report cells, for each of
    the DIMENSIONS. member: of an average of several forms, whose cells differ.
    """
    chosen = [axes[j] for j in columns]
    dimension = effective_dimension(chosen)
    cells, coarseness = (float(np.interp(dimension, DIMENSIONS, row)) for row in detail)
    size = round(cells * spread_of(member))
    resolution = Resolution(size + (size % 3 == 0), coarseness, shift_of(member) if member else SHIFT)
    resolution = resolution.coarsened(chosen, MOST_REPORT_CELLS // max(classes, 2))
    return RuleForm(columns, Evidence.of_columns(reports, chosen, resolution, dtype=np.float64))


@dataclass(frozen=True)
class ExtendedRule:
    """A rule over one more column, in which it has no cut yet.

    gain: nats that the best cut in the new column is expected to gain.
    superfluous: whether the other columns tell all that the new one tells.
    """

    gain: float
    fitted: FittedRule
    superfluous: bool = False


class RuleSearch:
    """The search for a rule, to which columns join one by one.

    reports: with classes. axes: all columns.
    """

    def __init__(self, reports: Reports, axes: Sequence[Axis]) -> None:
        self.reports, self.axes, self.classes = reports, axes, len(reports.classes or ())

    def find(self, chosen: Sequence[int]) -> FittedRule:
        """Find a rule in these columns, on cells that are coarse enough to search in. chosen: the columns to try."""
        fitted = self.one_leaf()
        left = list(chosen)
        while left:
            extended = {j: self.extended(fitted, j) for j in left}
            best = max(left, key=lambda j: extended[j].gain)
            if extended[best].gain <= 0:
                break
            fitted = extended[best].fitted
            fitted = replace(fitted, state=fitted.moves.run(fitted.state))
            left = [j for j in left if j != best and not extended[j].superfluous]
        return self.trimmed(fitted)

    def search_again(self, fitted: FittedRule) -> FittedRule:
        """Search on from the rule with one cut less; return the rule itself if nothing better follows."""
        state = fitted.moves.run_again(fitted.state)
        return fitted if state is fitted.state else replace(fitted, state=state)

    def one_leaf(self) -> FittedRule:
        """Return the fitted rule without columns, whose only leaf has the classes' shares."""
        counts = np.asarray(self.reports.counts(), np.float64)
        form = form_of(self.reports, self.axes, (), self.classes)
        moves = form.moves()
        return FittedRule(form, moves, moves.fit(Rule.nothing([], counts / counts.sum(), 0)))

    def extended(self, fitted: FittedRule, j: int) -> ExtendedRule:
        """Return the rule with one more column, j, and what a cut there is expected to gain.

        The dependence of the column on those of the rule is modelled where it is strong.

        Where there would be too many boxes or dimensions, the rule stays as it is, with a gain of −∞.
        """
        form = form_of(self.reports, self.axes, (*fitted.form.columns, j), self.classes)
        rule = fitted.state.rule
        crowded = 2 * rule.types.size * (len(rule.logits) - 1) > MOST_FLIPS  # once cut along the new column
        if crowded or effective_dimension([self.axes[k] for k in form.columns]) > MOST_DIMENSIONS:
            return ExtendedRule(-np.inf, fitted)
        form = replace(form, pairs=fitted.form.pairs)
        extended = on_form(fitted, form)
        pairs = [(i, len(form.columns) - 1) for i in range(len(fitted.form.columns))]
        gains = {pair: gain_of_pair(extended, pair) for pair in pairs}
        least = {pair: STRONG * np.prod([squared_correlation(form.cells[k]) for k in pair]) for pair in pairs}
        dependent = [pair for pair, gain in gains.items() if gain > least[pair] * form.evidence.total]
        if dependent:
            extended = on_form(fitted, replace(form, pairs=(*form.pairs, *dependent)))
        cuts = extended.moves.grown(extended.state, [len(form.columns) - 1])
        gain = max((candidate.gain for candidate in cuts), default=0.0)
        gain -= LEAK * sum(gains[pair] for pair in dependent)
        return ExtendedRule(gain, extended, bool(dependent) and gain < 0)

    def trimmed(self, fitted: FittedRule) -> FittedRule:
        """Return the rule without the columns that have no cuts, and without terms of the density that do not pay."""
        kept = [j for j, part in enumerate(fitted.state.rule.parts) if part.parts > 1]
        fitted = self.restricted(fitted, kept, SEARCH) if len(kept) < len(fitted.form.columns) else fitted
        fitted = self.stiffer(fitted)
        return replace(fitted, state=fitted.moves.run(fitted.state))

    def fit_finely(self, fitted: FittedRule) -> FittedRule:
        """Fit all numbers of a rule again, on fine cells."""
        return self.restricted(fitted, list(range(len(fitted.form.columns))), FINAL)

    def restricted(self, fitted: FittedRule, kept: list[int], detail: Detail) -> FittedRule:
        """Return the rule over some of its columns alone, in other cells.

        kept: the columns, by their order in the rule; the others have no cuts. detail: see `form_of`.
        """
        order = {j: i for i, j in enumerate(kept)}
        old, rule = fitted.form, fitted.state.rule
        form = form_of(self.reports, self.axes, tuple(old.columns[j] for j in kept), self.classes, detail)
        pairs = tuple((order[i], order[j]) for i, j in old.pairs if i in order and j in order)
        gone = tuple(j for j in range(len(rule.parts)) if j not in order)
        rule = replace(rule, parts=tuple(rule.parts[j] for j in kept), types=rule.types.squeeze(gone))
        terms = None if old.terms is None else tuple(old.terms[j] for j in kept)
        cells = tuple(old.cells[j] for j in kept)
        return on_form(fitted, replace(form, pairs=pairs, terms=terms), rule, cells)

    def stiffer(self, fitted: FittedRule) -> FittedRule:
        """Return the rule with as few cosines and products of cosines in its density as pay for themselves."""
        fitted = on_form(fitted, replace(fitted.form, terms=tuple(fitted.moves.density.terms)))
        for pair in fitted.form.pairs:
            others = tuple(other for other in fitted.form.pairs if other != pair)
            fitted = max(fitted, on_form(fitted, replace(fitted.form, pairs=others)), key=score_of)
        for j, cut in enumerate(fitted.form.cells):
            terms = fitted.moves.density.terms
            if cut.labels is None:
                fewer = [(*terms[:j], count, *terms[j + 1 :]) for count in TERMS if count < terms[j]]
                forms = [replace(fitted.form, terms=stiff) for stiff in fewer]
                fitted = max([fitted, *(on_form(fitted, form) for form in forms)], key=score_of)
        return fitted


def score_of(fitted: FittedRule) -> float:
    """Return the score of a fitted rule in nats, by which rules are compared (see `moves`)."""
    return fitted.state.score


def gain_of_pair(fitted: FittedRule, pair: tuple[int, int]) -> float:
    """Return the nats that products of two columns' cosines in the density are expected to gain, less their price.

    pair: the columns, by their order in the rule.
    """
    around = fitted.moves.surroundings(fitted.state)
    basis = StiffDensity(fitted.form.cells, (0,) * len(fitted.form.columns), None, {pair: PAIR_TERMS})
    fields = basis.basis()[basis.column.size :]
    if not len(fields):  # a column of one cell has no cosines
        return 0.0
    fields = (fields[:, None] * around.at.joint.reshape(-1, *basis.shape)).reshape(len(fields), -1)
    score, gram = around.slopes(fields)
    gain = 0.5 * float(score @ np.linalg.lstsq(gram, score, rcond=1e-9)[0])
    return float(gain - fitted.moves.number_price * len(fields))


def on_form(
    fitted: FittedRule, form: RuleForm, rule: Rule | None = None, cells: Sequence[ColumnCells] | None = None
) -> FittedRule:
    """Fit a rule, and its density afresh, on another form: the same columns in other cells, and perhaps more columns.

    rule, cells: the rule, and the cells of which its parts are made; None: those of ``fitted``.
    """
    rule = fitted.state.rule if rule is None else rule
    parts, types = on_other_cells(rule, fitted.form.cells if cells is None else cells, form)
    moves = form.moves()
    rule = replace(rule, parts=parts, types=types, density=np.zeros(moves.density.size))
    return FittedRule(form, moves, moves.fit(rule, STEPS))


def on_other_cells(rule: Rule, cells: Sequence[ColumnCells], form: RuleForm) -> tuple[tuple[Parts, ...], BoxTypes]:
    """Return the parts of a rule in the cells of another form, and the types of its boxes there.

    cells: those of which the rule's parts are made. form: with the rule's columns first, and perhaps more.
    """
    fresh = list(form.parts())
    types = rule.types.reshape(rule.types.shape + (1,) * (len(fresh) - rule.types.ndim))
    for j, (part, old) in enumerate(zip(rule.parts, cells, strict=True)):
        fresh[j], kept = carried(part, old, fresh[j], form.cells[j])
        types = np.take(types, kept, j)
    return tuple(fresh), types


def carried(part: Parts, old: ColumnCells, new: Parts, cut: ColumnCells) -> tuple[Parts, Codes]:
    """Return a column's parts in other cells, and which of them are still there: coarser cells may hide one.

    part, old: the parts and their cells. new, cut: the column without a cut in the new cells, and those cells.
    """
    if isinstance(part, Cuts) or old.edges is None or cut.edges is None:
        return (new.moved(part.places) if isinstance(part, Cuts) else part), np.arange(part.parts)
    middle = (cut.edges[1:] + cut.edges[:-1]) / 2
    kept, of_cell = np.unique(part.of_cell[old.true_cells(middle)], return_inverse=True)
    return Groups(of_cell, part.ordered), kept
