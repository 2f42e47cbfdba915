"""A rule as a labelled product of cuts: each column is cut into parts, and every box of parts has one of a few types.

    joint(t, y) = g(t) · w_y · Σ_boxes Π_j M_j[part, t_j] · p[type(box), y]

M_j says what part of a cell lies in a part of its column: a cut inside a cell splits it in proportion, so that the
likelihood is continuous in the cut. w_y are the weights with which classes were sampled; p sums to one in each type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.domain import Codes, Floats
from sfumato.learners.stiff_density import StiffDensity

Labels = NDArray[np.int64]
LOGIT_STEP, CUT_STEP, WEIGHT_STEP, DENSITY_STEP = 2.5, 0.08, 1.0, 1.0
LOGIT_RIDGE, WEIGHT_RIDGE = 0.02, 0.02
CUT_PRIOR = 12.0  # 1 / variance of a cut that may be anywhere
NEAR = 0.4  # cells between two cuts that are taken for one


@dataclass(frozen=True)
class Cuts:
    """Parts between cuts anywhere in a column whose cells lie between edges (all from 0 to 1)."""

    edges: Floats
    places: Floats

    @property
    def parts(self) -> int:
        return int(self.places.size) + 1

    @property
    def price(self) -> float:
        """What it costs to say which cells are together."""
        return 0.0

    @cached_property
    def membership(self) -> Floats:
        """M[part, cell]."""
        ends = np.concatenate([[-np.inf], self.places, [np.inf]])
        low, high = np.maximum(self.edges[:-1], ends[:-1, None]), np.minimum(self.edges[1:], ends[1:, None])
        return np.asarray(np.maximum(high - low, 0.0) / np.diff(self.edges))

    def split_cells(self) -> Codes:
        """The cell that each cut splits: M[part below, cell] changes by one cell's width with the cut's place."""
        return np.searchsorted(self.edges[1:-1], self.places, side="right")

    def moved(self, places: Floats) -> Cuts:
        return Cuts(self.edges, places)

    def refined(self, inside: NDArray[np.bool_]) -> tuple[Cuts, Codes, NDArray[np.bool_]]:
        """With a cut at each end of the cells that are inside: the cuts, the old part of each new one, which are in."""
        ends = self.edges[np.flatnonzero(np.diff(np.concatenate([[0], inside, [0]])))]
        ends = ends[(ends > 0) & (ends < 1)]
        near = NEAR / (self.edges.size - 1)
        fresh = [end for end in ends if not (np.abs(self.places - end) < near).any()]
        places = np.sort(np.concatenate([self.places, fresh]))
        middle = (np.concatenate([[0.0], places]) + np.concatenate([places, [1.0]])) / 2
        cell = np.clip(np.searchsorted(self.edges, middle, side="right") - 1, 0, inside.size - 1)
        return Cuts(self.edges, places), np.searchsorted(self.places, middle), inside[cell]

    def without(self, part: int) -> Cuts:
        """One cut less: that above a part."""
        return Cuts(self.edges, np.delete(self.places, part))


@dataclass(frozen=True)
class Groups:
    """Parts that are sets of cells: whole numbers, clear values and labels are never split."""

    of_cell: Codes
    ordered: bool

    @property
    def parts(self) -> int:
        return int(self.of_cell.max()) + 1

    @property
    def price(self) -> float:
        """log of the number of choices: of places to cut, or of a part for each label."""
        return float((self.parts - 1 if self.ordered else self.of_cell.size / 2) * np.log(self.choices))

    @property
    def choices(self) -> int:
        return int(self.of_cell.size) if self.ordered else self.parts

    @cached_property
    def membership(self) -> Floats:
        return np.asarray(self.of_cell == np.arange(self.parts)[:, None], np.float64)

    @property
    def places(self) -> Floats:
        return np.zeros(0)

    def moved(self, places: Floats) -> Groups:
        return self

    def refined(self, inside: NDArray[np.bool_]) -> tuple[Groups, Codes, NDArray[np.bool_]]:
        if self.ordered:
            change = (np.diff(self.of_cell) != 0) | (np.diff(inside.astype(int)) != 0)
            new = np.concatenate([[0], np.cumsum(change)])
        else:
            new = np.unique(2 * self.of_cell + inside, return_inverse=True)[1]
        first = np.array([np.flatnonzero(new == part)[0] for part in range(new.max() + 1)])
        return Groups(new, self.ordered), self.of_cell[first], inside[first]

    def without(self, part: int) -> Groups:
        return Groups(self.of_cell - (self.of_cell > part), self.ordered)


Parts = Cuts | Groups


@dataclass(frozen=True)
class Rule:
    """Parts of every column, the type of each box, class shares of types (logits), class weights, the density."""

    parts: tuple[Parts, ...]
    types: Labels
    logits: Floats
    weights: Floats
    density: Floats

    @classmethod
    def nothing(cls, parts: Sequence[Parts], shares: Floats, density: int) -> Rule:
        """No cut: one type, with the classes' shares."""
        logits = np.log(np.maximum(shares, 1e-9))[None]
        types = np.zeros((1,) * len(parts), np.int64)
        return cls(tuple(parts), types, logits - logits.mean(), np.zeros(shares.size), np.zeros(density))

    @property
    def p_class(self) -> Floats:
        """P(y | type), before the weights."""
        e = np.exp(self.logits - self.logits.max(axis=1, keepdims=True))
        return np.asarray(e / e.sum(axis=1, keepdims=True))

    @property
    def theta(self) -> Floats:
        places = [part.places for part in self.parts]
        return np.concatenate([self.weights, self.logits.ravel(), *places, self.density])

    def at(self, theta: Floats) -> Rule:
        """The same structure with other numbers."""
        sizes = [self.weights.size, self.logits.size, *(part.places.size for part in self.parts)]
        weights, logits, *rest = np.split(theta, np.cumsum(sizes))
        parts = tuple(part.moved(places) for part, places in zip(self.parts, rest[:-1], strict=True))
        return Rule(parts, self.types, logits.reshape(self.logits.shape), weights, rest[-1])

    @property
    def key(self) -> tuple[bytes, ...]:
        """Equal for rules that are the same to the last digit."""
        groups = (part.of_cell for part in self.parts if isinstance(part, Groups))
        return (*(one.tobytes() for one in (np.array(self.types.shape), self.types, self.theta, *groups)),)

    def compact(self) -> Rule:
        """Without types that no box has, and without cuts between parts that are the same."""
        used, types = np.unique(self.types, return_inverse=True)
        rule = replace(self, types=types.reshape(self.types.shape), logits=self.logits[used])
        for j in range(len(self.parts)):
            for part in range(rule.types.shape[j] - 2, -1, -1):
                if (np.take(rule.types, part, j) == np.take(rule.types, part + 1, j)).all():
                    rule = rule.without(j, part, part)
        return rule

    def without(self, column: int, part: int, gone: int) -> Rule:
        """A part joined with the next, the types of `gone` (one of the two) being lost."""
        parts = list(self.parts)
        parts[column] = parts[column].without(part)
        return replace(self, parts=tuple(parts), types=np.delete(self.types, gone, column))


