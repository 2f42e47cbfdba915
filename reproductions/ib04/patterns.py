"""IB04's experiments on patterns: the same tree again?

Of LIAPT in mixed leaves the text says 27.6 % of the value in one place and of the range in another; here of the range.

"as drawn" is the paper's recipe: its law, noise drawn once. "looked at" is how ``sf.release`` works: the owner looks at
a tree grown on the release and has noise drawn again where another cut would win.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reproductions import Rows
from reproductions.datasets import Dataset, load
from reproductions.ib04.baselines import GadpTable, Random
from reproductions.ib04.changes import first_changes
from reproductions.ib04.choices import CASES, WHOLE_FRAMEWORK, Choice, chosen
from sfumato.domain import Codes, Floats
from sfumato.microdata import IB04, Gadp, Method, Release, TreeComparison
from sfumato.microdata.draws import Draws
from sfumato.microdata.intruders.linkage import linked_by_attributes
from sfumato.microdata.methods.laws import PAPER_DEVIATION
from sfumato.microdata.patterns.c45 import C45Tree
from sfumato.microdata.patterns.nodes import TreeNodes, nodes_of

LOOKS = 60
DRAWN, LOOKED_AT = "as drawn", "looked at"
LINAPT, LIAPT = IB04(untested=False, labels="none"), IB04(tested=False, labels="none")
RPT = IB04(tested=False, untested=False)
WHOLE = "whole framework"
EXPERIMENTS: dict[str, tuple[int, Method]] = {
    "LINAPT": (15, LINAPT),
    "LIAPT": (10, LIAPT),
    WHOLE: (10, WHOLE_FRAMEWORK),
}
"""Runs and methods, each as drawn and looked at."""
ONCE: dict[str, tuple[int, Method]] = {
    "LIAPT in mixed leaves": (10, replace(LIAPT, untested="mixed")),
    "RPT": (10, RPT),
    "PPT": (10, replace(RPT, labels="ppt")),
    "ALPT": (10, replace(RPT, labels="alpt")),
    "random noise": (10, Random()),
    "GADP in leaves": (10, Gadp()),
    "GADP on the table": (10, GadpTable()),
}
"""Drawn once only."""
NOISE_ON: dict[str, Method] = {"tested only": LINAPT, "untested only": LIAPT, "all": IB04(labels="none")}
GADPS = ("GADP in leaves", "GADP on the table")


# --- the same tree again? ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Experiment:
    """Comparisons of a tree with those grown on several releases of one choice of cases."""

    name: str
    tree: str
    choice: str
    how: str
    comparisons: tuple[TreeComparison, ...]
    changes: Counter[str]
    leaves: tuple[int, ...]
    same_root: tuple[bool, ...]
    attributes_kept: tuple[float, ...]

    @property
    def runs(self) -> int:
        return len(self.comparisons)

    @property
    def identical(self) -> int:
        return sum(one.identical for one in self.comparisons)

    @property
    def almost(self) -> int:
        return sum(one.almost_the_same for one in self.comparisons)

    @property
    def covered(self) -> float:
        return float(np.mean([one.share_covered for one in self.comparisons]))

    @property
    def rules(self) -> float:
        return float(np.mean([one.share_kept for one in self.comparisons]))

    @property
    def others(self) -> list[int]:
        """The runs whose trees are not even almost the same."""
        return [run for run, one in enumerate(self.comparisons) if not one.almost_the_same]

    def row(self) -> dict[str, Any]:
        return {
            "experiment": self.name, "tree": self.tree, "cases": self.choice, "noise": self.how, "runs": self.runs,
            "identical": self.identical, "same or almost": self.almost, "rules kept": round(self.rules, 4),
            "records under kept rules": round(self.covered, 4), "leaves": round(float(np.mean(self.leaves)), 1),
        }  # fmt: skip


def pattern_experiments(
    choices: dict[str, list[Choice]], seed: int = 1, runs: int | None = None, looks: int = LOOKS
) -> list[Experiment]:
    """Every experiment on every choice of cases, with every tree; ``runs`` caps how often."""
    found = []
    for kind, several in choices.items():
        for choice in several:
            for name, (usual, method) in {**EXPERIMENTS, **ONCE}.items():
                count = usual if runs is None else min(runs, usual)
                found.append(one_experiment(name, kind, choice, DRAWN, count, seed, method))
                if name in EXPERIMENTS:
                    found.append(one_experiment(name, kind, choice, LOOKED_AT, count, seed, method, looks))
    return found


def one_experiment(
    name: str, kind: str, choice: Choice, how: str, runs: int, seed: int, method: Method, looks: int = 0
) -> Experiment:
    grown = [choice.again(choice.release(seed + run, looks, method)) for run in range(runs)]
    tested, again = (
        [_tested(nodes_of(tree), choice.data.attributes) for tree in trees] for trees in ([choice.tree], grown)
    )
    return Experiment(
        name, kind, choice.name, how,
        comparisons=tuple(choice.compared(tree) for tree in grown),
        changes=first_changes(choice, grown),
        leaves=tuple(int(tree.get_n_leaves()) for tree in grown),
        same_root=tuple(nodes_of(tree).feature[0] == choice.nodes.feature[0] for tree in grown),
        attributes_kept=tuple(len(tested[0] & names) / len(tested[0]) for names in again),
    )  # fmt: skip


def noise_rows(choice: Choice, runs: int = 15, amounts: Sequence[float] = (1, 0.5, 0.25, 0.15, 0.1)) -> Rows:
    """LINAPT with less and less noise than the paper states: which one would give the paper's counts?"""
    rows = []
    for amount in amounts:
        one = one_experiment("LINAPT", "C4.5", choice, DRAWN, runs, 1, replace(LINAPT, amount=amount))
        counts = {"runs": runs, "identical": one.identical, "same or almost": one.almost}
        rows.append({"deviation": round(PAPER_DEVIATION * amount, 4), **counts})
    return rows


