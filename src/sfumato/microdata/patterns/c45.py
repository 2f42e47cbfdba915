"""A tree after Quinlan's C4.5 (1993; numeric cuts as in 1996), the kind that IB04 looks through.

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
from sfumato.microdata.patterns.nodes import Nodes
from sfumato.microdata.table.fields import Mask

MOST_CASES = 25
"""The most that a side of a cut must hold, however many records there are."""
NEARLY = 1e-3
"""By how much a gain may miss the average, as in C4.5."""
BLOCK = 1 << 21
"""Values that are looked at in one go; bounds the memory that a large table takes."""


class C45Tree(ClassifierMixin, BaseEstimator):
    """A classification tree by gain ratio with pessimistic pruning; missing values are NaN.

    min_cases   the fewest records on either side of a cut
    confidence  of the upper error limit: smaller prunes more; None does not prune

    Fitted: ``classes_``, ``tree_`` (its nodes), ``counts_`` (training records by node and class).
    """

    def __init__(self, min_cases: int = 2, confidence: float | None = 0.25) -> None:
        self.min_cases = min_cases
        self.confidence = confidence

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:
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
        """The leaf of each record, as a place in ``tree_``."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        return self.tree_.descend(X)

    def predict_proba(self, X: Any) -> Floats:
        """The classes' shares among the training records of the leaf."""
        leaves = self.apply(X)
        counts = self.counts_[leaves]
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> Any:
        leaves = self.apply(X)
        return self.classes_[self.tree_.prediction[leaves]]

    def get_n_leaves(self) -> int:
        check_is_fitted(self)
        return int(self.tree_.is_leaf.sum())

    @property
    def expected_errors_(self) -> float:
        """Σ N·U(E, N) over the leaves: what pruning makes small."""
        counts = self.counts_[self.tree_.is_leaf]
        return float(expected_errors(counts, 0.25 if self.confidence is None else self.confidence).sum())


# --- errors expected --------------------------------------------------------------------------------------------------


def upper_error(errors: Any, cases: Any, confidence: float) -> Floats:
    """U(E, N): the error probability p at which E errors or fewer in N cases have probability ``confidence``."""
    E, N = np.broadcast_arrays(np.asarray(errors, float), np.asarray(cases, float))
    limit = np.ones(E.shape)
    some = E < N
    limit[some] = betaincinv(E[some] + 1, N[some] - E[some], 1 - confidence)
    return limit


def expected_errors(counts: Floats, confidence: float) -> Floats:
    """N·U(E, N) of leaves with these counts by class."""
    cases = counts.sum(axis=-1)
    return np.asarray(cases * upper_error(cases - counts.max(axis=-1), cases, confidence))


# --- growing ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cuts:
    """The best cut of every attribute of a node: gain less its cost, gain ratio, both neighbours' values; NaN: none."""

    gain: Floats
    ratio: Floats
    below: Floats
    above: Floats
    larger_left: Mask

    def able(self) -> Mask:
        """The attributes that gain something, and at least the average of those that do."""
        useful = self.gain > 1e-12
        least = self.gain[useful].mean() - NEARLY if useful.any() else np.inf
        return np.asarray(useful & (self.gain >= least))

    def chosen(self) -> int | None:
        """The attribute to test, of those able the one with the best ratio; None where none is."""
        able = self.able()
        return int(np.argmax(np.where(able, self.ratio, -1.0))) if able.any() else None


def best_cuts(values: Floats, y: Codes, classes: int, fewest: int) -> Cuts:
    """``values[attribute, place]`` in ascending order, missing ones last; ``y`` the classes at these places."""
    attributes, n = values.shape
    known = n - np.isnan(values).sum(axis=1)
    least = np.maximum(fewest, np.minimum(0.1 * known / classes, MOST_CASES))
    left = np.arange(1, n)
    able = (values[:, 1:] > values[:, :-1]) & (left >= least[:, None]) & (known[:, None] - left >= least[:, None])
    which, place = np.nonzero(able)
    gains, ratios, lower, upper = np.full((4, attributes), np.nan)
    found = Cuts(gains, ratios, lower, upper, np.zeros(attributes, bool))
    if not which.size:
        return found
    below, all_known = np.empty((which.size, classes)), np.empty((attributes, classes))
    for label in range(classes):
        count = np.cumsum(y == label, axis=1, dtype=np.int32)
        below[:, label] = count[which, place]
        all_known[:, label] = count[np.arange(attributes), np.maximum(known, 1) - 1]
    gain = (_bits(all_known)[which] - _bits(below) - _bits(all_known[which] - below)) / n
    tries = np.bincount(which, minlength=attributes)
    first = np.searchsorted(which, np.flatnonzero(tries))
    best = first + np.array([np.argmax(part) for part in np.split(gain, first[1:])])
    some, at = which[best], place[best]
    sides = np.stack([at + 1.0, known[some] - at - 1.0, n - known[some]], axis=1)
    found.gain[some] = gain[best] - np.log2(tries[some]) / n
    found.ratio[some] = found.gain[some] / (_bits(sides) / n)
    found.below[some], found.above[some] = values[some, at], values[some, at + 1]
    found.larger_left[some] = sides[:, 0] >= sides[:, 1]
    return found


