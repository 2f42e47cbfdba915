"""IB04's cases, and the trees grown on them.

The paper grows C5 trees on 349 cases of Wisconsin breast cancer and does not say which. With C4.5 the first 349 of the
699 records, gaps and all, give the tree of its Figure 1 as far as the text describes it (12 tests, 13 leaves, 7
attributes, the same first leaf); so these are taken for the paper's own. Because one choice is one choice, five random
ones stand beside it, and scikit-learn's entropy trees with 13 leaves (6 for Boston) beside C4.5. For Boston neither the
300 cases nor the classes are stated: the first 300 and five random choices, prices cut at the median.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

import sfumato as sf
from reproductions.datasets import Dataset, load, median_split
from sfumato.domain import Codes
from sfumato.microdata import IB04, Method, Release, TreeComparison, compare_trees
from sfumato.microdata.draws import Draws
from sfumato.microdata.methods.method import InLeaves, agree
from sfumato.microdata.patterns.c45 import C45Tree
from sfumato.microdata.patterns.nodes import TreeNodes, nodes_of
from sfumato.microdata.releasing import release_records
from sfumato.microdata.table.fields import read_microdata

CASES, BOSTON_CASES = 349, 300
LEAVES, BOSTON_LEAVES = 13, 6
TREES = ("C4.5", "CART")
WHOLE_FRAMEWORK = IB04()
"""LINAPT, LIAPT and RPT together."""


@dataclass(frozen=True)
class Choice:
    """Cases of a data set, and the tree grown on them."""

    name: str
    rows: Codes
    data: Dataset
    tree: Any

    @cached_property
    def nodes(self) -> TreeNodes:
        return nodes_of(self.tree)

    def release(self, seed: int, looks: int = 0, method: Method = WHOLE_FRAMEWORK) -> Release:
        """The method alone: what ``sf.release`` does beyond the paper (to rare values, gaps, rows) is left out."""
        data = read_microdata(self.data.columns, self.data.target, self.domains)
        if isinstance(method, IB04):
            method = replace(method, law="additive" if looks else "paper", attempts=looks)
        if isinstance(method, InLeaves):
            method = replace(method, leaves=self.tree)
        return release_records(data, agree(data, method), Draws(np.random.default_rng([seed, CASES])))

    @property
    def domains(self) -> dict[str, Any]:
        scores = self.data.attributes if self.data.name == "wbc" else ()
        return {name: sf.Interval(1, 10, integer=True) for name in scores}

    def again(self, done: Release) -> Any:
        """The same kind of tree, grown on the release."""
        from sklearn.base import clone

        return clone(self.tree).fit(done.released.X, np.array(done.released.classes)[done.released.y])

    def compared(self, tree: Any) -> TreeComparison:
        return compare_trees(self.tree, tree, self.data.X, self.data.attributes)


def a_tree(kind: str, leaves: int = LEAVES) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    if kind == "C4.5":
        return C45Tree()
    return DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2, max_leaf_nodes=leaves, random_state=0)


def chosen(data: Dataset, cases: int, count: int, tree: Any) -> list[Choice]:
    """The first cases, and so many random choices of as many."""
    from sklearn.base import clone

    rows = {f"first {cases}": np.arange(cases)}
    for seed in range(1, count + 1):
        rows[f"choice {seed}"] = np.sort(np.random.default_rng(seed).permutation(len(data))[:cases])
    parts = {name: data.take(some) for name, some in rows.items()}
    return [Choice(name, rows[name], part, clone(tree).fit(part.X, part.y)) for name, part in parts.items()]


def breast_cancer(kind: str, count: int = 5) -> list[Choice]:
    return chosen(load("wbc"), CASES, count, a_tree(kind))


def boston(kind: str, count: int = 5) -> list[Choice]:
    return chosen(median_split(load("boston")), BOSTON_CASES, count, a_tree(kind, BOSTON_LEAVES))
