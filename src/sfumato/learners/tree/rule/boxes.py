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

BoxTypes = NDArray[np.int64]
LOGIT_STEP = 2.5
"""Change of a logit in one step of Fisher scoring, at most. By judgement; longer steps overshoot where a share is near
0 or 1, shorter ones are more."""
CUT_STEP = 0.08
"""Movement of a cut in one step, at most, in widths of its column. By judgement; a longer step leaves the cell whose
slope it follows."""
LOG_STEP = 1.0
"""Change of the logarithm of a class weight, and of a coefficient of the log density, in one step at most: e times the
people. By judgement, as for logits."""
RIDGE = 0.02
"""Precision, 1/variance, of a logit and of the logarithm of a class weight beforehand: a standard deviation of 7. By
judgement; it keeps pure types finite, and a larger one draws their shares away from 0 and 1."""
CUT_PRIOR = 12.0
"""Precision, 1/variance, of a cut that may be anywhere in its column: the variance of an even distribution over [0, 1]
is 1/12."""
NEAR = 0.4
"""Cells between two cuts that are taken for one. By judgement; with fewer, parts arise that reports hardly show."""


@dataclass(frozen=True)
class Cuts:
    """Parts of a column that cuts anywhere in it divide.

    edges: of the column's cells, from 0 to 1. places: of the cuts on the same scale, in order.
    """

    edges: Floats
    places: Floats

    @property
    def parts(self) -> int:
        """How many parts there are."""
        return int(self.places.size) + 1

    @property
    def price(self) -> float:
        """The price in nats of saying which cells are together: none, for the places of cuts are fitted numbers."""
        return 0.0

    @cached_property
    def membership(self) -> Floats:
        """M[part, cell]: what part of each cell lies in each part."""
        ends = np.concatenate([[-np.inf], self.places, [np.inf]])
        low, high = np.maximum(self.edges[:-1], ends[:-1, None]), np.minimum(self.edges[1:], ends[1:, None])
        return np.asarray(np.maximum(high - low, 0.0) / np.diff(self.edges))

    def split_cells(self) -> Codes:
        """Return the index of the cell in which each cut lies."""
        return np.searchsorted(self.edges[1:-1], self.places, side="right")

    def moved(self, places: Floats) -> Cuts:
        """Return the parts with the cuts at other places."""
        return Cuts(self.edges, places)

    def refined(self, inside: NDArray[np.bool_]) -> tuple[Cuts, Codes, NDArray[np.bool_]]:
        """Add a cut at each end of the runs of cells that are ``inside``, unless there is one nearby.

        Return the cuts; of each new part, the old part in which it lies; and whether it is inside.
        """
        ends = self.edges[np.flatnonzero(np.diff(np.concatenate([[0], inside, [0]])))]
        ends = ends[(ends > 0) & (ends < 1)]
        near = NEAR / (self.edges.size - 1)
        fresh = [end for end in ends if not (np.abs(self.places - end) < near).any()]
        places = np.sort(np.concatenate([self.places, fresh]))
        middle = (np.concatenate([[0.0], places]) + np.concatenate([places, [1.0]])) / 2
        cell = np.clip(np.searchsorted(self.edges, middle, side="right") - 1, 0, inside.size - 1)
        return Cuts(self.edges, places), np.searchsorted(self.places, middle), inside[cell]

    def without(self, part: int) -> Cuts:
        """Return the parts without the cut above a part, which is joined with the next."""
        return Cuts(self.edges, np.delete(self.places, part))


