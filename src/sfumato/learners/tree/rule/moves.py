"""The search for a rule: which boxes, cuts and types the reports pay for.

    score = log-likelihood − ½·log |information of cuts, types and weights / prior| − ½·log n · (numbers of the density)
            − 2 · splits of the smallest tree

The second term is Laplace's: a cut that reports can hardly place has few places to choose from, and costs little.
Moves: a cut or a band of cells inside a leaf gets another type, known or new; boxes are relabelled; a cut is dropped;
two types become one. Candidates are judged by the quadratic expansion of the likelihood after projecting out all
current parameters, the best of them refitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np

from sfumato.domain import Floats
from sfumato.evidence import Evidence, Expansion, JointPoint, fit_family
from sfumato.learners.stiff_density import StiffDensity
from sfumato.learners.tree.rule.boxes import CUT_PRIOR, NEAR, BoxFamily, Cuts, Labels, Rule, people_of
from sfumato.learners.tree.rule.partition import BoxNode, smallest_tree

NODE_PRICE = 2.0
TYPE_PRICE = 15.0  # of each type beyond the number of classes: leaves that say "perhaps" have to be clearly told
REFITTED, WIDELY, SCREENING_STEPS, FINAL_STEPS = 5, 12, 8, 25
LEAST = 0.5  # nats by which a move has to raise the score
DIRECTIONS = 2
FLOOR = 0.02
DOUBTED = 2.0  # times what a simplification saves that the quadratic expansion may take it to lose, and it is tried
NO_TREE = BoxNode((), -1)
ROUNDS = 40
STARTS = 8  # from which the search goes on after a cut was taken away


@dataclass(frozen=True)
class RuleState:
    """A fitted rule, its smallest tree and its score."""

    rule: Rule
    fit: JointPoint
    tree: BoxNode
    score: float


@dataclass(frozen=True)
class RuleCandidate:
    """A rule that is expected to gain so much."""

    gain: float
    rule: Rule


class RuleMoves:
    """All that the moves share: the reports, the density's form, the prices."""

    def __init__(self, evidence: Evidence, density: StiffDensity) -> None:
        self.evidence, self.density = evidence, density
        self.unit = 0.5 * np.log(max(evidence.total, 2.0))
        self._around: Surroundings | None = None
        self._flips: Flips | None = None
        self._refused: dict[tuple[bytes, ...], float] = {}

    def fitted(self, rule: Rule, steps: int = SCREENING_STEPS, worth: float = -np.inf) -> RuleState:
        """The rule with the numbers that fit best; given up, and without a tree, where its score cannot be `worth`."""
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
        """½·log of how much better the rule's numbers are known than before; which cells are together; the density."""
        rule, numbers = model.rule, model.numbers
        known = information + np.diag(model.prior - model.ridge)
        told = logdet(known) - logdet(known[numbers:, numbers:]) - np.log(model.prior[:numbers]).sum()
        beyond = max(len(rule.logits) - rule.weights.size, 0)
        parts = sum(part.price for part in rule.parts)
        return float(0.5 * told + parts + TYPE_PRICE * beyond + self.unit * self.density.size)

    def run(self, state: RuleState, rounds: int = ROUNDS, most: Sequence[int] = (REFITTED, WIDELY)) -> RuleState:
        """Moves until none raises the score, first of the most promising few, then of more."""
        for _ in range(rounds):
            for many in most:
                better = self.simplified(self.best(state, self.grown(state), many))
                if better.score >= state.score + LEAST:
                    break
            else:
                return state
            state = better
        return state

    def run_again(self, state: RuleState) -> RuleState:
        """Until no move raises the score even after a cut was taken away: two cuts and what grew around them are no
        way to the one that lies between."""
        starts = self.with_a_cut_less(state)
        while starts:
            found = self.run(starts.pop(0), most=[REFITTED])
            if found.score >= state.score + NODE_PRICE:
                state = self.run(found)
                starts = self.with_a_cut_less(state)
        return state

    def with_a_cut_less(self, state: RuleState) -> list[RuleState]:
        """One for each cut, with the types of either side; the best few."""
        found: dict[float, RuleState] = {}
        for j, parts in enumerate(state.rule.parts):
            for part in range(parts.parts - 1):
                sides = [self.fitted(state.rule.without(j, part, gone)) for gone in (part, part + 1)]
                start = max(sides, key=lambda each: each.score)
                found[round(start.score, 1)] = start  # taking away either of two cuts may lead to the same
        return [found[score] for score in sorted(found, reverse=True)][:STARTS]

    def simplified(self, state: RuleState) -> RuleState:
        """Relabelled, with fewer cuts and types, as long as that raises the score."""
        while True:
            score = state.score
            for moves in (self.relabelled, self.with_fewer_cuts, self.with_fewer_types):
                state = self.best(state, moves(state))
            if state.score < score + LEAST:
                return state

    def best(self, state: RuleState, candidates: Iterator[RuleCandidate], most: int = REFITTED) -> RuleState:
        """The best of the most promising candidates, if it is better than the state."""
        for one in sorted(candidates, key=lambda one: -one.gain)[:most]:
            if state.score >= self._refused.get(one.rule.key, np.inf):
                continue  # it fell short of less before
            found = self.fitted(one.rule, worth=state.score)
            if found.score <= state.score:
                self._refused[one.rule.key] = state.score
            state = max(state, found, key=lambda each: each.score)
        return state

    # --- moves --------------------------------------------------------------------------------------------------

    def grown(self, state: RuleState, columns: Iterable[int] | None = None) -> Iterator[RuleCandidate]:
        """In each leaf and along each column: the cells from one edge to another get another type."""
        around = self.surroundings(state)
        for leaf in state.tree.leaves():
            for j in range(len(state.rule.parts)) if columns is None else columns:
                yield from self._bands(state, around, leaf, j)

    def _bands(self, state: RuleState, around: Surroundings, leaf: BoxNode, j: int) -> Iterator[RuleCandidate]:
        rule, own = state.rule, state.rule.p_class[leaf.type]
        box = around.base * around.inside(leaf)
        part, cells = rule.parts[j], self.density.shape[j]
        unordered = not getattr(part, "ordered", True)
        for direction in around.directions(box, own, j):
            score, gram = around.slabs(box * direction.reshape(-1, *(1,) * len(self.density.shape)), j)
            order = np.argsort(score / np.maximum(np.diag(gram), 1e-12)) if unordered else np.arange(cells)
            score, gram = score[order], gram[np.ix_(order, order)]
            lower, upper = _room(own, direction)
            a, b = np.triu_indices(cells + 1, 1)
            if unordered:
                a, b = np.zeros(cells, np.int64), np.arange(1, cells + 1)
            sums = np.concatenate([[0.0], np.cumsum(score)])
            corner = np.zeros((cells + 1, cells + 1))
            corner[1:, 1:] = gram.cumsum(axis=0).cumsum(axis=1)
            slope, curve = sums[b] - sums[a], corner[b, b] - 2 * corner[a, b] + corner[a, a]
            inner = (a > 0).astype(int) + (b < cells)
            edge = np.zeros(cells + 1)  # how well it would be known that a cut is here, for a step of one
            if isinstance(part, Cuts):
                edge[1:-1] = (np.diag(gram)[1:] + np.diag(gram)[:-1]) / 2 * cells**2 / CUT_PRIOR
                edge[np.abs(part.places[:, None] - part.edges).min(axis=0, initial=1.0) < NEAR / cells] = 0.0
            kinds = rule.p_class
            targets: list[tuple[int | None, Any]] = [(None, np.clip(slope / np.maximum(curve, 1e-9), lower, upper))]
            if own.size == 2:
                targets += [(k, (kinds[k, 0] - own[0]) / direction[0]) for k in range(len(kinds)) if k != leaf.type]
            for kind, step in targets:
                step = np.broadcast_to(step, slope.shape)
                cost = NODE_PRICE * inner + 0.5 * np.log1p(step**2 * edge[a]) + 0.5 * np.log1p(step**2 * edge[b])
                if kind is None:
                    cost += self.unit * (own.size - 1) + TYPE_PRICE * (len(kinds) >= own.size)
                gain = step * slope - 0.5 * step**2 * curve - cost
                for chosen in ((a == 0) | (b == cells), (a > 0) & (b < cells)):
                    if not chosen.any():
                        continue
                    i = np.flatnonzero(chosen)[np.argmax(gain[chosen])]
                    if gain[i] <= 0:
                        continue
                    inside = np.zeros(cells, bool)
                    inside[order[a[i] : b[i]]] = True
                    p = own + step[i] * direction
                    yield RuleCandidate(float(gain[i]), retyped(rule, leaf, j, inside, kind, p))

    def relabelled(self, state: RuleState) -> Iterator[RuleCandidate]:
        """Boxes of other types: single ones, pairs, and all that the quadratic expansion would change."""
        flips = self.flips(state)
        if flips.size:
            for gain, chosen in descents(flips.score, flips.gram):
                if gain > -self.unit - NODE_PRICE:
                    yield RuleCandidate(gain, replace(state.rule, types=flips.types(chosen)))

    def with_fewer_cuts(self, state: RuleState) -> Iterator[RuleCandidate]:
        """A part joined with its neighbour, with the types of either."""
        flips = self.flips(state)
        for j, parts in enumerate(state.rule.parts):
            for part in range(parts.parts - 1):
                for gone, kept in ((part, part + 1), (part + 1, part)):
                    gain = flips.gain_of_joining(j, gone, kept)
                    if gain > -DOUBTED * (self.unit + NODE_PRICE):
                        yield RuleCandidate(gain, state.rule.without(j, part, gone))

    def with_fewer_types(self, state: RuleState) -> Iterator[RuleCandidate]:
        rule, flips = state.rule, self.flips(state)
        for one, other in permutations(range(len(rule.logits)), 2):
            types = np.where(rule.types == other, one, rule.types)
            gain = flips.gain_of(types)
            if gain > -DOUBTED * self.unit * (rule.weights.size - 1):
                yield RuleCandidate(gain, replace(rule, types=types))

    # --- what is known about a state ----------------------------------------------------------------------------

    def surroundings(self, state: RuleState) -> Surroundings:
        if self._around is None or self._around.state is not state:
            self._around = Surroundings(self, state)
        return self._around

    def flips(self, state: RuleState) -> Flips:
        around = self.surroundings(state)
        if self._flips is None or self._flips.around is not around:
            self._flips = Flips(around)
        return self._flips