def size_rows(count: int = 5, runs: int = 15) -> Rows:
    """LINAPT and LIAPT through C4.5 trees that are pruned harder: the smaller the tree, the less can change."""
    rows = []
    for tree in (C45Tree(), C45Tree(confidence=0.05), C45Tree(min_cases=5, confidence=0.05)):
        for choice in chosen(load("wbc"), CASES, count, tree):
            own = {"min_cases": tree.min_cases, "confidence": tree.confidence, "cases": choice.name}
            row = {**own, "leaves": choice.tree.get_n_leaves(), "runs": runs}
            for name, method in (("LINAPT", LINAPT), ("LIAPT", LIAPT)):
                one = one_experiment(name, "C4.5", choice, DRAWN, runs, 1, method)
                row |= {f"{name} identical": one.identical, f"{name} same or almost": one.almost}
            rows.append(row)
    return rows


# --- Boston, and what else the text says ------------------------------------------------------------------------------


@dataclass(frozen=True)
class BostonTrees:
    """Attributes that the original tree tests, and those of them that every regrown tree tests."""

    tree: str
    choice: str
    how: str
    original: frozenset[str]
    in_every_tree: frozenset[str]
    covered: float
    changes: Counter[str]

    def row(self) -> dict[str, Any]:
        return {
            "experiment": "RPT on Boston", "tree": self.tree, "cases": self.choice, "noise": self.how,
            "attributes": len(self.original), "in every tree": len(self.in_every_tree),
            "records under kept rules": round(self.covered, 4),
        }  # fmt: skip


