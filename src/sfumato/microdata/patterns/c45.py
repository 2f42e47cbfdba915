"""`C45Tree`: a classification tree after Quinlan's C4.5 (1993; numeric cuts as in 1996), which IB04 uses.

With info(S) = −Σ_c p_c·log₂ p_c over the classes of the records S:

    gain        known/|S| · (info(S) − Σ_side |side|/known · info(side)) − log₂(cuts tried)/|S|
    split info  −Σ q·log₂ q over the shares q of the left side, the right side and the records without a value
    the cut of an attribute has the largest gain; among the attributes whose gain is at least the average of all that
    gain something, the one with the largest gain / split info is tested

Both sides of a cut hold ``min_cases`` records at least, and a tenth of what the classes would hold evenly, up to 25. A
cut is the largest value of the whole training table that is not above the middle between its two neighbours.

A subtree that makes no fewer errors on the training records than one leaf in its place is that leaf. Pruning goes on
pessimistically: a leaf with N records and E errors is expected to make N·U(E, N) of them, where U is the upper
limit of the binomial error probability at confidence ``confidence``, solved exactly (C4.5 itself approximates it). From
the bottom up a subtree whose leaves together expect no fewer errors than one leaf in its place is replaced by it;
branches are not raised.

Three choices differ from C4.5 itself. A category is one of the codes that the table's reader gives it, ordered by class
shares, and is cut like a number: every test has two sides, as rules and leaves need. Records without a value weigh
whole and follow the larger side. Nothing is added to the leaf's side when a subtree is compared with it (C4.5 adds a
tenth).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import betaincinv, xlogy
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from sfumato.domain import Codes, Floats
from sfumato.microdata.patterns.nodes import TreeNodes
from sfumato.microdata.table.fields import Mask

MOST_CASES = 25
"""The most records that a side of a cut is required to have, as in C4.5 (its module contin.c takes the least of 25 and
a tenth of the records per class)."""

NEARLY = 1e-3
"""By how much a gain may be below the average gain, as in C4.5."""

BLOCK = 1 << 21
"""Values that are searched for cuts at once, to bound the memory. It changes no result."""


class C45Tree(ClassifierMixin, BaseEstimator):
    """A classification tree by gain ratio with pessimistic pruning; missing values are NaN.

    min_cases   the fewest records on either side of a cut
    confidence  the confidence of the upper error limit in pruning: smaller prunes more; None does not prune

    Fitted attributes: ``classes_``, ``tree_`` (its nodes), ``counts_`` (training records by node and class).
    """

    def __init__(self, min_cases: int = 2, confidence: float | None = 0.25) -> None:
        self.min_cases = min_cases
        self.confidence = confidence

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: missing values are allowed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Grow and prune the tree on numbers X[record, column] and classes y."""
        if self.min_cases < 1:
            raise ValueError(f"min_cases={self.min_cases!r} is not 1 or more; C4.5 takes 2")
        if self.confidence is not None and not 0 < self.confidence <= 1:
            raise ValueError(f"confidence={self.confidence!r} is not between 0 and 1; C4.5 takes 0.25")
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        grown = _Growth(X, codes, len(self.classes_), self.min_cases).grow()
        missed = grown.counts.sum(axis=1) - grown.counts.max(axis=1)
        leaf = _replaced(grown, missed, grown.left < 0)
        if self.confidence is not None:
            leaf = _replaced(grown, expected_errors(grown.counts, self.confidence), leaf)
        self.tree_, self.counts_ = _compact(grown, leaf)
        return self

    def apply(self, X: Any) -> Codes:
        """Return the leaf of each record, as an index of ``tree_``'s nodes."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        return self.tree_.descend(X)

    def predict_proba(self, X: Any) -> Floats:
        """Return the chance of each class for each record, [record, class]: its share in training in the record's leaf.
        """
        leaves = self.apply(X)
        counts = self.counts_[leaves]
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> Any:
        """Return the most frequent class of each record's leaf."""
        leaves = self.apply(X)
        return self.classes_[self.tree_.prediction[leaves]]

    def get_n_leaves(self) -> int:
        """Return the number of leaves of the fitted tree."""
        check_is_fitted(self)
        return int(self.tree_.is_leaf.sum())

    @property
    def expected_errors_(self) -> float:
        """How many errors the tree is expected to make on as many new records: Σ N·U(E, N) over the leaves.

        Pruning makes it small.
        """
        counts = self.counts_[self.tree_.is_leaf]
        return float(expected_errors(counts, 0.25 if self.confidence is None else self.confidence).sum())


# --- expected errors --------------------------------------------------------------------------------------------------