def logdet(matrix: Floats) -> float:
    return float(np.linalg.slogdet(matrix)[1])


def _room(own: Floats, direction: Floats) -> tuple[float, float]:
    """How far p may go along a direction, back and forth, until a share is gone."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.where(direction == 0, np.inf, own / np.abs(direction))
    return -float(np.min(ends[direction > 0])), float(np.min(ends[direction < 0]))


def retyped(rule: Rule, leaf: BoxNode, j: int, inside: np.ndarray, kind: int | None, p: Floats) -> Rule:
    """The cells `inside` of column j within a leaf get a type, a new one with the shares p if it is None."""
    parts = list(rule.parts)
    parts[j], old, chosen = parts[j].refined(inside)
    types = np.take(rule.types, old, j)
    low, high = leaf.box[j]
    where: list[Any] = [slice(*ends) for ends in leaf.box]
    where[j] = np.flatnonzero((old >= low) & (old < high) & chosen)
    logits = rule.logits
    if kind is None:
        kind = len(logits)
        fresh = np.log(np.maximum(p, FLOOR))
        logits = np.vstack([logits, fresh - fresh.mean()])
    types[tuple(where)] = kind
    return replace(rule, parts=tuple(parts), types=types, logits=logits)


def descents(score: Floats, gram: Floats) -> Iterator[tuple[float, list[int]]]:
    """Sets of changes by their quadratic gain: the best single one, pair, and where steps of one or two lead."""
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
        for one in {int(i), int(j)}:
            chosen[one] = ~chosen[one]
        if step in (0, 1, 3):
            yield total, np.flatnonzero(chosen).tolist()
    if chosen.any():
        yield total, np.flatnonzero(chosen).tolist()


class Flips:
    """Every box with every other type: score and information of the change, which is linear in the joint."""

    def __init__(self, around: Surroundings) -> None:
        self.around, self.rule = around, around.rule
        rule = self.rule
        kinds = rule.p_class
        self.all = [(box, k) for box in np.ndindex(rule.types.shape) for k in range(len(kinds)) if k != rule.types[box]]
        self.size = len(self.all)
        if not self.size:
            return
        fields = np.array([
            around.base * around.of_box(box) * (kinds[k] - kinds[rule.types[box]]).reshape(-1, *(1,) * len(box))
            for box, k in self.all
        ])
        self.score, gram = around.slopes(fields.reshape(self.size, -1))
        box = np.array([np.ravel_multi_index(box, rule.types.shape) for box, _ in self.all])
        self.gram = gram + np.where((box[:, None] == box) & ~np.eye(self.size, dtype=bool), 1e9, 0.0)

    def types(self, chosen: list[int]) -> Labels:
        types = self.rule.types.copy()
        for i in chosen:
            types[self.all[i][0]] = self.all[i][1]
        return types

    def gain_of_joining(self, j: int, gone: int, kept: int) -> float:
        """When the boxes of a part get the types of its neighbour."""
        types = np.moveaxis(self.rule.types.copy(), j, 0)
        types[gone] = types[kept]
        return self.gain_of(np.moveaxis(types, 0, j))

    def gain_of(self, types: Labels) -> float:
        """When boxes get these types."""
        chosen = [i for i, (box, k) in enumerate(self.all) if types[box] == k]
        return float(self.score[chosen].sum() - 0.5 * self.gram[np.ix_(chosen, chosen)].sum())


class Surroundings:
    """The likelihood about a state, with all of its parameters projected out."""

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
        self._factor = float(joint.sum())

    def inside(self, leaf: BoxNode) -> Floats:
        """What part of every cell lies in a leaf."""
        return self._product([
            part.membership[slice(*ends)].sum(axis=0) for part, ends in zip(self.rule.parts, leaf.box, strict=True)
        ])

    def of_box(self, box: tuple[int, ...]) -> Floats:
        return self._product([part.membership[i] for part, i in zip(self.rule.parts, box, strict=True)])

    def _product(self, along: list[Floats]) -> Floats:
        found = np.ones(())
        for one in along:
            found = np.multiply.outer(found, one)
        return found

    def slopes(self, fields: Floats) -> tuple[Floats, Floats]:
        """Score and information of fields of the normalized joint, one a row."""
        centred = fields - np.outer(fields.sum(axis=1), self.at.joint)
        images = self.at.images(centred)
        shared = images @ self._basis.T
        return self.at.score(centred) - shared @ self._left, images @ images.T - shared @ shared.T

    def slabs(self, field: Floats, j: int) -> tuple[Floats, Floats]:
        """The same for the parts of a field in each cell of column j."""
        cells = self.shape[j]
        apart = np.eye(cells).reshape(cells, 1, *(cells if k == j else 1 for k in range(len(self.shape))))
        return self.slopes((apart * field).reshape(cells, -1))

    def directions(self, box: Floats, own: Floats, j: int) -> list[Floats]:
        """Into which class shares along column j a leaf would like to change, most first."""
        if own.size == 2:
            return [np.array([1.0, -1.0])]
        others = tuple(1 + k for k in range(len(self.shape)) if k != j)
        told = (self.at.likely_people.reshape(box.shape) * box).sum(axis=others) / self.moves.evidence.total
        people = box.sum(axis=others)
        wish = (told - people) * np.maximum(own, FLOOR)[:, None] ** 0.5 / np.sqrt(np.maximum(people.sum(axis=0), 1e-9))
        left = np.linalg.svd(wish - wish.mean(axis=0), full_matrices=False)[0][:, :DIRECTIONS]
        found = np.maximum(own, FLOOR)[:, None] ** 0.5 * left
        return [one - one.mean() for one in found.T]