@dataclass(frozen=True)
class Groups:
    """Parts of a column that are sets of whole cells: for whole numbers, clear values and labels.

    of_cell: the part of each cell. ordered: whether cells have an order, so that parts are runs of them.
    """

    of_cell: Codes
    ordered: bool

    @property
    def parts(self) -> int:
        """How many parts there are."""
        return int(self.of_cell.max()) + 1

    @property
    def price(self) -> float:
        """The price in nats of saying which cells are together: the logarithm of the number of choices."""
        return float((self.parts - 1 if self.ordered else self.of_cell.size / 2) * np.log(self.choices))

    @property
    def choices(self) -> int:
        """How many places a cut may have; of labels, how many parts a label may belong to."""
        return int(self.of_cell.size) if self.ordered else self.parts

    @cached_property
    def membership(self) -> Floats:
        """M[part, cell]: 1 for the cells of a part, else 0."""
        return np.asarray(self.of_cell == np.arange(self.parts)[:, None], np.float64)

    @property
    def places(self) -> Floats:
        """The places of cuts that are fitted: none, for cells stay whole."""
        return np.zeros(0)

    def moved(self, places: Floats) -> Groups:
        """Return the same parts, which have no places."""
        return self

    def refined(self, inside: NDArray[np.bool_]) -> tuple[Groups, Codes, NDArray[np.bool_]]:
        """Divide the parts so that each is inside the cells that are ``inside``, or outside.

        Return the parts; of each, the old part in which it lies; and whether it is inside.
        """
        if self.ordered:
            change = (np.diff(self.of_cell) != 0) | (np.diff(inside.astype(int)) != 0)
            new = np.concatenate([[0], np.cumsum(change)])
        else:
            new = np.unique(2 * self.of_cell + inside, return_inverse=True)[1]
        first = np.array([np.flatnonzero(new == part)[0] for part in range(new.max() + 1)])
        return Groups(new, self.ordered), self.of_cell[first], inside[first]

    def without(self, part: int) -> Groups:
        """Return the parts with one of them joined with the next."""
        return Groups(self.of_cell - (self.of_cell > part), self.ordered)


Parts = Cuts | Groups


@dataclass(frozen=True)
class Rule:
    """A rule: the parts of every column, the type of each box of parts, and the numbers that are fitted.

    parts: one for each column. types: of each box, [part of the first column, …].
    logits: [type, class], whose softmax is P(y | type). weights: the logarithm of w_y, one a class.
    density: the coefficients of the log density.
    """

    parts: tuple[Parts, ...]
    types: BoxTypes
    logits: Floats
    weights: Floats
    density: Floats

    @classmethod
    def nothing(cls, parts: Sequence[Parts], shares: Floats, density: int) -> Rule:
        """Return the rule without cuts: a single type, with the classes' shares.

        density: how many coefficients the log density has; they are zero.
        """
        logits = np.log(np.maximum(shares, 1e-9))[None]
        types = np.zeros((1,) * len(parts), np.int64)
        return cls(tuple(parts), types, logits - logits.mean(), np.zeros(shares.size), np.zeros(density))

    @property
    def p_class(self) -> Floats:
        """P(y | type) as [type, class], without the weights."""
        e = np.exp(self.logits - self.logits.max(axis=1, keepdims=True))
        return np.asarray(e / e.sum(axis=1, keepdims=True))

    @property
    def theta(self) -> Floats:
        """All numbers that are fitted: weights, logits row by row, places of cuts, and those of the density."""
        places = [part.places for part in self.parts]
        return np.concatenate([self.weights, self.logits.ravel(), *places, self.density])

    def at(self, theta: Floats) -> Rule:
        """Return the rule with the same boxes and types and other values of its fitted numbers (see `theta`)."""
        sizes = [self.weights.size, self.logits.size, *(part.places.size for part in self.parts)]
        weights, logits, *places, density = np.split(theta, np.cumsum(sizes))
        parts = tuple(part.moved(place) for part, place in zip(self.parts, places, strict=True))
        return Rule(parts, self.types, logits.reshape(self.logits.shape), weights, density)

    @property
    def key(self) -> tuple[bytes, ...]:
        """Bytes that are equal for rules which are the same to the last digit."""
        groups = (part.of_cell for part in self.parts if isinstance(part, Groups))
        return (*(array.tobytes() for array in (np.array(self.types.shape), self.types, self.theta, *groups)),)

    def compact(self) -> Rule:
        """Return the rule without types that no box has, and without cuts between parts that are the same."""
        used, types = np.unique(self.types, return_inverse=True)
        rule = replace(self, types=types.reshape(self.types.shape), logits=self.logits[used])
        for j in range(len(self.parts)):
            for part in range(rule.types.shape[j] - 2, -1, -1):
                if (np.take(rule.types, part, j) == np.take(rule.types, part + 1, j)).all():
                    rule = rule.without(j, part, part)
        return rule

    def without(self, column: int, part: int, gone: int) -> Rule:
        """Return the rule with a part of a column joined with the next.

        gone: which of the two parts loses its types.
        """
        parts = list(self.parts)
        parts[column] = parts[column].without(part)
        return replace(self, parts=tuple(parts), types=np.delete(self.types, gone, column))


