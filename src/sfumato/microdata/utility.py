"""What is still learnt from a release: classifiers trained on it and tested on original records; and risk against
utility: for a wanted risk, the method and the amount of noise that keep most."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sfumato.microdata.fields import Microdata, read_microdata
from sfumato.microdata.noise import Draws
from sfumato.microdata.pattern import grow_tree
from sfumato.microdata.releasing import Domains, release_records
from sfumato.microdata.risk import linkage, points
from sfumato.microdata.terms import METHODS, agree
from sfumato.prose import percent

SPLITS, MOST_RECORDS = 3, 20_000
AMOUNTS: dict[str, tuple[float, ...]] = {
    "leafwise": (0.1, 0.276, 0.5, 1.0),
    "gadp": (0.25, 0.5, 0.75, 1.0),
    "sadp": (0.25, 0.5, 1.0, 2.0, 4.0),
    "correlated": (0.25, 0.5, 1.0, 2.0, 4.0),
    "gadp-table": (0.25, 0.5, 0.75, 0.9, 1.0),
    "swap": (0.05, 0.15, 0.3, 0.6, 1.0),
}
CLASSIFIERS = ("tree", "naive Bayes", "logistic regression", "nearest neighbours")


@dataclass(frozen=True)
class Accuracy:
    """Mean accuracy on original records, after training on the original and on the release."""

    classifier: str
    original: float
    released: float


def train(classifier: str, data: Microdata, rows: Any, reference: Microdata) -> Any:
    """A function from records (of any table like the reference) to predicted class codes."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier

    if classifier == "tree":
        tree = grow_tree(data.X[rows], data.y[rows])
        return lambda records: tree.predict(records.X)
    model = {
        "naive Bayes": GaussianNB(),
        "logistic regression": LogisticRegression(max_iter=500),
        "nearest neighbours": KNeighborsClassifier(min(15, len(rows))),
    }[classifier]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(points(data, rows, reference), data.y[rows])
    return lambda records: model.predict(points(records, np.arange(len(records.y)), reference))


def accuracy(classifier: str, data: Microdata, rows: Any, reference: Microdata, unseen: Microdata) -> float:
    """The share of unseen records whose class is predicted after training on some rows."""
    return float((train(classifier, data, rows, reference)(unseen) == unseen.y).mean())


