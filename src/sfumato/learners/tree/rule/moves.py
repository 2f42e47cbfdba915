"""The search for a rule: which boxes, cuts and types the reports pay for.

    score = log-likelihood − ½·log |information of cuts, types and weights / prior| − ½·log n · (numbers of the density)
            − 2 · splits of the smallest tree

The second term is Laplace's: a cut that reports can hardly place has few places to choose from, and costs little.
Moves: a cut or a band of cells inside a leaf gets another type, old or new; boxes are relabelled; a cut is dropped;
two types become one. Candidates are judged by the quadratic expansion of the likelihood after projecting out all
current parameters, the best of them refitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.domain import Codes, Floats
from sfumato.evidence import Evidence, Expansion, JointPoint, fit_family
from sfumato.learners.stiff_density import StiffDensity
from sfumato.learners.tree.rule.boxes import CUT_PRIOR, NEAR, BoxFamily, BoxTypes, Cuts, Parts, Rule, people_of
from sfumato.learners.tree.rule.partition import BoxNode, smallest_tree

NODE_PRICE = 2.0
"""Nats of each split of the smallest tree. By judgement; a larger price makes smaller trees."""
TYPE_PRICE = 15.0
"""Nats of each type beyond the number of classes: leaves that say "perhaps" have to be clearly shown. By judgement;
with a smaller price trees get leaves of shares in between that the noise alone explains."""
REFITTED = (5, 12)
"""Candidates that are fitted in each round, the most promising ones; and how many where none of these raises the score.
By judgement; more take longer, fewer end a search early."""
SCREENING_STEPS = 8
"""Steps of Fisher scoring by which candidates are compared, which start near their end. By judgement; fewer misjudge
them, more take longer."""
LEAST_GAIN = 0.5
"""Nats by which a move has to raise the score. By judgement; less than any price, and with 0 a search goes on for
rounding."""
DIRECTIONS = 2
"""Changes of the class shares that are tried in each leaf and column where there are more classes than two. By
judgement; more take longer."""
FLOOR = 0.02
"""The least share of a class in a new type, and in the scale of such changes: a logit of −4, from which a fit can still
move. By judgement; with less, types that begin as pure stay so."""
DOUBTED = 2.0
"""Times what a simplification saves that the quadratic expansion may take it to lose, and it is tried all the same. By
judgement; more only costs fits."""
NO_TREE = BoxNode((), -1)
"""Stands for the tree of a rule whose fit was given up."""
ROUNDS = 40
"""Moves of a search, at most. By judgement; searches end before."""
STARTS = 8
"""States from which the search goes on after a cut was taken away, the best ones. By judgement; more take longer."""


@dataclass(frozen=True)
class RuleState:
    """A fitted rule, its smallest tree, and its score in nats, by which rules are compared."""

    rule: Rule
    fit: JointPoint
    tree: BoxNode
    score: float


@dataclass(frozen=True)
class RuleCandidate:
    """A rule that is not fitted yet, and the nats by which it is expected to raise the score."""

    gain: float
    rule: Rule


class RuleMoves:
    """The moves from one rule to better ones, over the same columns in the same cells.

    evidence: the reports. density: the form of the density of true values.
    """

    def __init__(self, evidence: Evidence, density: StiffDensity) -> None:
        self.evidence, self.density = evidence, density
        self.number_price = 0.5 * np.log(max(evidence.total, 2.0))
        """The price of a number of the density or of a type, ½·log(number of reports)."""
        self._around: Surroundings | None = None
        self._flips: Flips | None = None
        self._refused: dict[tuple[bytes, ...], float] = {}

    def fit(self, rule: Rule, steps: int = SCREENING_STEPS, worth: float = -np.inf) -> RuleState:
        """Fit the numbers of a rule.

        The fit is given up, with a score of −∞ and no tree, where its score cannot become ``worth``.
        """
        rule = rule.compact()
        model = BoxFamily(rule, self.density)
        least = NODE_PRICE * sum(part.parts - 1 for part in rule.parts)  # each cut splits some node
        needed = partial(self.price, model)
        fit = fit_family(
            self.evidence, model, rule.theta, steps, hoped=lambda point: worth + needed(point.information) + least
        )
        price = needed(fit.information)
        if fit.value - price - least < worth:
            return RuleState(rule.at(fit.theta), fit, NO_TREE, -np.inf)
        tree = smallest_tree(rule.types)
        return RuleState(rule.at(fit.theta), fit, tree, fit.value - price - NODE_PRICE * tree.inner)

    def price(self, model: BoxFamily, information: Floats) -> float:
        """Return the price of a rule in nats, without its splits.

        It is ½·log of how much more is known of its numbers than beforehand, the price of saying which cells are
        together, of types beyond the number of classes, and of the numbers of the density.

        information: of all parameters, the ridge included.
        """
        rule, numbers = model.rule, model.numbers
        precision = information + np.diag(model.prior - model.ridge)
        learned = logdet(precision) - logdet(precision[numbers:, numbers:]) - np.log(model.prior[:numbers]).sum()
        beyond = max(len(rule.logits) - rule.weights.size, 0)
        parts = sum(part.price for part in rule.parts)
        return float(0.5 * learned + parts + TYPE_PRICE * beyond + self.number_price * self.density.size)

    def run(self, state: RuleState, most: Sequence[int] = REFITTED) -> RuleState:
        """Make moves until none raises the score.

        most: how many candidates are fitted in a round; the next number where those before raise it not.
        """
        for _ in range(ROUNDS):
            for many in most:
                better = self.simplified(self.best(state, self.grown(state), many))
                if better.score >= state.score + LEAST_GAIN:
                    break
            else:
                return state
            state = better
        return state

    def run_again(self, state: RuleState) -> RuleState:
        """Make moves, also from states that have one cut less, until none raises the score.

        Single moves that each raise the score do not lead from two cuts to the one that should be between them.
        """
        starts = self.with_a_cut_less(state)
        while starts:
            ahead = self.run(starts.pop(0), most=REFITTED[:1])
            if ahead.score >= state.score + NODE_PRICE:
                state = self.run(ahead)
                starts = self.with_a_cut_less(state)
        return state

    def with_a_cut_less(self, state: RuleState) -> list[RuleState]:
        """Return the best states after one cut is taken away, the joined part with the types of either side."""
        states: dict[float, RuleState] = {}
        for j, parts in enumerate(state.rule.parts):
            for part in range(parts.parts - 1):
                sides = [self.fit(state.rule.without(j, part, gone)) for gone in (part, part + 1)]
                start = max(sides, key=lambda side: side.score)
                states[round(start.score, 1)] = start  # taking away either of two cuts may lead to the same
        return [states[score] for score in sorted(states, reverse=True)][:STARTS]

    def simplified(self, state: RuleState) -> RuleState:
        """Relabel boxes and drop cuts and types, as long as that raises the score."""
        while True:
            score = state.score
            for moves in (self.relabelled, self.with_fewer_cuts, self.with_fewer_types):
                state = self.best(state, moves(state))
            if state.score < score + LEAST_GAIN:
                return state

    def best(self, state: RuleState, candidates: Iterator[RuleCandidate], most: int = REFITTED[0]) -> RuleState:
        """Fit the most promising candidates; return the best of them, or the state where none has a better score.

        most: how many are fitted.
        """
        for candidate in sorted(candidates, key=lambda candidate: -candidate.gain)[:most]:
            if state.score >= self._refused.get(candidate.rule.key, np.inf):
                continue  # it fell short of less before
            ahead = self.fit(candidate.rule, worth=state.score)
            if ahead.score <= state.score:
                self._refused[candidate.rule.key] = state.score
            state = max(state, ahead, key=lambda each: each.score)
        return state

    # --- moves --------------------------------------------------------------------------------------------------

    def grown(self, state: RuleState, columns: Iterable[int] | None = None) -> Iterator[RuleCandidate]:
        """Yield rules in which a band of cells of one column gets another type within a leaf.

        columns: in which to look, by their order; None: all.
        """
        around = self.surroundings(state)
        for leaf in state.tree.leaves():
            for j in range(len(state.rule.parts)) if columns is None else columns:
                yield from self._with_bands(around, leaf, j)

    def _with_bands(self, around: Surroundings, leaf: BoxNode, j: int) -> Iterator[RuleCandidate]:
        """Yield the rules in which the best bands of column j get another type within a leaf."""
        rule = around.rule
        own, box = rule.p_class[leaf.type], around.base * around.inside(leaf)
        for direction in around.directions(box, own, j):
            slabs = around.slabs(box * direction.reshape(-1, *(1,) * len(self.density.shape)), j)
            bands = Bands.of(rule.parts[j], *slabs)
            for new_type, step in steps_to_types(rule, leaf, direction, bands):
                gain = bands.gain(step) - (bands.price(step) + (self._price_of_type(rule) if new_type is None else 0.0))
                for i in bands.best(gain):
                    p = own + step[i] * direction
                    yield RuleCandidate(float(gain[i]), retyped(rule, leaf, j, bands.inside(i), new_type, p))

    def _price_of_type(self, rule: Rule) -> float:
        """Return the price of one more type in nats."""
        types, classes = rule.logits.shape
        return float(self.number_price * (classes - 1) + TYPE_PRICE * (types >= classes))

    def relabelled(self, state: RuleState) -> Iterator[RuleCandidate]:
        """Yield rules in which boxes have other types: a single box, a pair, or all that the expansion would change."""
        flips = self.flips(state)
        if flips.size:
            for gain, chosen in descents(flips.score, flips.gram):
                if gain > -self.number_price - NODE_PRICE:
                    yield RuleCandidate(gain, replace(state.rule, types=flips.types(chosen)))

    def with_fewer_cuts(self, state: RuleState) -> Iterator[RuleCandidate]:
        """Yield rules with a cut less: a part of a column is joined with its neighbour and gets the types of either."""
        flips = self.flips(state)
        for j, parts in enumerate(state.rule.parts):
            for part in range(parts.parts - 1):
                for gone, kept in ((part, part + 1), (part + 1, part)):
                    gain = flips.gain_of_joining(j, gone, kept)
                    if gain > -DOUBTED * (self.number_price + NODE_PRICE):
                        yield RuleCandidate(gain, state.rule.without(j, part, gone))

    def with_fewer_types(self, state: RuleState) -> Iterator[RuleCandidate]:
        """Yield rules with a type less: all boxes of one type get another."""
        rule, flips = state.rule, self.flips(state)
        for kept, gone in permutations(range(len(rule.logits)), 2):
            types = np.where(rule.types == gone, kept, rule.types)
            gain = flips.gain_of(types)
            if gain > -DOUBTED * self.number_price * (rule.weights.size - 1):
                yield RuleCandidate(gain, replace(rule, types=types))

    # --- the expansion about a state ------------------------------------------------------------------------------

    def surroundings(self, state: RuleState) -> Surroundings:
        """Return the likelihood about a state; that of the last state is kept."""
        if self._around is None or self._around.state is not state:
            self._around = Surroundings(self, state)
        return self._around

    def flips(self, state: RuleState) -> Flips:
        """Return the changes of single boxes' types about a state; those of the last state are kept."""
        around = self.surroundings(state)
        if self._flips is None or self._flips.around is not around:
            self._flips = Flips(around)
        return self._flips


