"""What is still learnt from a release: classifiers trained on it and tested on original records; and risk against
utility: for a wanted risk, the method and the amount of noise that keep most."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sfumato.domain import Codes
from sfumato.microdata.fields import Microdata
from sfumato.microdata.measures import linkage, points
from sfumato.microdata.noise import Draws
from sfumato.microdata.pattern import grow_number_tree, grow_tree
from sfumato.microdata.releasing import Domains, read_records, release_records
from sfumato.microdata.terms import METHODS, agree
from sfumato.prose import percent

SPLITS, MOST_RECORDS = 3, 20_000
AMOUNTS: dict[str, tuple[float, ...]] = {
    "leafwise": (5.0, 10.0, 20.0, 50.0),
    "gadp": (0.25, 0.5, 0.75, 1.0),
    "sadp": (0.25, 0.5, 1.0, 2.0, 4.0),
    "correlated": (0.25, 0.5, 1.0, 2.0, 4.0),
    "gadp-table": (0.25, 0.5, 0.75, 0.9, 1.0),
    "swap": (0.05, 0.15, 0.3, 0.6, 1.0),
    "random": (0.05, 0.1, 0.276, 0.5),
}
OWN_LAW_AMOUNTS = (0.1, 0.276, 0.5, 1.0)
"""Of "leafwise" with rank or additive noise, whose amounts are shares; those above are numbers of donors."""
CLASSIFIERS = ("tree", "naive Bayes", "logistic regression", "nearest neighbours")
REGRESSORS = ("tree", "linear regression", "nearest neighbours")


@dataclass(frozen=True)
class Accuracy:
    """Mean accuracy (of a number: R²) on original records, after training on the original and on the release."""

    classifier: str
    original: float
    released: float


def scores(
    training: Microdata, reference: Microdata, unseen: Microdata, classifiers: Sequence[str] = CLASSIFIERS
) -> list[float]:
    """Accuracy on unseen records of each classifier, trained on some; numbers in the reference's deviations."""
    if training.response is not None:
        return _explained(training, reference, unseen, training.response)
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier

    known, tested = points(training, reference), points(unseen, reference)
    models = {
        "naive Bayes": GaussianNB(),
        "logistic regression": LogisticRegression(max_iter=500),
        "nearest neighbours": KNeighborsClassifier(min(15, len(training.y))),
    }

    def predicted(name: str) -> Codes:
        if name == "tree":
            return np.asarray(grow_tree(training.X, training.y).predict(unseen.X))
        return np.asarray(models[name].fit(known, training.y).predict(tested))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [float((predicted(name) == unseen.y).mean()) for name in classifiers]


def _explained(training: Microdata, reference: Microdata, unseen: Microdata, place: int) -> list[float]:
    """R² on unseen records of each regressor, trained on some."""
    from sklearn.linear_model import LinearRegression
    from sklearn.neighbors import KNeighborsRegressor

    known, tested = (points(data.without(place), reference.without(place)) for data in (training, unseen))
    models = (
        (grow_number_tree(training.without(place).X, training.X[:, place]), unseen.without(place).X),
        (LinearRegression().fit(known, training.X[:, place]), tested),
        (KNeighborsRegressor(min(15, len(known))).fit(known, training.X[:, place]), tested),
    )
    return [float(model.score(X, unseen.X[:, place])) for model, X in models]


def split(n: int, draws: Draws) -> tuple[Codes, Codes]:
    """Two thirds of the records to train on, and the others; of large tables a sample."""
    order = np.argsort(draws.uniform(n))[:MOST_RECORDS]
    return order[: 2 * order.size // 3], order[2 * order.size // 3 :]


def accuracies(original: Microdata, released: Microdata, draws: Draws, splits: int = SPLITS) -> list[Accuracy]:
    """Two thirds train, in either version; the original others are predicted. Rare classes may miss a split."""
    found = []
    for _ in range(splits):
        learn, test = split(len(original.y), draws)
        if test.size and min(np.unique(data.y[learn]).size for data in (original, released)) > 1:
            unseen = original.take(test)
            found.append([scores(data.take(learn), original, unseen) for data in (original, released)])
    means = np.mean(found, axis=0).T.tolist() if found else []
    names = CLASSIFIERS if original.response is None else REGRESSORS
    return [Accuracy(name, *both) for name, both in zip(names, means, strict=bool(means))]


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

    def best(self, risk: float, methods: Sequence[str] | None = None) -> Point:
        """The most accurate release among those whose linkage risk is at most ``risk``."""
        allowed = [p for p in self.points if p.risk <= risk and (methods is None or p.method in methods)]
        if not allowed:
            least = min(self.points, key=lambda point: point.risk)
            raise ValueError(f"no release has risk {risk:g} or less; the least is {least.risk:.3g} ({least.method})")
        return max(allowed, key=lambda point: point.accuracy)

    def accuracy_at(self, method: str, risk: float) -> float:
        """Accuracy of a method at exactly this risk, between its two nearest amounts (or its end)."""
        own = sorted((p for p in self.points if p.method == method), key=lambda point: point.risk)
        return float(np.interp(risk, [p.risk for p in own], [p.accuracy for p in own]))

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
    table: Any, target: str, *, methods: Sequence[str] = METHODS,
    amounts: Mapping[str, Sequence[float]] | None = None, splits: int = 3, classifiers: Sequence[str] = CLASSIFIERS,
    domains: Domains | None = None, rng: np.random.Generator | int | None = 0, **options: Any,
) -> Frontier:
    """Release two thirds of the records by every method and amount; test on the others, which no release has seen.

    ``options`` are those of :func:`release`: preserve, rules, noise, labels, perturb, attempts, keep.
    Tables beyond 20,000 records are sampled.
    """
    unknown = [method for method in methods if method not in METHODS]
    if unknown:
        raise ValueError(f"method {unknown[0]!r} is unknown; choose {', '.join(METHODS)}")
    own_law = options.get("noise") in ("rank", "additive") or options.get("preserve") == "rules"
    usual = {**AMOUNTS, "leafwise": OWN_LAW_AMOUNTS} if own_law else AMOUNTS
    grid = [(method, amount) for method in methods for amount in {**usual, **(amounts or {})}[method]]
    (data, _), draws = read_records(table, target, domains), Draws(rng)
    clean, found = [], []
    for _ in range(splits):
        learn, test = split(len(data.y), draws)
        part, unseen = data.take(learn), data.take(test)
        clean.append(scores(part, part, unseen, classifiers))
        for method, amount in grid:
            released = release_records(part, agree(part, method, amount, **options), None, draws).released
            found.append([linkage(part, released, draws)[0], *scores(released, part, unseen, classifiers)])
    means = np.mean(np.reshape(found, (splits, len(grid), -1)), axis=0).tolist()
    points = [
        Point(method, amount, risk, float(np.mean(each)), dict(zip(classifiers, each, strict=True)))
        for (method, amount), (risk, *each) in zip(grid, means, strict=True)
    ]
    return Frontier(tuple(points), float(np.mean(np.mean(clean, axis=0))))