def _bits(counts: Floats) -> Floats:
    """|S|·info(S), one row a set of records."""
    return np.asarray((xlogy(total := counts.sum(axis=1), total) - xlogy(counts, counts).sum(axis=1)) / np.log(2))


@dataclass(frozen=True)
class Grown:
    """Nodes in the order of growing, parents before children."""

    left: Codes
    right: Codes
    feature: Codes
    threshold: Floats
    missing_left: Mask
    counts: Floats


class _Growth:
    """Records are sorted once by every attribute; a cut parts these orders and keeps them sorted."""

    def __init__(self, X: Floats, y: Codes, classes: int, fewest: int) -> None:
        self.columns, self.y, self.classes, self.fewest = np.ascontiguousarray(X.T), y, classes, fewest
        self.order = np.argsort(self.columns, axis=1, kind="stable")
        self.sorted = np.take_along_axis(self.columns, self.order, axis=1)
        self.goes_left = np.zeros(y.size, bool)

    def grow(self) -> Grown:
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
        if counts.max() == order.shape[1] or order.shape[1] < 2 * self.fewest:
            return None
        width = max(1, BLOCK // order.shape[1])
        parts = [self._best(order, slice(start, start + width)) for start in range(0, len(order), width)]
        cuts = Cuts(*(np.concatenate(part) for part in zip(*(vars(one).values() for one in parts), strict=True)))
        place = cuts.chosen()
        if place is None:
            return None
        middle = (cuts.below[place] + cuts.above[place]) / 2
        highest = min(middle, np.nextafter(cuts.above[place], -np.inf))
        last = np.searchsorted(self.sorted[place], highest, side="right") - 1
        return place, float(self.sorted[place, last]), bool(cuts.larger_left[place])

    def _best(self, order: Codes, some: slice) -> Cuts:
        values = np.take_along_axis(self.columns[some], order[some], axis=1)
        return best_cuts(values, self.y[order[some]], self.classes, self.fewest)

    def _part(self, order: Codes, cut: tuple[int, float, bool], left: bool) -> Codes:
        place, threshold, missing_left = cut
        records = order[0]
        values = self.columns[place, records]
        self.goes_left[records] = np.where(np.isnan(values), missing_left, values <= threshold)
        return np.asarray(order[self.goes_left[order] == left].reshape(len(order), -1))


# --- pruning ----------------------------------------------------------------------------------------------------------


def _replaced(grown: Grown, errors: Floats, leaf: Mask) -> Mask:
    """The leaves, once every node that makes no more errors as a leaf than its leaves do together has become one."""
    least, found = errors.copy(), leaf.copy()
    for node in np.flatnonzero(~leaf)[::-1].tolist():
        below = least[grown.left[node]] + least[grown.right[node]]
        found[node] = errors[node] <= below
        least[node] = min(errors[node], below)
    return found


def _compact(grown: Grown, leaf: Mask) -> tuple[Nodes, Floats]:
    """The nodes that are still reached, renumbered from the root."""
    reached = np.zeros(leaf.size, bool)
    reached[0] = True
    for node in np.flatnonzero(~leaf).tolist():
        reached[[grown.left[node], grown.right[node]]] = reached[node]
    number = np.cumsum(reached) - 1
    left, right = (np.where(leaf, -1, number[side])[reached] for side in (grown.left, grown.right))
    counts = grown.counts[reached]
    feature, threshold = np.where(leaf, 0, grown.feature)[reached], grown.threshold[reached]
    nodes = Nodes(left, right, feature, threshold, grown.missing_left[reached], counts.argmax(axis=1), False)
    return nodes, counts
