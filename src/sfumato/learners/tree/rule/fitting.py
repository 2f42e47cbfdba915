"""A rule from reports: which columns it needs, at which resolution, and the tree that it reads as.

Columns are selected on held-out reports, as for the joint model, and join the rule one by one, if cuts in them pay. One
that depends on the rule's columns is modelled with them, so that it is not cut for what it tells about another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sfumato.counts import Reports
from sfumato.domain import Codes, Floats
from sfumato.learners.joint.given import told_part
from sfumato.learners.joint.grid import GridProblem, Resolution, effective_dimension, shift_of, spread_of
from sfumato.learners.likelihood import Density, Observed
from sfumato.learners.tree.rule.boxes import Cuts, Groups, Labels, Parts, Rule
from sfumato.learners.tree.rule.search import FINAL_STEPS, Search, State
from sfumato.reconstruction import Axis, ColumnCells

DIMENSIONS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
SEARCH = (50.0, 19.0, 13.0, 10.0, 8.0, 6.0), (0.1, 0.5, 0.7, 0.9, 1.1, 1.3)
FINAL = (98.0, 29.0, 17.0, 11.0, 8.0, 6.0), (0.05, 0.25, 0.4, 0.6, 0.9, 1.1)
"""True cells of a column, and the width of report cells in noise deviations, for so many dimensions."""
SHIFT = 0.17
MOST_REPORT_CELLS = 40_000
STRONG = 0.1  # nats a person, if there were no noise, from which on the dependence of two columns is modelled; less
# may be the rule's own
LEAK = 0.05  # part of the dependence of two columns that smooth products may leave unexplained
MOST_DIMENSIONS = 3.5
MOST_FLIPS = 500  # other types of boxes that a search compares: nobody reads a rule of so many boxes, and none is cheap
WHOLE_NUMBERS = 25  # up to here each whole number is an atom that no cut divides
PAIR_TERMS = 3
TERMS = (0, 2, 4)
Chosen = tuple[int, ...]
Steps = tuple[float, ...]
Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Ground:
    """Some columns at one resolution, with the form of their density."""

    columns: Chosen
    problem: GridProblem
    terms: tuple[int, ...] | None = None
    pairs: Pairs = ()

    @property
    def cells(self) -> tuple[ColumnCells, ...]:
        return self.problem.cells

    @cached_property
    def observed(self) -> Observed:
        return Observed.of(self.problem)

    def formed(self, *, terms: tuple[int, ...] | None = None, pairs: Pairs | None = None) -> Ground:
        """The same cells with another form of the density."""
        other = replace(self, terms=terms or self.terms, pairs=self.pairs if pairs is None else pairs)
        other.__dict__["observed"] = self.observed  # counted once
        return other

    def density(self) -> Density:
        clear = [shares_of(self.problem, j) if cut.identity else None for j, cut in enumerate(self.cells)]
        return Density(self.cells, self.terms, clear, dict.fromkeys(self.pairs, PAIR_TERMS))

    def search(self) -> Search:
        return Search(self.observed, self.density())

    def parts(self) -> list[Parts]:
        """No cut in any column."""
        return [uncut(cut) for cut in self.cells]


@dataclass(frozen=True)
class Found:
    """A rule with the ground that it was found on."""

    ground: Ground
    search: Search
    state: State


def shares_of(problem: GridProblem, j: int) -> Floats:
    """What part of the people is in each cell of a clear column."""
    cut = problem.cells[j]
    counts = problem.reports.ask([problem.reports.counting([cut.name], [cut], by_class=False)])[0]
    return np.asarray(counts[: cut.size] / max(float(counts[: cut.size].sum()), 1.0), np.float64)


def uncut(cut: ColumnCells) -> Parts:
    """One part: of cells that stay whole, or of a range that may be cut anywhere, whatever the cells of the moment."""
    if cut.edges is None or cut.identity or (cut.integer and cut.edges[-1] - cut.edges[0] <= WHOLE_NUMBERS):
        return Groups(np.zeros(cut.size, np.int64), cut.labels is None)
    return Cuts((cut.edges - cut.edges[0]) / (cut.edges[-1] - cut.edges[0]), np.zeros(0))


def ground_of(
    reports: Reports, axes: Sequence[Axis], columns: Chosen, classes: int, detail: tuple[Steps, Steps] = SEARCH,
    member: int = 0,
) -> Ground:
    """Columns at the resolution for so many of them; further members have other cells."""
    chosen = [axes[j] for j in columns]
    dimension = effective_dimension(chosen)
    cells, coarseness = (float(np.interp(dimension, DIMENSIONS, steps)) for steps in detail)
    size = round(cells * spread_of(member))
    resolution = Resolution(size + (size % 3 == 0), coarseness, shift_of(member) if member else SHIFT)
    resolution = resolution.coarsened(chosen, MOST_REPORT_CELLS // max(classes, 2))
    return Ground(columns, GridProblem.of(reports, chosen, resolution, dtype=np.float64))


@dataclass(frozen=True)
class Joined:
    """A rule with one more column, what the best cut in it is expected to gain, and whether the others tell it all."""

    gain: float
    found: Found
    superfluous: bool = False


class RuleSearch:
    """Columns join one by one."""

    def __init__(self, reports: Reports, axes: Sequence[Axis]) -> None:
        self.reports, self.axes, self.classes = reports, axes, len(reports.classes or ())

    def find(self, chosen: Sequence[int]) -> Found:
        """A rule on cells that are coarse enough to search in."""
        found = self.nothing()
        left = list(chosen)
        while left:
            judged = {j: self.joined(found, j) for j in left}
            best = max(left, key=lambda j: judged[j].gain)
            if judged[best].gain <= 0:
                break
            extended = judged[best].found
            found = replace(extended, state=extended.search.run(extended.state))
            left = [j for j in left if j != best and not judged[j].superfluous]
        return self.trimmed(found)

    def again(self, found: Found) -> Found:
        """What the search finds when it goes on after a cut was taken away; the same rule if nothing better."""
        state = found.search.run_again(found.state)
        return found if state is found.state else replace(found, state=state)

    def class_shares(self) -> Floats:
        counts = np.asarray(self.reports.counts(), np.float64)
        return np.asarray(counts / counts.sum())

    def nothing(self) -> Found:
        """One leaf with the classes' shares."""
        ground = ground_of(self.reports, self.axes, (), self.classes)
        search = ground.search()
        return Found(ground, search, search.fitted(Rule.nothing([], self.class_shares(), 0)))

    def joined(self, found: Found, j: int) -> Joined:
        """The rule so far with one more column."""
        ground = ground_of(self.reports, self.axes, (*found.ground.columns, j), self.classes)
        rule = found.state.rule
        crowded = 2 * rule.types.size * (len(rule.logits) - 1) > MOST_FLIPS  # once cut along the new column
        if crowded or effective_dimension([self.axes[k] for k in ground.columns]) > MOST_DIMENSIONS:
            return Joined(-np.inf, found)
        ground = ground.formed(pairs=found.ground.pairs)
        extended = moved(found, ground)
        pairs = [(i, len(ground.columns) - 1) for i in range(len(found.ground.columns))]
        gains = {pair: gain_of_pair(extended, pair) for pair in pairs}
        least = {pair: STRONG * np.prod([told_part(ground.cells[k]) for k in pair]) for pair in pairs}
        dependent = [pair for pair, gain in gains.items() if gain > least[pair] * found.search.observed.total]
        if dependent:
            extended = moved(found, ground.formed(pairs=(*ground.pairs, *dependent)))
        found_cuts = extended.search.grown(extended.state, [len(ground.columns) - 1])
        gain = max((candidate.gain for candidate in found_cuts), default=0.0)
        gain -= LEAK * sum(gains[pair] for pair in dependent)
        return Joined(gain, extended, bool(dependent) and gain < 0)

    def trimmed(self, found: Found) -> Found:
        """With the columns that have cuts alone, and no more terms in the density than pay."""
        kept = [j for j, part in enumerate(found.state.rule.parts) if part.parts > 1]
        found = self.restricted(found, kept, SEARCH) if len(kept) < len(found.ground.columns) else found
        found = self.stiffer(found)
        return replace(found, state=found.search.run(found.state))

    def finished(self, found: Found) -> Found:
        """All numbers fitted on fine cells."""
        return self.restricted(found, list(range(len(found.ground.columns))), FINAL)

    def restricted(self, found: Found, kept: list[int], detail: tuple[Steps, Steps]) -> Found:
        """With some of its columns alone, in this detail."""
        place = {j: i for i, j in enumerate(kept)}
        ground = ground_of(self.reports, self.axes, tuple(found.ground.columns[j] for j in kept), self.classes, detail)
        pairs = tuple((place[i], place[j]) for i, j in found.ground.pairs if i in place and j in place)
        rule = found.state.rule
        gone = tuple(j for j in range(len(rule.parts)) if j not in place)
        rule = replace(rule, parts=tuple(rule.parts[j] for j in kept), types=rule.types.squeeze(gone))
        cells = tuple(found.ground.cells[j] for j in kept)
        terms = None if found.ground.terms is None else tuple(found.ground.terms[j] for j in kept)
        return moved(found, ground.formed(pairs=pairs, terms=terms), rule, cells)

    def stiffer(self, found: Found) -> Found:
        """The density with as few cosines and products as pay for themselves."""
        found = moved(found, found.ground.formed(terms=tuple(found.search.density.terms)))
        for pair in found.ground.pairs:
            others = tuple(other for other in found.ground.pairs if other != pair)
            found = max(found, moved(found, found.ground.formed(pairs=others)), key=score_of)
        for j, cut in enumerate(found.ground.cells):
            terms = found.search.density.terms
            if cut.labels is None:
                fewer = [(*terms[:j], count, *terms[j + 1 :]) for count in TERMS if count < terms[j]]
                found = max([found, *(moved(found, found.ground.formed(terms=each)) for each in fewer)], key=score_of)
        return found