def logdet(matrix: Floats) -> float:
    """Return the logarithm of the determinant of a positive definite matrix."""
    return float(np.linalg.slogdet(matrix)[1])


def retyped(rule: Rule, leaf: BoxNode, j: int, inside: NDArray[np.bool_], new_type: int | None, p: Floats) -> Rule:
    """Return the rule in which some cells of column j get another type within a leaf.

    inside: of each cell of the column, whether it does. new_type: None for one that is added, with class shares ``p``.
    """
    parts = list(rule.parts)
    parts[j], old, chosen = parts[j].refined(inside)
    types = np.take(rule.types, old, j)
    low, high = leaf.box[j]
    where: list[Any] = [slice(*ends) for ends in leaf.box]
    where[j] = np.flatnonzero((old >= low) & (old < high) & chosen)
    logits = rule.logits
    if new_type is None:
        new_type = len(logits)
        fresh = np.log(np.maximum(p, FLOOR))
        logits = np.vstack([logits, fresh - fresh.mean()])
    types[tuple(where)] = new_type
    return replace(rule, parts=tuple(parts), types=types, logits=logits)


# --- bands of cells ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bands:
    """Runs of cells of one column within a leaf, and what a step of their class shares along a direction gains.

        gain = step·slope − ½·step²·curve

    order: the cells in the order of which runs are taken; labels stand by their own best steps, and runs begin with the
    first. start, end: of each run the position of the first cell and the one after the last.
    knowledge: at each edge between cells, how much better a cut there would be known than beforehand, a step being 1.
    """

    order: Codes
    start: Codes
    end: Codes
    slope: Floats
    curve: Floats
    knowledge: Floats

    @classmethod
    def of(cls, part: Parts, score: Floats, gram: Floats) -> Bands:
        """Return all runs of cells. score, gram: first and second derivative of the gain by the steps of cells."""
        cells = score.size
        if getattr(part, "ordered", True):
            order, (start, end) = np.arange(cells), np.triu_indices(cells + 1, 1)
        else:
            order = np.argsort(score / np.maximum(np.diag(gram), 1e-12))
            start, end = np.zeros(cells, np.int64), np.arange(1, cells + 1)
        score, gram = score[order], gram[np.ix_(order, order)]
        sums = np.concatenate([[0.0], np.cumsum(score)])
        corner = np.zeros((cells + 1, cells + 1))
        corner[1:, 1:] = gram.cumsum(axis=0).cumsum(axis=1)
        curve = corner[end, end] - 2 * corner[start, end] + corner[start, start]
        return cls(order, start, end, sums[end] - sums[start], curve, cut_knowledge(part, np.diag(gram)))

    def gain(self, step: Floats) -> Floats:
        """Return the nats that the likelihood gains by a step of each run."""
        return step * self.slope - 0.5 * step**2 * self.curve

    def price(self, step: Floats) -> Floats:
        """Return the price in nats of the splits at the ends of each run, and of the places of their cuts."""
        splits = (self.start > 0).astype(int) + (self.end < self.order.size)
        places = [0.5 * np.log1p(step**2 * self.knowledge[edge]) for edge in (self.start, self.end)]
        return NODE_PRICE * splits + places[0] + places[1]

    def best(self, gain: Floats) -> Iterator[int]:
        """Yield the indices of the best run at an end of the column and of the best between two cuts, if they gain.

        gain: of each run, less its price.
        """
        at_end = (self.start == 0) | (self.end == self.order.size)
        for runs in (np.flatnonzero(at_end), np.flatnonzero(~at_end)):
            if runs.size and gain[i := int(runs[np.argmax(gain[runs])])] > 0:
                yield i

    def inside(self, i: int) -> NDArray[np.bool_]:
        """Say of each cell of the column whether it is in the i-th run."""
        inside = np.zeros(self.order.size, bool)
        inside[self.order[self.start[i] : self.end[i]]] = True
        return inside