def upper_error(errors: Any, cases: Any, confidence: float) -> Floats:
    """Return an upper limit U(E, N) of the error rate of a leaf that made E errors in N training records.

    It is the rate at which E errors or fewer have probability ``confidence``. ``errors`` and ``cases``: E and N.
    """
    E, N = np.broadcast_arrays(np.asarray(errors, float), np.asarray(cases, float))
    limit = np.ones(E.shape)
    some = E < N
    limit[some] = betaincinv(E[some] + 1, N[some] - E[some], 1 - confidence)
    return limit


def expected_errors(counts: Floats, confidence: float) -> Floats:
    """Return how many errors leaves are expected to make on new records, N·U(E, N), one number a leaf; for pruning.

    ``counts[leaf, class]``: training records. ``confidence``: of the limit U (`upper_error`).
    """
    cases = counts.sum(axis=-1)
    return np.asarray(cases * upper_error(cases - counts.max(axis=-1), cases, confidence))


# --- growing ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CandidateCuts:
    """The best cut of every attribute in a node, NaN where an attribute has none.

    ``gain``: in bits, less the cost of choosing among cuts. ``ratio``: gain divided by split info. ``below`` and
    ``above``: the values next to the cut. ``larger_left``: whether more records lie below it, which missing values then
    follow.
    """

    gain: Floats
    ratio: Floats
    below: Floats
    above: Floats
    larger_left: Mask

    def able(self) -> Mask:
        """Return which attributes may be tested, as truth values.

        Those whose best cut gains something, and at least about the average of those that do.
        """
        useful = self.gain > 1e-12
        least = self.gain[useful].mean() - NEARLY if useful.any() else np.inf
        return np.asarray(useful & (self.gain >= least))

    def chosen(self) -> int | None:
        """Return the attribute to test, the one of `able` with the largest ratio; None where there is none."""
        able = self.able()
        return int(np.argmax(np.where(able, self.ratio, -1.0))) if able.any() else None


def best_cuts(values: Floats, y: Codes, classes: int, fewest: int) -> CandidateCuts:
    """Find the best cut of every attribute among the records of one node.

    ``values[attribute, i]``: in ascending order, missing ones last. ``y[attribute, i]``: the classes of the same
    records. ``classes``: how many there are. ``fewest``: the fewest records on either side.
    """
    attributes, n = values.shape
    present = n - np.isnan(values).sum(axis=1)
    least = np.maximum(fewest, np.minimum(0.1 * present / classes, MOST_CASES))
    left = np.arange(1, n)
    able = (values[:, 1:] > values[:, :-1]) & (left >= least[:, None]) & (present[:, None] - left >= least[:, None])
    which, index = np.nonzero(able)
    gains, ratios, lower, upper = np.full((4, attributes), np.nan)
    cuts = CandidateCuts(gains, ratios, lower, upper, np.zeros(attributes, bool))
    if not which.size:
        return cuts
    below, all_known = np.empty((which.size, classes)), np.empty((attributes, classes))
    for label in range(classes):
        count = np.cumsum(y == label, axis=1, dtype=np.int32)
        below[:, label] = count[which, index]
        all_known[:, label] = count[np.arange(attributes), np.maximum(present, 1) - 1]
    gain = (_bits(all_known)[which] - _bits(below) - _bits(all_known[which] - below)) / n
    tries = np.bincount(which, minlength=attributes)
    first = np.searchsorted(which, np.flatnonzero(tries))
    best = first + np.array([np.argmax(part) for part in np.split(gain, first[1:])])
    some, at = which[best], index[best]
    sides = np.stack([at + 1.0, present[some] - at - 1.0, n - present[some]], axis=1)
    cuts.gain[some] = gain[best] - np.log2(tries[some]) / n
    cuts.ratio[some] = cuts.gain[some] / (_bits(sides) / n)
    cuts.below[some], cuts.above[some] = values[some, at], values[some, at + 1]
    cuts.larger_left[some] = sides[:, 0] >= sides[:, 1]
    return cuts


def _bits(counts: Floats) -> Floats:
    """Return how mixed the classes of each set of records are, as entropy times size: |S|·info(S), in bits.

    ``counts[set, class]``: how many records of each class a set has.
    """
    return np.asarray((xlogy(total := counts.sum(axis=1), total) - xlogy(counts, counts).sum(axis=1)) / np.log(2))


@dataclass(frozen=True)
class Grown:
    """The nodes of a tree before pruning, parents before children; ``counts[node, class]``."""

    left: Codes
    right: Codes
    feature: Codes
    threshold: Floats
    missing_left: Mask
    counts: Floats


