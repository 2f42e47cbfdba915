"""What is kept beyond the tree: accuracy on four data sets, moments, utility at equal risk; and what rotation and
projection keep and give away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import sfumato as sf
from reproductions import Rows
from reproductions.datasets import Dataset, load, median_split
from reproductions.ib04 import linear
from reproductions.ib04.baselines import BASELINES, OURS, Correlated, GadpTable, Sadp
from sfumato.domain import Codes, Floats
from sfumato.microdata import Frontier, Gadp, Method, find_frontier
from sfumato.microdata.draws import Draws
from sfumato.microdata.judged.utility import CLASSIFIERS, scores
from sfumato.microdata.kept.measures import find_biases
from sfumato.microdata.methods.method import agree
from sfumato.microdata.releasing import release_records
from sfumato.microdata.table.fields import read_microdata
from sfumato.microdata.table.points import points

DATASETS = ("wbc", "boston", "pima", "adult")
ADULT_RECORDS = 9_000
MOMENTS: tuple[Method, ...] = (Gadp(), Sadp(), Correlated(), GadpTable())


def dataset(name: str, records: int = ADULT_RECORDS) -> Dataset:
    """One of the four, numeric attributes only; of Adult a random part, to keep twenty splits affordable."""
    data = load(name).numeric().complete()
    if name == "boston":
        return median_split(data)
    if len(data) > records:
        return data.take(np.random.default_rng(0).permutation(len(data))[:records])
    return data


def accuracy_rows(names: tuple[str, ...] = DATASETS, splits: int = 20, **options: Any) -> Rows:
    """Accuracy on held-out original records, after training on the original and on its release, in points."""
    rows = []
    for name in names:
        found = np.array([_one_split(dataset(name), seed, options) for seed in range(splits)])
        before, after = found.mean(axis=0)
        error = (found[:, 1] - found[:, 0]).std(axis=0, ddof=1) / np.sqrt(splits)
        for place, classifier in enumerate(CLASSIFIERS):
            drop, margin = 100 * (before - after)[place], 100 * error[place]
            parts = {"original": round(before[place], 4), "released": round(after[place], 4)}
            rows.append(
                {"data": name, "classifier": classifier, **parts, "points lost": round(drop, 2), "±": round(margin, 2)}
            )
    return rows


def _one_split(data: Dataset, seed: int, options: dict[str, Any]) -> list[list[float]]:
    order = np.random.default_rng(seed).permutation(len(data))
    learn, test = np.split(order, [2 * len(order) // 3])
    part = read_microdata(data.take(learn).columns, data.target)
    unseen = read_microdata(data.take(test).columns, data.target)
    done = sf.release(data.take(learn).columns, data.target, rng=np.random.default_rng([seed, 1]), **options)
    return [scores(version, unseen) for version in (part, done.released)]


@dataclass(frozen=True)
class Moments:
    """Of the biases of each type, how many lay within their 99 % intervals, and of how many: of the whole table, and
    inside leaves."""

    method: str
    overall: dict[str, tuple[int, int]]
    in_leaves: tuple[int, int]

    def share(self, types: str) -> float:
        within, total = np.sum([self.overall[kind] for kind in types], axis=0)
        return float(within / total)

    def row(self) -> dict[str, Any]:
        shares = {f"type {kind} within": round(self.share(kind), 4) for kind in "ABCD"}
        within, total = self.in_leaves
        return {"method": self.method, **shares, "A and B within, in leaves": round(within / total, 4) if total else ""}


def moment_checks(runs: int = 10, n: int = 3_000) -> list[Moments]:
    """Biases on multivariate normal records, in leaves and by whole-table methods."""
    found = []
    for method in MOMENTS:
        overall, leaves = {kind: np.zeros(2, int) for kind in "ABCD"}, np.zeros(2, int)
        for run in range(runs):
            data = read_microdata(normal_records(n, run), "group")
            done = release_records(data, agree(data, method), Draws(np.random.default_rng([run, 1])))
            for kind in overall:
                overall[kind] += _within(done.original, done.released, kind)
            if done.leaves is not None:
                for leaf in np.flatnonzero(done.leaves.nodes.is_leaf).tolist():
                    rows = done.leaves.records(leaf)
                    leaves += _within(done.original.take(rows), done.released.take(rows), "AB")
        counted = {kind: (int(count[0]), int(count[1])) for kind, count in overall.items()}
        found.append(Moments(method.name, counted, (int(leaves[0]), int(leaves[1]))))
    return found


def normal_records(n: int, seed: int) -> dict[str, Any]:
    """Four correlated normal attributes and a class that depends on the first."""
    correlation = np.array([[1, 0.6, 0.3, 0], [0.6, 1, 0.5, 0.2], [0.3, 0.5, 1, -0.4], [0, 0.2, -0.4, 1]])
    rng = np.random.default_rng(seed)
    X = rng.multivariate_normal(np.zeros(4), correlation, n)
    group = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, "a", "b")
    return {**{f"x{place}": column for place, column in enumerate(X.T)}, "group": group}


def _within(original: Any, released: Any, types: str) -> Any:
    checked = [bias for bias in find_biases(original, released) if bias.type in types]
    return np.array([sum(bias.within for bias in checked), len(checked)])


def frontiers(names: tuple[str, ...] = DATASETS, splits: int = 10, records: int = 3_000) -> dict[str, Frontier]:
    data = {name: dataset(name, records) for name in names}
    methods = [variant for method in (*OURS, *BASELINES) for variant in method.varied()]
    wanted: dict[str, Any] = {"methods": methods, "splits": splits, "classifiers": CLASSIFIERS}
    return {name: find_frontier(one.columns, one.target, **wanted) for name, one in data.items()}


def accuracy_at(frontier: Frontier, method: str, risk: float) -> float:
    """Accuracy of a method at exactly this risk, between its two nearest amounts (or its end)."""
    own = sorted((p for p in frontier.points if p.method == method), key=lambda point: point.risk)
    return float(np.interp(risk, [p.risk for p in own], [p.accuracy for p in own]))


def equal_risk_rows(found: dict[str, Frontier], amount: float = 1.0) -> Rows:
    """Each baseline at the stated risk of our releases with this amount: mean accuracy of the four classifiers."""
    rows = []
    for name, frontier in found.items():
        for ours in (p for p in frontier.points if p.method in {one.name for one in OURS} and p.amount == amount):
            theirs = {one.name: round(accuracy_at(frontier, one.name, ours.risk), 4) for one in BASELINES}
            own = {"risk": round(ours.risk, 4), "accuracy": round(ours.accuracy, 4)}
            wins = ours.accuracy >= max(theirs.values())
            rows.append({"data": name, "method": ours.method, **own, **theirs, "wins": wins})
    return rows


def frontier_rows(found: dict[str, Frontier]) -> Rows:
    """The risk and the accuracy of every release that a frontier goes through."""
    return [
        {"data": name, "method": p.method, "amount": p.amount, "risk": round(p.risk, 4)}
        | {classifier: round(score, 4) for classifier, score in p.by_classifier.items()}
        for name, one in found.items()
        for p in one.points
    ]


# --- rotation and projection ------------------------------------------------------------------------------------------


def linear_rows(names: tuple[str, ...] = ("wbc", "boston", "pima"), splits: int = 5) -> Rows:
    """Rotated and projected tables: mean accuracy of the classifiers on records treated alike, and the share of values
    that intruders get within a tenth of a deviation. Half of the attributes survive a projection."""
    rows = []
    for name in names:
        data = dataset(name)
        for method in ("rotation", "projection"):
            found = [_one_transform(data, method, seed) for seed in range(splits)]
            means = {key: round(float(np.mean([one[key] for one in found])), 4) for key in found[0]}
            rows.append({"data": name, "method": method, "attributes": len(data.attributes), **means})
    return rows


def _one_transform(data: Dataset, method: str, seed: int) -> dict[str, float]:
    order, draws = np.random.default_rng(seed).permutation(len(data)), Draws(seed)
    learn, test = np.split(order, [2 * len(order) // 3])
    whole = read_microdata(data.columns, data.target)
    Z = points(whole, whole)
    p = Z.shape[1]
    matrix = linear.random_rotation(p, draws) if method == "rotation" else linear.random_projection(p, p // 2, draws)
    accuracy = [_accuracy(version, data.y, learn, test) for version in (Z, Z @ matrix)]
    released, true, pairs = (Z @ matrix)[learn], Z[learn], learn.size // 2
    found = {"accuracy, original": accuracy[0], "accuracy": accuracy[1]}
    found["guessing the mean"] = linear.exposed(true, 0 * true)
    for count in (p // 2, 2 * p):
        rows = np.arange(min(count, pairs))
        if method == "rotation":
            guess = linear.undo_rotation(released, true[rows], rows)
        else:
            guess = linear.undo_projection(released, true[rows], rows, np.cov(Z[test].T))
        key = "exposed, pairs: half the attributes" if count < p else "exposed, pairs: twice the attributes"
        found[key] = linear.exposed(true[rows.size :], guess[rows.size :])
    if method == "rotation":
        found["exposed, sample of others"] = linear.exposed(true, linear.undo_rotation_by_sample(released, Z[test]))
    return found


def _accuracy(Z: Floats, y: Any, learn: Codes, test: Codes) -> float:
    columns = {f"c{place}": column for place, column in enumerate(Z.T)}
    table = read_microdata({**columns, "class": y}, "class")
    part = table.take(learn)
    return float(np.mean(scores(part, table.take(test))))
