"""IB04's experiments on patterns: LINAPT and LIAPT on Wisconsin breast cancer, RPT on Boston housing.

The paper grows C5 trees; here scikit-learn's entropy trees of the same size stand in. It does not say which 349 of
the 683 complete cases, or which 300 of Boston's 506, it took: here the first ones. Each experiment runs as in the
paper, where noise is drawn once ("as drawn"), and as ``sf.release`` works, which looks at a tree grown on the release
and draws again where another cut would win ("looked at").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.domain import Interval
from sfumato.microdata import RuleComparison, compare_trees, release
from sfumato.papers.datasets import Dataset, load, median_split

CASES, BOSTON_CASES = 349, 300
LEAVES, BOSTON_LEAVES = 13, 6
LOOKS = 60


@dataclass(frozen=True)
class Experiment:
    """Comparisons of the original tree with the trees grown on several releases."""

    name: str
    looked_at: bool
    comparisons: tuple[RuleComparison, ...]

    @property
    def identical(self) -> int:
        return sum(one.identical for one in self.comparisons)

    @property
    def almost(self) -> int:
        return sum(one.almost_the_same for one in self.comparisons)

    @property
    def covered(self) -> float:
        return float(np.mean([one.share_covered for one in self.comparisons]))

    def row(self) -> dict[str, Any]:
        return {
            "experiment": self.name,
            "noise": "looked at" if self.looked_at else "as drawn",
            "runs": len(self.comparisons),
            "identical": self.identical,
            "same or almost": self.almost,
            "records under kept rules": round(self.covered, 4),
        }


def breast_cancer() -> Dataset:
    return load("wbc").complete().take(np.arange(CASES))


def comparable_tree(data: Dataset, leaves: int = LEAVES) -> Any:
    """A tree of the paper's size: 12 tests and 13 leaves on breast cancer."""
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2, max_leaf_nodes=leaves, random_state=0)
    return tree.fit(data.X, data.y)


def pattern_experiments(seed: int = 1, runs: tuple[int, int, int] = (15, 10, 10)) -> list[Experiment]:
    """LINAPT, LIAPT and the whole framework, with the paper's additive law and, for the whole, with rank noise."""
    data = breast_cancer()
    tree = comparable_tree(data)
    domains = {name: Interval(1, 10, integer=True) for name in data.attributes}
    cases = (
        ("LINAPT", runs[0], {"perturb": "tested", "labels": "none", "noise": "additive"}),
        ("LIAPT", runs[1], {"perturb": "untested", "labels": "none", "noise": "additive"}),
        ("whole framework", runs[2], {"noise": "additive"}),
        ("whole framework, rank noise", runs[2], {"noise": "rank"}),
    )
    found = []
    for name, count, options in cases:
        for looks in (0, LOOKS):
            again = _comparer(data, tree, {"domains": domains, "attempts": looks, **options})
            found.append(Experiment(name, looks > 0, tuple(again(seed + run) for run in range(count))))
    return found


def _comparer(data: Dataset, tree: Any, options: dict[str, Any]) -> Callable[[int], RuleComparison]:
    def compare(seed: int) -> RuleComparison:
        done = release(data.columns, data.target, tree=tree, rng=np.random.default_rng(seed), **options)
        regrown = done.regrow(done.released.X, done.released.y)
        return compare_trees(tree, regrown, data.X, data.attributes, classes=tree.classes_)

    return compare


@dataclass(frozen=True)
class BostonTrees:
    """Attributes that the original tree tests, and those of them that every regrown tree tests."""

    original: frozenset[str]
    in_every_tree: frozenset[str]


def boston_experiment(seed: int = 1, runs: int = 5, looks: int = LOOKS) -> BostonTrees:
    """RPT alone: only the classes move."""
    data = median_split(load("boston")).take(np.arange(BOSTON_CASES))
    tree = comparable_tree(data, BOSTON_LEAVES)
    names = np.array(data.attributes)
    original = frozenset(names[tree.tree_.feature[tree.tree_.feature >= 0]].tolist())
    common = set(original)
    for run in range(runs):
        done = release(data.columns, data.target, tree=tree, perturb="none", attempts=looks, rng=seed + run)
        nodes = done.regrow(done.released.X, done.released.y)
        common &= set(names[nodes.feature[~nodes.is_leaf]].tolist())
    return BostonTrees(original, frozenset(common))