class BoxFamily:
    """The model of a rule's structure over a grid of cells: what `fit_family` fits."""

    def __init__(self, rule: Rule, density: StiffDensity) -> None:
        self.rule, self.density = rule, density
        classes, kinds = rule.weights.size, rule.logits.size
        cuts = sum(part.places.size for part in rule.parts)
        sizes = (classes, kinds, cuts, density.size)
        self.limits = np.repeat([WEIGHT_STEP, LOGIT_STEP, CUT_STEP, DENSITY_STEP], sizes)
        self.ridge = np.concatenate([
            np.full(classes, WEIGHT_RIDGE), np.full(kinds, LOGIT_RIDGE), np.zeros(cuts), density.ridge
        ])
        self.prior = np.where(np.repeat(np.arange(4) == 2, sizes), CUT_PRIOR, self.ridge)
        self.numbers = classes + kinds + cuts
        """How many of the parameters are the rule's own."""

    def joint(self, theta: Floats) -> Floats:
        rule = self.rule.at(theta)
        if any((np.diff(np.concatenate([[0.0], part.places, [1.0]])) <= 0).any() for part in rule.parts):
            return np.full(rule.weights.size * int(np.prod(self.density.shape)), np.nan)  # no such rule
        return joint_of(rule, self.density).ravel()

    def fields(self, theta: Floats) -> Floats:
        rule = self.rule.at(theta)
        classes, cells = rule.weights.size, self.density.shape
        p = rule.p_class
        base = people_of(rule, self.density)
        share = spread(np.eye(len(p))[rule.types], rule.parts)  # what part of each cell is of each type
        joint = base * np.tensordot(p.T, share, 1)
        of_weights = np.eye(classes).reshape(classes, classes, *(1,) * len(cells)) * joint
        change = p[:, :, None] * (np.eye(classes) - p[:, None, :])  # ∂p[type, y]/∂logit[type, z], as [type, z, y]
        shape = (len(p), classes, classes, *(1,) * len(cells))
        of_types = change.reshape(shape) * share[:, None, None] * base
        of_cuts = [self._of_cuts(rule, base, j) for j in range(len(cells))]
        of_density = self.density.basis()[:, None] * joint
        parts = [of_weights, of_types.reshape(-1, classes, *cells), *of_cuts, of_density]
        return np.concatenate([part.reshape(len(part), joint.size) for part in parts])

    def _of_cuts(self, rule: Rule, base: Floats, j: int) -> Floats:
        """A cut's field: in the cell that it splits, by how much the part below differs from that above."""
        part = rule.parts[j]
        found = np.zeros((part.places.size, *base.shape))
        if isinstance(part, Cuts) and part.places.size:
            along = [np.eye(part.parts) if k == j else each.membership for k, each in enumerate(rule.parts)]
            apart = -np.moveaxis(np.diff(spread(rule.p_class[rule.types], along), axis=1 + j), 1 + j, 0)
            cells = part.split_cells()
            widths = np.diff(part.edges)[cells].reshape(-1, *(1,) * (base.ndim - 1))
            field = np.moveaxis(found, 2 + j, 1)  # [cut, t_j, the others]
            field[np.arange(cells.size), cells] = apart * np.moveaxis(base, 1 + j, 0)[cells] / widths
        return found