class BoxFamily:
    """The rules of one structure, P(y, t) over the cells of its columns, as `fit_family` fits them.

    Its parameters θ are those of `Rule.theta`.
    """

    def __init__(self, rule: Rule, density: StiffDensity) -> None:
        self.rule, self.density = rule, density
        classes, logits = rule.weights.size, rule.logits.size
        cuts = sum(part.places.size for part in rule.parts)
        sizes = (classes, logits, cuts, density.size)
        self.limits = np.repeat([LOG_STEP, LOGIT_STEP, CUT_STEP, LOG_STEP], sizes)
        self.ridge = np.concatenate([np.full(classes + logits, RIDGE), np.zeros(cuts), density.ridge])
        self.prior = np.where(np.repeat(np.arange(4) == 2, sizes), CUT_PRIOR, self.ridge)
        """Precision of each parameter beforehand, by which a rule is priced: the ridge, and that of a cut anywhere."""
        self.numbers = classes + logits + cuts
        """How many of the parameters are the rule's own and not the density's."""

    def joint(self, theta: Floats) -> Floats:
        """Return P(y, t) up to a factor, flat; NaN where the cuts are not in order or not inside their column."""
        rule = self.rule.at(theta)
        if any((np.diff(np.concatenate([[0.0], part.places, [1.0]])) <= 0).any() for part in rule.parts):
            return np.full(rule.weights.size * int(np.prod(self.density.shape)), np.nan)
        return joint_of(rule, self.density).ravel()

    def fields(self, theta: Floats) -> Floats:
        """Return ∂joint/∂θ, one row a parameter."""
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
        """Return ∂joint/∂place of each cut in column j.

        It is zero but in the cell that the cut splits: by how much the part below the cut differs from that above.
        base: g(t)·w_y.
        """
        part = rule.parts[j]
        fields = np.zeros((part.places.size, *base.shape))
        if isinstance(part, Cuts) and part.places.size:
            along = [np.eye(part.parts) if k == j else each.membership for k, each in enumerate(rule.parts)]
            apart = -np.moveaxis(np.diff(spread(rule.p_class[rule.types], along), axis=1 + j), 1 + j, 0)
            cells = part.split_cells()
            widths = np.diff(part.edges)[cells].reshape(-1, *(1,) * (base.ndim - 1))
            by_cell = np.moveaxis(fields, 2 + j, 1)  # [cut, t_j, the others]
            by_cell[np.arange(cells.size), cells] = apart * np.moveaxis(base, 1 + j, 0)[cells] / widths
        return fields


def people_of(rule: Rule, density: StiffDensity) -> Floats:
    """Return the density of true cells times the weight of each class, g(t)·w_y as [y, t₁..t_D], up to a factor."""
    log = density.log(rule.density)
    g = np.exp(log - log.max())
    return np.asarray(np.exp(rule.weights).reshape(-1, *(1,) * len(density.shape)) * g)


def joint_of(rule: Rule, density: StiffDensity) -> Floats:
    """Return the joint distribution of class and true cells, [y, t₁..t_D], up to a factor."""
    return people_of(rule, density) * spread(rule.p_class[rule.types], rule.parts)


def people_in_boxes(rule: Rule, density: StiffDensity) -> Floats:
    """Return the people of each class in every box, [y, parts₁..parts_D], up to a factor."""
    people = people_of(rule, density)
    for part in rule.parts:  # takes the first axis of cells and puts its parts last
        people = np.tensordot(people, part.membership, axes=(1, 1))
    return np.asarray(people * np.moveaxis(rule.p_class[rule.types], -1, 0))


def spread(values: Floats, parts: Sequence[Parts | Floats]) -> Floats:
    """Carry values of boxes [parts₁..parts_D, v] over to cells, [v, t₁..t_D]: means by what part of a cell is in which.

    parts: of each column, or M[part, cell] itself.
    """
    of_cells = np.moveaxis(values, -1, 0)
    for part in parts:  # takes the first axis of boxes and puts its cells last
        table = part if isinstance(part, np.ndarray) else part.membership
        of_cells = np.tensordot(of_cells, table, axes=(1, 0))
    return np.asarray(of_cells)
