"""What is still learnt from a release: classifiers trained on it and tested on original records; associations."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.microdata.draws import Draws
from sfumato.microdata.pattern import grow_tree
from sfumato.microdata.risk import points
from sfumato.microdata.table import Microdata

SPLITS, MOST_RECORDS = 3, 20_000
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
            before, after = (train(name, data, learn, original)(unseen) for data in (original, released))
            scores[name].append((float((before == unseen.y).mean()), float((after == unseen.y).mean())))
    return [Accuracy(name, *np.mean(pairs, axis=0).tolist()) for name, pairs in scores.items() if pairs]


def associations(data: Microdata) -> Floats:
    """Strength of association of every pair of attributes, 0..1.

    Two numbers: |r|. A category and a number: √η², the share of variance between the categories. Two categories:
    Cramér's V.
    """
    p = len(data.attributes)
    strength = np.eye(p)
    for i in range(p):
        for j in range(i):
            known = ~np.isnan(data.X[:, [i, j]]).any(axis=1)
            strength[i, j] = strength[j, i] = _association(data, i, j, known) if known.sum() > 1 else 0.0
    return strength


def _association(data: Microdata, i: int, j: int, known: Any) -> float:
    x, y = data.X[known, i], data.X[known, j]
    if data.numeric[i] and data.numeric[j]:
        spread = x.std() * y.std()
        return float(abs(((x - x.mean()) * (y - y.mean())).mean()) / spread) if spread > 0 else 0.0
    if data.numeric[i] or data.numeric[j]:
        number, code = (x, y) if data.numeric[i] else (y, x)
        return _correlation_ratio(number, code.astype(np.int64))
    return _cramer(x.astype(np.int64), y.astype(np.int64))


def _correlation_ratio(number: Floats, code: Codes) -> float:
    count = np.bincount(code)
    mean = np.bincount(code, number) / np.maximum(count, 1)
    total = ((number - number.mean()) ** 2).sum()
    return float(np.sqrt((count * (mean - number.mean()) ** 2).sum() / total)) if total > 0 else 0.0


def _cramer(first: Codes, second: Codes) -> float:
    table = np.zeros((first.max() + 1, second.max() + 1))
    np.add.at(table, (first, second), 1)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    least = min(table.shape) - 1
    return float(np.sqrt(((table - expected) ** 2 / expected).sum() / (table.sum() * least))) if least else 0.0