def cut_knowledge(part: Parts, information: Floats) -> Floats:
    """Return how much better than beforehand a cut at each edge of a column's cells would be known, a step being 1.

    It is 0 where no cut is to be placed: at the ends, next to a cut that is there, and between whole cells.

    information: of the step of each cell.
    """
    cells = information.size
    knowledge = np.zeros(cells + 1)
    if isinstance(part, Cuts):
        knowledge[1:-1] = (information[1:] + information[:-1]) / 2 * cells**2 / CUT_PRIOR
        knowledge[np.abs(part.places[:, None] - part.edges).min(axis=0, initial=1.0) < NEAR / cells] = 0.0
    return knowledge


def steps_to_types(rule: Rule, leaf: BoxNode, direction: Floats, bands: Bands) -> Iterator[tuple[int | None, Floats]]:
    """Yield the types that bands of cells in a leaf may get, each with the steps of class shares that lead there.

    A step is taken along a direction, one for each band. First comes a new type, None, with the steps that gain most;
    of two classes every other type follows.
    """
    p_class = rule.p_class
    own = p_class[leaf.type]
    yield None, np.clip(bands.slope / np.maximum(bands.curve, 1e-9), *_room(own, direction))
    if own.size == 2:
        for k in range(len(p_class)):
            if k != leaf.type:
                yield k, np.full(bands.slope.shape, (p_class[k, 0] - own[0]) / direction[0])