class _Growth:
    """The growing of a tree, before pruning: records are sorted once by every attribute, and cuts divide these orders.
    """

    def __init__(self, X: Floats, y: Codes, classes: int, fewest: int) -> None:
        self.columns, self.y, self.classes, self.fewest = np.ascontiguousarray(X.T), y, classes, fewest
        self.order = np.argsort(self.columns, axis=1, kind="stable")
        self.sorted = np.take_along_axis(self.columns, self.order, axis=1)
        self.goes_left = np.zeros(y.size, bool)

    def grow(self) -> Grown:
        """Grow the tree from the root down; return its nodes."""
        nodes: list[list[Any]] = []
        waiting = [(self.order, -1, 0)]
        while waiting:
            order, parent, side = waiting.pop()
            counts = np.bincount(self.y[order[0]], minlength=self.classes)
            if parent >= 0:
                nodes[parent][side] = len(nodes)
            cut = self._cut(order, counts)
            nodes.append([-1, -1, *(cut or (0, np.nan, False)), counts])
            if cut is not None:
                here = len(nodes) - 1
                waiting += [(self._part(order, cut, left), here, 1 - left) for left in (False, True)]
        left, right, feature, threshold, missing_left, all_counts = map(np.array, zip(*nodes, strict=True))
        return Grown(left, right, feature, threshold.astype(float), missing_left, all_counts.astype(float))

    def _cut(self, order: Codes, counts: Codes) -> tuple[int, float, bool] | None:
        """Return a node's (attribute, threshold, whether missing values go left); None where it becomes a leaf."""
        if counts.max() == order.shape[1] or order.shape[1] < 2 * self.fewest:
            return None
        width = max(1, BLOCK // order.shape[1])
        parts = [self._best(order, slice(start, start + width)) for start in range(0, len(order), width)]
        fields = zip(*(vars(part).values() for part in parts), strict=True)
        cuts = CandidateCuts(*(np.concatenate(field) for field in fields))
        index = cuts.chosen()
        if index is None:
            return None
        middle = (cuts.below[index] + cuts.above[index]) / 2
        highest = min(middle, np.nextafter(cuts.above[index], -np.inf))
        last = np.searchsorted(self.sorted[index], highest, side="right") - 1
        return index, float(self.sorted[index, last]), bool(cuts.larger_left[index])

    def _best(self, order: Codes, some: slice) -> CandidateCuts:
        """Return the best cut of some attributes (a slice) among the records of a node.

        ``order``: these records sorted by every attribute, [attribute, i].
        """
        values = np.take_along_axis(self.columns[some], order[some], axis=1)
        return best_cuts(values, self.y[order[some]], self.classes, self.fewest)

    def _part(self, order: Codes, cut: tuple[int, float, bool], left: bool) -> Codes:
        """Return the records on one side of a cut, sorted by every attribute: [attribute, i]."""
        index, threshold, missing_left = cut
        records = order[0]
        values = self.columns[index, records]
        self.goes_left[records] = np.where(np.isnan(values), missing_left, values <= threshold)
        return np.asarray(order[self.goes_left[order] == left].reshape(len(order), -1))


# --- pruning ----------------------------------------------------------------------------------------------------------


def _replaced(grown: Grown, errors: Floats, leaf: Mask) -> Mask:
    """Prune a tree; return which of its nodes are leaves then, as truth values.

    Every node that makes no more errors as a leaf than the leaves below it becomes one.

    ``errors[node]``: the errors of a node as a leaf. ``leaf``: which nodes are leaves now.
    """
    least, leaves = errors.copy(), leaf.copy()
    for node in np.flatnonzero(~leaf)[::-1].tolist():
        below = least[grown.left[node]] + least[grown.right[node]]
        leaves[node] = errors[node] <= below
        least[node] = min(errors[node], below)
    return leaves


def _compact(grown: Grown, leaf: Mask) -> tuple[TreeNodes, Floats]:
    """Return a pruned tree: the nodes that can still be reached from the root, renumbered, and their class counts.

    ``leaf``: which nodes are leaves now.
    """
    reached = np.zeros(leaf.size, bool)
    reached[0] = True
    for node in np.flatnonzero(~leaf).tolist():
        reached[[grown.left[node], grown.right[node]]] = reached[node]
    number = np.cumsum(reached) - 1
    left, right = (np.where(leaf, -1, number[side])[reached] for side in (grown.left, grown.right))
    counts = grown.counts[reached]
    feature, threshold = np.where(leaf, 0, grown.feature)[reached], grown.threshold[reached]
    nodes = TreeNodes(left, right, feature, threshold, grown.missing_left[reached], counts.argmax(axis=1), False)
    return nodes, counts