def people_of(rule: Rule, density: StiffDensity) -> Floats:
    """g(t)·w_y as [y, t₁..t_D]."""
    log = density.log(rule.density)
    g = np.exp(log - log.max())
    return np.asarray(np.exp(rule.weights).reshape(-1, *(1,) * len(density.shape)) * g)


def joint_of(rule: Rule, density: StiffDensity) -> Floats:
    """joint(t, y) as [y, t₁..t_D], up to a factor."""
    return people_of(rule, density) * spread(rule.p_class[rule.types], rule.parts)


def people_in_boxes(rule: Rule, density: StiffDensity) -> Floats:
    """The people of each class in every box, as [y, parts₁..parts_D], up to a factor."""
    found = people_of(rule, density)
    for part in rule.parts:  # takes the first axis of cells and puts its parts last
        found = np.tensordot(found, part.membership, axes=(1, 1))
    return np.asarray(found * np.moveaxis(rule.p_class[rule.types], -1, 0))


def spread(values: Floats, parts: Sequence[Parts | Floats]) -> Floats:
    """Values of boxes [parts₁..parts_D, v] over cells, as [v, t₁..t_D]."""
    found = np.moveaxis(values, -1, 0)
    for part in parts:  # takes the first axis of boxes and puts its cells last
        table = part if isinstance(part, np.ndarray) else part.membership
        found = np.tensordot(found, table, axes=(1, 0))
    return np.asarray(found)