def boston_experiment(
    choices: dict[str, list[Choice]], seed: int = 1, runs: int = 5, looks: int = LOOKS
) -> list[BostonTrees]:
    """RPT alone: only the classes move."""
    found = []
    for kind, several in choices.items():
        for choice in several:
            for how, most in ((DRAWN, 0), (LOOKED_AT, looks)):
                grown = [choice.again(choice.release(seed + run, most, RPT)) for run in range(runs)]
                names = [_tested(nodes_of(tree), choice.data.attributes) for tree in (choice.tree, *grown)]
                covered = float(np.mean([choice.compared(tree).share_covered for tree in grown]))
                every = names[0].intersection(*names[1:])
                changes = first_changes(choice, grown)
                found.append(BostonTrees(kind, choice.name, how, names[0], every, covered, changes))
    return found


def _tested(nodes: TreeNodes, names: list[str]) -> frozenset[str]:
    return frozenset(np.array(names)[nodes.feature[~nodes.is_leaf]].tolist())


@dataclass(frozen=True)
class Range:
    """LINAPT's values: how many left their leaf's range, the noise by the range's width, and how much of its domain a
    path leaves open to an attribute that it tests."""

    outside: int
    deviation: dict[int, float]
    open: float


def range_of_noise(choice: Choice, runs: int = 15) -> Range:
    outside, open_share = 0, 0.0
    by_width: dict[int, list[Floats]] = {}
    for run in range(runs):
        done = choice.release(run, method=LINAPT)
        leaves = done.leaves
        assert leaves is not None
        lower, upper = leaves.lower[leaves.leaf], leaves.upper[leaves.leaf]
        tested = leaves.tested[leaves.leaf] & ~np.isnan(done.original.X)
        released, width = done.released.X, upper - lower
        open_share = float((width[tested] + 1).mean() / 10)
        outside += int((tested & ((released < lower) | (released > upper))).sum())
        for wide in np.unique(width[tested & (width > 0)]):
            rows = tested & (width == wide)
            by_width.setdefault(int(wide), []).append((released - done.original.X)[rows] / wide)
    deviation = {wide: float(np.concatenate(parts).std()) for wide, parts in sorted(by_width.items())}
    return Range(outside, deviation, open_share)


def linkage_rows(choices: list[Choice], runs: int = 5) -> Rows:
    """Records found by one who knows every attribute: noise on the tested attributes only, and on all."""
    rows = []
    for choice in choices:
        linked = {
            name: float(np.mean([_linked(choice.release(run, method=method)) for run in range(runs)]))
            for name, method in NOISE_ON.items()
        }
        rows.append({"cases": choice.name, **{name: round(share, 4) for name, share in linked.items()}})
    return rows


def _linked(done: Release) -> float:
    return linked_by_attributes(done, Draws(0))


def network_rows(choices: list[Choice], whole: Dataset, amounts: Sequence[float] = (0.05, 0.1, 0.276, 0.5)) -> Rows:
    """Rules kept by releases of many kinds, and the accuracy of a neural network on the other records of the table."""
    kinds: list[tuple[str, Method]] = [(f"random {amount:g}", Random(amount)) for amount in amounts]
    kinds += [("LINAPT", LINAPT), (WHOLE, WHOLE_FRAMEWORK), *((name, ONCE[name][1]) for name in GADPS)]
    rows = []
    for choice in choices:
        for name, method in kinds:
            done = choice.release(1, method=method)
            covered = choice.compared(choice.again(done)).share_covered
            network = _network(done, whole, choice.rows)
            own = {"cases": choice.name, "release": name}
            rows.append({**own, "records under kept rules": round(covered, 4), "network": round(network, 4)})
    return rows


def _network(done: Release, whole: Dataset, used: Codes) -> float:
    """Accuracy on the records of the table that the release has not seen."""
    from sklearn.impute import SimpleImputer
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    unseen = np.setdiff1d(np.arange(len(whole)), used)
    network = MLPClassifier((10,), alpha=1.0, solver="lbfgs", max_iter=2_000, random_state=0)
    model = make_pipeline(SimpleImputer(), StandardScaler(), network)
    model.fit(done.released.X, np.array(done.released.classes)[done.released.y])
    return float(model.score(whole.X[unseen], whole.y[unseen]))