def _room(own: Floats, direction: Floats) -> tuple[float, float]:
    """Return how far class shares may go along a direction, back and forth, until one of them is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.where(direction == 0, np.inf, own / np.abs(direction))
    return -float(np.min(ends[direction > 0])), float(np.min(ends[direction < 0]))


# --- types of boxes ---------------------------------------------------------------------------------------------------


def descents(score: Floats, gram: Floats) -> Iterator[tuple[float, list[int]]]:
    """Yield sets of changes with their quadratic gain: the best one, and where steps of one or two changes lead.

    score, gram: first and second derivative of the gain by the changes, each of which is made or not.
    """
    chosen = np.zeros(score.size, bool)
    total = 0.0
    single = score - 0.5 * np.diag(gram)
    yield float(single.max()), [int(single.argmax())]
    for step in range(4 * score.size):
        sign = np.where(chosen, -1.0, 1.0)
        alone = sign * (score - gram @ chosen) - 0.5 * np.diag(gram)
        pair = alone[:, None] + alone - np.outer(sign, sign) * gram
        np.fill_diagonal(pair, alone)
        i, j = np.unravel_index(np.argmax(pair), pair.shape)
        if pair[i, j] <= 1e-6:
            break
        total += float(pair[i, j])
        for change in {int(i), int(j)}:
            chosen[change] = ~chosen[change]
        if step in (0, 1, 3):
            yield total, np.flatnonzero(chosen).tolist()
    if chosen.any():
        yield total, np.flatnonzero(chosen).tolist()


class Flips:
    """All changes of one box to another type, judged by a quadratic expansion of the likelihood.

    changes: (box, type). score, gram: first and second derivative of the log-likelihood; two changes of the same box
    exclude each other.
    """

    def __init__(self, around: Surroundings) -> None:
        self.around, self.rule = around, around.rule
        types, p_class = self.rule.types, self.rule.p_class
        self.changes = [(box, k) for box in np.ndindex(types.shape) for k in range(len(p_class)) if k != types[box]]
        self.size = len(self.changes)
        if not self.size:
            return
        fields = np.array([
            around.base * around.of_box(box) * (p_class[k] - p_class[types[box]]).reshape(-1, *(1,) * len(box))
            for box, k in self.changes
        ])
        self.score, gram = around.slopes(fields.reshape(self.size, -1))
        box = np.array([np.ravel_multi_index(box, types.shape) for box, _ in self.changes])
        self.gram = gram + np.where((box[:, None] == box) & ~np.eye(self.size, dtype=bool), 1e9, 0.0)

    def types(self, chosen: list[int]) -> BoxTypes:
        """Return the types of all boxes after some of the changes, given by index."""
        types = self.rule.types.copy()
        for i in chosen:
            types[self.changes[i][0]] = self.changes[i][1]
        return types

    def gain_of_joining(self, j: int, gone: int, kept: int) -> float:
        """Return the expected gain, in nats, where the boxes of a part of column j get the types of its neighbour.

        gone: the part. kept: its neighbour.
        """
        types = np.moveaxis(self.rule.types.copy(), j, 0)
        types[gone] = types[kept]
        return self.gain_of(np.moveaxis(types, 0, j))

    def gain_of(self, types: BoxTypes) -> float:
        """Return the expected gain of the log-likelihood, in nats, where boxes get these types."""
        chosen = [i for i, (box, k) in enumerate(self.changes) if types[box] == k]
        return float(self.score[chosen].sum() - 0.5 * self.gram[np.ix_(chosen, chosen)].sum())


# --- the likelihood about a state -------------------------------------------------------------------------------------


class Surroundings:
    """The quadratic expansion of the likelihood about a state, all of its parameters projected out.

    at: the expansion itself. base: g(t)·w_y, normalized as the joint distribution.
    """

    def __init__(self, moves: RuleMoves, state: RuleState) -> None:
        self.moves, self.state, self.rule, self.shape = moves, state, state.rule, moves.density.shape
        model = BoxFamily(state.rule, moves.density)
        theta = state.rule.theta
        joint = model.joint(theta)
        self.at = Expansion(moves.evidence, joint)
        self.base = people_of(state.rule, moves.density) / joint.sum()
        fields = self.at.centred(model.fields(theta))
        images = self.at.images(fields)
        information = images @ images.T + np.diag(model.ridge)
        scale = 1.0 / np.sqrt(np.maximum(np.diag(information), 1e-12))
        unit = information * np.outer(scale, scale) + 1e-9 * np.eye(scale.size)
        inverse = np.linalg.inv(np.linalg.cholesky(unit)) * scale
        self._basis = inverse @ images
        self._left = inverse @ (self.at.score(fields) - model.ridge * theta)

    def inside(self, leaf: BoxNode) -> Floats:
        """Return what part of every cell lies in a leaf, over all combinations of the columns' cells."""
        parts = zip(self.rule.parts, leaf.box, strict=True)
        return _outer([part.membership[slice(*ends)].sum(axis=0) for part, ends in parts])

    def of_box(self, box: tuple[int, ...]) -> Floats:
        """Return what part of every cell lies in a box, given by the part of each column."""
        return _outer([part.membership[i] for part, i in zip(self.rule.parts, box, strict=True)])

    def slopes(self, fields: Floats) -> tuple[Floats, Floats]:
        """Return score and information of changes of the joint distribution, the rule's parameters projected out.

        fields: derivatives of the normalized joint distribution, one row a change.
        """
        centred = fields - np.outer(fields.sum(axis=1), self.at.joint)
        images = self.at.images(centred)
        shared = images @ self._basis.T
        return self.at.score(centred) - shared @ self._left, images @ images.T - shared @ shared.T

    def slabs(self, field: Floats, j: int) -> tuple[Floats, Floats]:
        """Return score and information of a change of the joint distribution made in each cell of column j by itself.

        field: the derivative of the normalized joint distribution where the change is made everywhere.
        """
        cells = self.shape[j]
        apart = np.eye(cells).reshape(cells, 1, *(cells if k == j else 1 for k in range(len(self.shape))))
        return self.slopes((apart * field).reshape(cells, -1))

    def directions(self, box: Floats, own: Floats, j: int) -> list[Floats]:
        """Return the directions in which a leaf's class shares differ most along column j, the first the most.

        Of two classes there is only one. box: the people of the leaf, g(t)·w_y. own: its class shares.
        """
        if own.size == 2:
            return [np.array([1.0, -1.0])]
        others = tuple(1 + k for k in range(len(self.shape)) if k != j)
        likely = (self.at.likely_people.reshape(box.shape) * box).sum(axis=others) / self.moves.evidence.total
        people = box.sum(axis=others)
        scale = np.maximum(own, FLOOR)[:, None] ** 0.5
        excess = (likely - people) * scale / np.sqrt(np.maximum(people.sum(axis=0), 1e-9))
        left = np.linalg.svd(excess - excess.mean(axis=0), full_matrices=False)[0][:, :DIRECTIONS]
        return [direction - direction.mean() for direction in (scale * left).T]


def _outer(along: list[Floats]) -> Floats:
    """Return the outer product of values of each column's cells; 1 for no column."""
    return np.asarray(reduce(np.multiply.outer, along, np.ones(())))
