"""Fitted classifiers of scikit-learn as plain numbers: decision trees, gaussian naive Bayes, logistic regression.

From these numbers a classifier predicts as it did before, is written to a file, and is evaluated by devices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sfumato.domain import Floats
from sfumato.domain.checked import given_numbers, given_one_of, given_rows, given_wholes
from sfumato.evidence.observed import LEAST_DOUBLE
from sfumato.learners.device import Term, linear_term
from sfumato.learners.naive_bayes import NormalDensity, given_logs, log_joint
from sfumato.learners.tree.model import Feature, Tree
from sfumato.learners.tree.splits import LEAF


@dataclass(frozen=True)
class EncodedColumn:
    """The origin of a number that an estimator reads: a column of numbers, or one label of a column of labels.

    column: its index. fill: the number in place of a missing one. code, label: the label for which the number is 1, and
    its index among the column's labels; None for a column of numbers.
    """

    column: int
    fill: float
    code: int | None = None
    label: Any = None


class PlainClassifier:
    """A fitted classifier as numbers, which predicts as scikit-learn's did.

    data: what `plain_data` wrote. columns: how many numbers the classifier reads. classes: how many classes the model
    has, of which the classifier may have seen fewer.
    """

    def __init__(self, data: Mapping[str, Any], columns: int, classes: int) -> None:
        self.form = given_one_of(data, "form", ("tree", "normal", "linear"))
        self.document = dict(data)
        self.classes_ = given_wholes(data, "classes", 0, classes - 1)
        seen = self.classes_.size
        if len(set(self.classes_.tolist())) < max(seen, 1):
            raise ValueError("classes of the estimator are none, or one of them stands there twice")
        if self.form == "tree":
            self.data = _nodes(data, columns, seen)
        elif self.form == "normal":
            self.data = {"log_prior": _log_prior(data, seen)}
            self.densities = _densities(data, columns, seen)
        else:
            self.data = {"coef": given_numbers(data, "coef", (seen, columns))}
            self.data["intercept"] = given_numbers(data, "intercept", (seen,))

    def scores(self, X: Floats) -> Floats:
        """Return the score of each class, one row a record; the class with the largest is predicted.

        Of a tree: the shares of the classes in the leaf. Else: log P(class | x) up to a number for each record.
        """
        if self.form == "tree":
            return np.asarray(self.data["shares"][self._leaves(X)])
        if self.form == "normal":
            return log_joint(self.data["log_prior"], self.densities, list(X.T))
        return linear_scores(X, self.data["coef"], self.data["intercept"])

    def predict_proba(self, X: Floats) -> Floats:
        """Return P(class | x) of each record, in the order of ``classes_``."""
        scores = self.scores(X)
        return scores if self.form == "tree" else np.asarray(softmax(scores, axis=1))

    def predict(self, X: Floats) -> npt.NDArray[Any]:
        """Return the predicted class of each record, as its code."""
        return np.asarray(self.classes_[np.argmax(self.scores(X), axis=1)])

    # --- on devices ---------------------------------------------------------------------------------------------

    @property
    def start(self) -> Floats:
        """The score of each class before any column is added; not for trees."""
        return np.asarray(self.data["log_prior" if self.form == "normal" else "intercept"])

    def device_term(self, index: int, source: EncodedColumn) -> Term:
        """Return the term by which a number that the estimator reads adds to the scores, as devices compute it.

        index: of the number. source: the column that it comes from; the number of a label is 1 for it and 0 for others.
        """
        if self.form == "linear":
            slope = self.data["coef"][:, index]
            if source.code is None:
                return linear_term(source.column, None, slope, source.fill * slope)
            rows = np.outer([0.0, 1.0], slope)
        else:
            density = self.densities[index]
            if source.code is None:
                return density.device_term(source.column, density.log_density(np.array([source.fill]))[0])
            rows = density.log_density(np.array([0.0, 1.0]))
        scores = {"scores": [rows[1].tolist()], "missing": rows[0].tolist()}
        return {"column": source.column, "labels": [source.label], **scores}

    def as_tree(self, features: Sequence[Feature], encodings: Sequence[EncodedColumn]) -> Tree:
        """Return scikit-learn's tree as a tree of this package, which tests the original columns.

        Where scikit-learn compares the 0 or 1 of a label with a cut, the tree tests whether the label goes left.
        features: the original columns. encodings: the origin of each number that the estimator reads.
        """
        nodes = self.data
        size, widest = nodes["left"].size, max(len(feature.labels or ()) for feature in features) + 1
        column, cut = np.full(size, LEAF, np.int32), np.full(size, np.nan)
        missing_left, bins = np.zeros(size, bool), np.zeros((size, widest), bool)
        for node in np.flatnonzero(nodes["left"] >= 0).tolist():
            source, threshold = encodings[nodes["column"][node]], nodes["cut"][node]
            column[node] = source.column
            if source.code is None:
                cut[node] = first_above(threshold)
                missing_left[node] = source.fill < cut[node]
            else:
                missing_left[node] = threshold >= 0
                bins[node, : len(features[source.column].labels or ())] = missing_left[node]
                bins[node, source.code] = threshold >= 1
        left, right = nodes["left"].astype(np.int32), nodes["right"].astype(np.int32)
        none = np.zeros(size, bool)
        return Tree(column, cut, left, right, missing_left, bins, nodes["shares"], np.zeros(size), none)

    def _leaves(self, X: Floats) -> npt.NDArray[np.int64]:
        """Return the index of the leaf that each record reaches."""
        left, right, column = self.data["left"], self.data["right"], self.data["column"]
        node_of = np.zeros(len(X), np.int64)
        while (going := np.flatnonzero(left[node_of] >= 0)).size:
            node = node_of[going]
            value = X[going, column[node]].astype(np.float32)  # scikit-learn's trees compare so
            node_of[going] = np.where(value <= self.data["cut"][node], left[node], right[node])
        return node_of


def _log_prior(data: Mapping[str, Any], classes: int) -> Floats:
    """Return log P(class) of a document; files of the first builds state P(class) alone."""
    prior = given_numbers(data, "prior", (classes,), 0.0)
    return given_logs(data, "log_prior", np.log(np.maximum(prior, LEAST_DOUBLE)))


def _densities(data: Mapping[str, Any], columns: int, classes: int) -> list[NormalDensity]:
    """Return the normal densities of each column that a document states."""
    mean = given_numbers(data, "mean", (classes, columns))
    variance = given_numbers(data, "variance", (classes, columns), LEAST_DOUBLE)
    peak = given_logs(data, "peak", NormalDensity.of(mean, variance).peak)
    return [NormalDensity(*column) for column in zip(mean.T, variance.T, peak.T, strict=True)]


def _nodes(data: Mapping[str, Any], columns: int, classes: int) -> dict[str, npt.NDArray[Any]]:
    """Return the nodes of a tree that a document states; ValueError unless children follow their parents."""
    nodes = len(given_rows(data, "left"))
    left, right = (given_wholes(data, side, -1, nodes - 1, nodes) for side in ("left", "right"))
    inner = np.flatnonzero(left >= 0)
    column = given_wholes(data, "column", -2, columns - 1, nodes)
    if not nodes or (left[inner] <= inner).any() or (right[inner] <= inner).any() or (column[inner] < 0).any():
        raise ValueError("a node of the tree does not come before its children, or tests no column")
    cut = given_numbers(data, "cut", (nodes,))
    shares = given_numbers(data, "shares", (nodes, classes), 0.0)
    return {"left": left, "right": right, "column": column, "cut": cut, "shares": shares}


def plain_data(model: Any) -> dict[str, Any]:
    """Return a fitted decision tree, (scaled) gaussian naive Bayes or (scaled) logistic regression as plain data.

    A classifier of another kind raises TypeError; one that was read from plain data returns these again.
    """
    if isinstance(model, PlainClassifier):
        return model.document
    scaled = isinstance(model, Pipeline) and [type(step) for _, step in model.steps[:-1]] == [StandardScaler]
    last = model.steps[-1][1] if scaled else model
    if isinstance(last, LogisticRegression):
        data = _plain_linear(last, model.steps[0][1] if scaled else None)
    elif isinstance(last, GaussianNB):
        data = _plain_normal(last, model.steps[0][1] if scaled else None)
    elif isinstance(model, DecisionTreeClassifier):
        data = _plain_tree(model.tree_)
    else:
        usable = "a decision tree, (scaled) gaussian naive Bayes or (scaled) logistic regression"
        raise TypeError(f"a {type(last).__name__} cannot be shipped; use {usable}")
    data["classes"] = last.classes_
    return {name: part if isinstance(part, str) else np.asarray(part).tolist() for name, part in data.items()}


def _plain_normal(model: GaussianNB, scaler: StandardScaler | None) -> dict[str, Any]:
    """Return the prior, means and variances of a fitted gaussian naive Bayes, in the units of values before scaling."""
    mean = model.theta_ if scaler is None else model.theta_ * scaler.scale_ + scaler.mean_
    variance = model.var_ if scaler is None else model.var_ * scaler.scale_**2
    prior = {"prior": model.class_prior_, "log_prior": np.log(np.maximum(model.class_prior_, LEAST_DOUBLE))}
    peak = NormalDensity.of(mean, variance).peak
    return {"form": "normal", "mean": mean, "variance": variance, "peak": peak, **prior}


def _plain_linear(model: LogisticRegression, scaler: StandardScaler | None) -> dict[str, Any]:
    """Return the coefficients and intercepts of a logistic regression, one row a class, for values before scaling.

    Of two classes the first has zeros.
    """
    coef = model.coef_ if scaler is None else model.coef_ / scaler.scale_
    intercept = model.intercept_ if scaler is None else model.intercept_ - coef @ scaler.mean_
    if len(model.classes_) == 2:
        coef, intercept = np.vstack([np.zeros_like(coef), coef]), np.append(0.0, intercept)
    return {"form": "linear", "coef": coef, "intercept": intercept}


def _plain_tree(tree: Any) -> dict[str, Any]:
    """Return the nodes of scikit-learn's tree, with the shares of the classes in each."""
    shares = tree.value[:, 0] / tree.value[:, 0].sum(axis=1, keepdims=True)
    nodes = {"left": tree.children_left, "right": tree.children_right, "column": tree.feature, "cut": tree.threshold}
    return {"form": "tree", "shares": shares, **nodes}


def first_above(cut: float) -> float:
    """Return the smallest double that, rounded to single precision as scikit-learn's trees do, is above the cut."""
    below = np.float32(cut)
    below = below if below <= cut else np.nextafter(below, np.float32(-np.inf))
    half = (float(below) + float(np.nextafter(below, np.float32(np.inf)))) / 2
    return half if np.float32(half) > below else float(np.nextafter(half, np.inf))


def linear_scores(values: Floats, coef: Floats, intercept: Floats) -> Floats:
    """Return intercept_y + x₁·coef_y1 + x₂·coef_y2 + …, one row a record, added from left to right."""
    scores = np.repeat(intercept[None], len(values), axis=0)
    for x, slope in zip(values.T, coef.T, strict=True):
        scores += x[:, None] * slope
    return scores
