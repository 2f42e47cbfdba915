"""The tree that a rule reads as, with the standard errors of its cuts and leaves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.domain import Floats
from sfumato.evidence import Axis
from sfumato.evidence.observed import LEAST_DOUBLE
from sfumato.learners.tree.model import Feature, Limits, NodeErrors, Tree, feature_of
from sfumato.learners.tree.rule.boxes import Cuts, people_in_boxes
from sfumato.learners.tree.rule.fitting import FittedRule
from sfumato.learners.tree.rule.partition import BoxNode
from sfumato.learners.tree.splits import LEAF


def tree_of(
    fitted: FittedRule, axes: Sequence[Axis], limits: Limits, people: float
) -> tuple[Tree, list[Feature], NodeErrors]:
    """Return the smallest tree of a rule, all columns as the tree sees them, and standard errors.

    limits: the depth of the tree and the people of a leaf; a split beyond them is left out.
    people: how many there are; nodes have counts of them.
    """
    reading = TreeReading(fitted, people)
    reading.add(fitted.state.tree, limits, 0)
    cells = dict(zip(fitted.form.columns, fitted.form.cells, strict=True))
    features = [feature_of(cells.get(j, axis.at(2))) for j, axis in enumerate(axes)]
    return reading.tree(), features, NodeErrors(np.array(reading.cut_errors), np.array(reading.share_errors))


class TreeReading:
    """The nodes of a rule's tree as they are added, the root first and left sides before right ones.

    people: of each class in every box of the rule. rows: column (−1 for a leaf), cut, and whether missing values go
    left, of each node. bins: codes of the labels that go left. children: both nodes that follow. counts: of classes.
    cut_errors, share_errors: standard errors of the cut and of the most common class's share; NaN where there is none.
    """

    def __init__(self, fitted: FittedRule, people: float) -> None:
        self.fitted, self.rule = fitted, fitted.state.rule
        boxes = people_in_boxes(self.rule, fitted.moves.density)
        self.people = people * boxes / boxes.sum()
        self.rows: list[tuple[int, float, bool]] = []
        self.bins: list[list[int]] = []
        self.children: list[list[int]] = []
        self.counts: list[Floats] = []
        self.cut_errors: list[float] = []
        self.share_errors: list[float] = []

    def add(self, node: BoxNode, limits: Limits, depth: int) -> int:
        """Add a node and all below it, as far as the limits allow; return its number."""
        number, counts = len(self.rows), self.people_in(node)
        self.rows.append((LEAF, np.nan, False))
        self.children.append([LEAF, LEAF])
        self.bins.append([])
        self.counts.append(counts)
        self.cut_errors.append(np.nan)
        self.share_errors.append(self.share_error(node.type))
        if node.below is None or node.above is None or depth >= limits.max_depth:
            return number
        below, above = (float(self.people_in(side).sum()) for side in (node.below, node.above))
        if min(below, above) < limits.min_leaf:
            return number
        part, cut = self.rule.parts[node.column], self.fitted.form.cells[node.column]
        value = np.nan
        if isinstance(part, Cuts):
            assert cut.edges is not None
            value = self.in_units(node.column, float(part.places[node.place - 1]))
            self.cut_errors[number] = self.cut_error(node.column, node.place - 1)
        elif cut.edges is not None:
            value = float(cut.edges[int(np.flatnonzero(part.of_cell >= node.place)[0])])
        else:
            self.bins[number] = np.flatnonzero(part.of_cell < node.place).tolist()
        self.rows[number] = (self.fitted.form.columns[node.column], value, below >= above)
        self.children[number] = [self.add(side, limits, depth + 1) for side in (node.below, node.above)]
        return number

    def in_units(self, column: int, place: float) -> float:
        """Return the cut at a place from 0 to 1 in the column's own units; of whole numbers, between two of them."""
        cut = self.fitted.form.cells[column]
        assert cut.edges is not None
        value = float(cut.edges[0] + place * (cut.edges[-1] - cut.edges[0]))
        return float(np.floor(value) + 0.5) if cut.integer else value

    def people_in(self, node: BoxNode) -> Floats:
        """Return how many people of each class are in a node."""
        inside = self.people[(slice(None), *(slice(*ends) for ends in node.box))]
        return np.asarray(inside.reshape(len(inside), -1).sum(axis=1), np.float64)

    def cut_error(self, column: int, cut: int) -> float:
        """Return the standard error of a cut, in the column's own units. cut: its number among those of the column."""
        before = self.rule.weights.size + self.rule.logits.size + sum(p.places.size for p in self.rule.parts[:column])
        edges = self.fitted.form.cells[column].edges
        assert edges is not None
        return float(self.fitted.state.fit.stderr[before + cut] * (edges[-1] - edges[0]))

    def share_error(self, box_type: int) -> float:
        """Return the standard error of the share of a type's most common class; NaN for −1, several types.

        It follows from the slopes of w_y·p_y/Σ w·p by weights and logits.
        """
        if box_type < 0:
            return np.nan
        classes = self.rule.weights.size
        scores = self.rule.weights + self.rule.logits[box_type]
        shares = np.exp(scores - scores.max())
        shares /= shares.sum()
        winner = int(shares.argmax())
        slope = shares[winner] * (np.eye(classes)[winner] - shares)
        mine = np.concatenate([np.arange(classes), classes * (1 + box_type) + np.arange(classes)])
        twice = np.concatenate([slope, slope])
        return float(np.sqrt(max(twice @ self.fitted.state.fit.covariance[np.ix_(mine, mine)] @ twice, 0.0)))

    def tree(self) -> Tree:
        """Return the tree of all nodes that were added; a split gains what it adds to Σ_y counts_y²/people."""
        column, cut, missing_left = (np.array(part) for part in zip(*self.rows, strict=True))
        left, right = np.array(self.children, np.int32).T
        width = 1 + max((max(chosen) for chosen in self.bins if chosen), default=0)
        widest = max([width, *(each.size for each in self.fitted.form.cells if each.labels is not None)])
        bins = np.zeros((len(self.rows), widest + 1), bool)
        for row, chosen in zip(bins, self.bins, strict=True):
            row[chosen] = True
        bins[:, -1] = missing_left
        counts = np.array(self.counts)
        pure = (counts**2).sum(axis=1) / np.maximum(counts.sum(axis=1), LEAST_DOUBLE)
        gains = np.where(column == LEAF, 0.0, pure[left] + pure[right] - pure)
        return Tree(
            column.astype(np.int32), cut.astype(float), left.copy(), right.copy(), missing_left.astype(bool), bins,
            counts, gains, column != LEAF,
        )