def score_of(found: Found) -> float:
    return found.state.score


def gain_of_pair(found: Found, pair: tuple[int, int]) -> float:
    """How much products of two columns' cosines are expected to raise the likelihood, less what they cost."""
    around = found.search.surroundings(found.state)
    basis = Density(found.ground.cells, (0,) * len(found.ground.columns), None, {pair: PAIR_TERMS})
    fields = basis.basis()[basis.column.size :]
    if not len(fields):  # a column of one cell goes with nothing
        return 0.0
    fields = (fields[:, None] * around.at.joint.reshape(-1, *basis.shape)).reshape(len(fields), -1)
    score, gram = around.slopes(fields)
    gain = 0.5 * float(score @ np.linalg.lstsq(gram, score, rcond=1e-9)[0])
    return float(gain - found.search.unit * len(fields))


def moved(found: Found, ground: Ground, rule: Rule | None = None, cells: Sequence[ColumnCells] | None = None) -> Found:
    """A rule on another ground, whose columns are those it had and perhaps more; its density is fitted afresh."""
    rule = found.state.rule if rule is None else rule
    cells = found.ground.cells if cells is None else cells
    parts, types = on_other_cells(rule, cells, ground)
    search = ground.search()
    rule = replace(rule, parts=parts, types=types, density=np.zeros(search.density.size))
    return Found(ground, search, search.fitted(rule, FINAL_STEPS))


def on_other_cells(rule: Rule, cells: Sequence[ColumnCells], ground: Ground) -> tuple[tuple[Parts, ...], Labels]:
    """The parts of a rule on a ground that may have more columns, and the types of its boxes there."""
    fresh = list(ground.parts())
    types = rule.types.reshape(rule.types.shape + (1,) * (len(fresh) - rule.types.ndim))
    for j, (part, old) in enumerate(zip(rule.parts, cells, strict=True)):
        fresh[j], kept = carried(part, old, fresh[j], ground.cells[j])
        types = np.take(types, kept, j)
    return tuple(fresh), types


def carried(part: Parts, old: ColumnCells, new: Parts, cut: ColumnCells) -> tuple[Parts, Codes]:
    """The same parts in other cells, and which of them are still there: coarser cells may hide one."""
    if isinstance(part, Cuts) or old.edges is None or cut.edges is None:
        return (new.moved(part.places) if isinstance(part, Cuts) else part), np.arange(part.parts)
    middle = (cut.edges[1:] + cut.edges[:-1]) / 2
    kept, of_cell = np.unique(part.of_cell[old.true_cells(middle)], return_inverse=True)
    return Groups(of_cell, part.ordered), kept