def accuracies(original: Microdata, released: Microdata, draws: Draws, splits: int = SPLITS) -> list[Accuracy]:
    """Two thirds train, in either version; the original others are predicted. Rare classes may miss a split."""
    scores: dict[str, list[tuple[float, float]]] = {name: [] for name in CLASSIFIERS}
    for _ in range(splits):
        order = np.argsort(draws.uniform(len(original.y)))[:MOST_RECORDS]
        learn, test = np.split(order, [2 * order.size // 3])
        if test.size == 0 or min(np.unique(d.y[learn]).size for d in (original, released)) < 2:
            continue
        unseen = original.take(test)
        for name in CLASSIFIERS:
            before, after = (accuracy(name, data, learn, original, unseen) for data in (original, released))
            scores[name].append((before, after))
    return [Accuracy(name, *np.mean(pairs, axis=0).tolist()) for name, pairs in scores.items() if pairs]


# --- risk against utility ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Point:
    """One release: the share of records linked, and the accuracy of classifiers trained on it."""

    method: str
    amount: float
    risk: float
    accuracy: float
    by_classifier: dict[str, float]


@dataclass(frozen=True)
class Frontier:
    """Releases by method and amount, and the accuracy without any noise."""

    points: tuple[Point, ...]
    original: float
    original_by_classifier: dict[str, float]

    def best(self, risk: float, methods: Sequence[str] | None = None) -> Point:
        """The most accurate release among those whose linkage risk is at most ``risk``."""
        allowed = [p for p in self.points if p.risk <= risk and (methods is None or p.method in methods)]
        if not allowed:
            least = min(self.points, key=lambda point: point.risk)
            raise ValueError(f"no release has risk {risk:g} or less; the least is {least.risk:.3g} ({least.method})")
        return max(allowed, key=lambda point: point.accuracy)

    def accuracy_at(self, method: str, risk: float, classifier: str | None = None) -> float:
        """Accuracy of a method at exactly this risk, between its two nearest amounts (or its end)."""
        own = sorted((p for p in self.points if p.method == method), key=lambda point: point.risk)
        scores = [p.accuracy if classifier is None else p.by_classifier[classifier] for p in own]
        return float(np.interp(risk, [p.risk for p in own], scores))

    def to_dict(self) -> dict[str, Any]:
        return {"original": self.original, "points": [asdict(point) for point in self.points]}

    def to_svg(self) -> str:
        """Accuracy against risk, one line a method; the best place is top left."""
        from sfumato.pages import scatter, to_svg

        series: dict[str, list[tuple[float, float, str]]] = {}
        for p in self.points:
            series.setdefault(p.method, []).append((p.risk, p.accuracy, f"amount {p.amount:g}"))
        chart = scatter(series, "share of records found by linkage", "accuracy on original records")
        return to_svg(chart, "accuracy against risk, one line a method")

    def __str__(self) -> str:
        rows = [
            f"{p.method:11} amount {p.amount:<6g} linked {percent(p.risk):>7}  accuracy {percent(p.accuracy)}"
            for p in self.points
        ]
        return "\n".join([f"original: accuracy {percent(self.original)}", *rows])


def find_frontier(
    table: Any,
    target: str,
    *,
    methods: Sequence[str] = METHODS,
    amounts: Mapping[str, Sequence[float]] | None = None,
    splits: int = 3,
    classifiers: Sequence[str] = CLASSIFIERS,
    domains: Domains | None = None,
    rng: np.random.Generator | int | None = 0,
    **options: Any,
) -> Frontier:
    """Release two thirds of the records by every method and amount; test on the others, which no release has seen.

    ``options`` are those of :func:`release`: noise, labels, perturb, attempts, keep.
    Tables beyond 20,000 records are sampled.
    """
    unknown = [method for method in methods if method not in METHODS]
    if unknown:
        raise ValueError(f"method {unknown[0]!r} is unknown; choose {', '.join(METHODS)}")
    grid = [(method, amount) for method in methods for amount in {**AMOUNTS, **(amounts or {})}[method]]
    data, draws = read_microdata(table, target, domains), Draws(rng)
    scores: dict[tuple[str, float], list[list[float]]] = {cell: [] for cell in grid}
    clean = []
    for _ in range(splits):
        order = np.argsort(draws.uniform(len(data.y)))[:MOST_RECORDS]
        learn, test = np.split(order, [2 * order.size // 3])
        part, unseen = data.take(learn), data.take(test)
        clean.append(_scores(part, part, unseen, classifiers))
        for method, amount in grid:
            terms = agree(part, method, amount, **options)
            released = release_records(part, terms, None, draws).released
            risk = linkage(part, released, draws)[0]
            scores[method, amount].append([risk, *_scores(released, part, unseen, classifiers)])
    return _frontier(grid, scores, clean, classifiers)


def _frontier(grid: Any, scores: Any, clean: Any, classifiers: Sequence[str]) -> Frontier:
    points = []
    for method, amount in grid:
        risk, *each = np.mean(scores[method, amount], axis=0).tolist()
        points.append(Point(method, amount, risk, float(np.mean(each)), dict(zip(classifiers, each, strict=True))))
    original = np.mean(clean, axis=0).tolist()
    return Frontier(tuple(points), float(np.mean(original)), dict(zip(classifiers, original, strict=True)))


def _scores(data: Microdata, reference: Microdata, unseen: Microdata, classifiers: Sequence[str]) -> list[float]:
    return [accuracy(name, data, np.arange(len(data.y)), reference, unseen) for name in classifiers]
