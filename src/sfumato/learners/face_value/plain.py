"""Fitted classifiers of scikit-learn as numbers: decision trees, gaussian naive Bayes, logistic regression.

They are written as plain data, answer from it as the classifier did, and are evaluated by devices.
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
from sfumato.learners.device import Term, linear_term
from sfumato.learners.moments import TINY
from sfumato.learners.naive_bayes import NormalDensity, given_logs, log_joint
from sfumato.learners.tree.model import Feature, Tree
from sfumato.learners.tree.splits import LEAF


@dataclass(frozen=True)
class Encoded:
    """The column behind a number that the estimator reads: a number (``fill`` where it is missing), or whether the
    answer is ``label``, whose place among the column's labels is ``code`` (None: a number)."""

    column: int
    fill: float
    code: int | None = None
    label: Any = None


class PlainAnswers:
    """A fitted classifier as numbers: what `plain_answers` wrote, answering as the classifier did."""

    def __init__(self, data: Mapping[str, Any], columns: int, classes: int) -> None:
        self.form = given_one_of(data, "form", ("tree", "normal", "linear"))
        self.classes_ = given_wholes(data, "classes", 0, classes - 1)
        known = self.classes_.size
        if len(set(self.classes_.tolist())) < max(known, 1):
            raise ValueError("classes of the estimator are none, or one of them stands there twice")
        if self.form == "tree":
            self.data = _nodes(data, columns, known)
        elif self.form == "normal":
            self.data = {"log_prior": _log_prior(data, known)}
            self.densities = _densities(data, columns, known)
        else:
            self.data = {"coef": given_numbers(data, "coef", (known, columns))}
            self.data["intercept"] = given_numbers(data, "intercept", (known,))

    def scores(self, X: Floats) -> Floats:
        """Shares of classes in leaves, or logarithms up to what all classes have in common."""
        if self.form == "tree":
            return np.asarray(self.data["shares"][self._leaves(X)])
        if self.form == "normal":
            return log_joint(self.data["log_prior"], self.densities, list(X.T))
        return linear_scores(X, self.data["coef"], self.data["intercept"])

    def predict_proba(self, X: Floats) -> Floats:
        scores = self.scores(X)
        return scores if self.form == "tree" else np.asarray(softmax(scores, axis=1))

    def predict(self, X: Floats) -> npt.NDArray[Any]:
        return np.asarray(self.classes_[np.argmax(self.scores(X), axis=1)])

    # --- on devices ---------------------------------------------------------------------------------------------

    @property
    def start(self) -> Floats:
        """Where the scores of a sum start."""
        return np.asarray(self.data["log_prior" if self.form == "normal" else "intercept"])

    def device_term(self, place: int, source: Encoded) -> Term:
        """Return what one number of the estimator adds; an indicator is 1 for its label and 0 for all else."""
        if self.form == "linear":
            slope = self.data["coef"][:, place]
            if source.code is None:
                return linear_term(source.column, None, slope, source.fill * slope)
            rows = np.outer([0.0, 1.0], slope)
        else:
            density = self.densities[place]
            if source.code is None:
                return density.device_term(source.column, density.log_density(np.array([source.fill]))[0])
            rows = density.log_density(np.array([0.0, 1.0]))
        scores = {"scores": [rows[1].tolist()], "missing": rows[0].tolist()}
        return {"column": source.column, "labels": [source.label], **scores}

    def as_tree(self, features: Sequence[Feature], encodings: Sequence[Encoded]) -> Tree:
        """Return scikit-learn's tree with our tests: numbers are compared as they are, and labels are among those that
        go left."""
        nodes = self.data
        size, widest = nodes["left"].size, max(len(each.labels or ()) for each in features) + 1
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
        no = np.zeros(size, bool)
        return Tree(column, cut, left, right, missing_left, bins, nodes["shares"], np.zeros(size), no)

    def _leaves(self, X: Floats) -> npt.NDArray[np.int64]:
        left, right, column = self.data["left"], self.data["right"], self.data["column"]
        place = np.zeros(len(X), np.int64)
        while (going := np.flatnonzero(left[place] >= 0)).size:
            node = place[going]
            value = X[going, column[node]].astype(np.float32)  # scikit-learn's trees compare so
            place[going] = np.where(value <= self.data["cut"][node], left[node], right[node])
        return place


def _log_prior(data: Mapping[str, Any], classes: int) -> Floats:
    prior = given_numbers(data, "prior", (classes,), 0.0)
    return given_logs(data, "log_prior", np.log(np.maximum(prior, TINY)))


def _densities(data: Mapping[str, Any], columns: int, classes: int) -> list[NormalDensity]:
    """One normal density a column."""
    mean = given_numbers(data, "mean", (classes, columns))
    variance = given_numbers(data, "variance", (classes, columns), TINY)
    peak = given_logs(data, "peak", NormalDensity.of(mean, variance).peak)
    return [NormalDensity(*column) for column in zip(mean.T, variance.T, peak.T, strict=True)]


def _nodes(data: Mapping[str, Any], columns: int, classes: int) -> dict[str, npt.NDArray[Any]]:
    """The nodes of a tree: children after their parents, and every test of a column there is."""
    nodes = len(given_rows(data, "left"))
    left, right = (given_wholes(data, side, -1, nodes - 1, nodes) for side in ("left", "right"))
    inner = np.flatnonzero(left >= 0)
    column = given_wholes(data, "column", -2, columns - 1, nodes)
    if not nodes or (left[inner] <= inner).any() or (right[inner] <= inner).any() or (column[inner] < 0).any():
        raise ValueError("a node of the tree does not come before its children, or tests no column")
    cut = given_numbers(data, "cut", (nodes,))
    shares = given_numbers(data, "shares", (nodes, classes), 0.0)
    return {"left": left, "right": right, "column": column, "cut": cut, "shares": shares}


def plain_answers(model: Any) -> dict[str, Any]:
    """A fitted decision tree, (scaled) gaussian naive Bayes or (scaled) logistic regression as plain data."""
    scaled = isinstance(model, Pipeline) and [type(step) for _, step in model.steps[:-1]] == [StandardScaler]
    last = model.steps[-1][1] if scaled else model
    if isinstance(last, LogisticRegression):
        found = _plain_linear(last, model.steps[0][1] if scaled else None)
    elif isinstance(last, GaussianNB):
        found = _plain_normal(last, model.steps[0][1] if scaled else None)
    elif isinstance(model, DecisionTreeClassifier):
        found = _plain_tree(model.tree_)
    else:
        usable = "a decision tree, (scaled) gaussian naive Bayes or (scaled) logistic regression"
        raise TypeError(f"a {type(last).__name__} cannot be shipped; use {usable}")
    found["classes"] = last.classes_
    return {name: part if isinstance(part, str) else np.asarray(part).tolist() for name, part in found.items()}


def _plain_normal(model: GaussianNB, scaler: StandardScaler | None) -> dict[str, Any]:
    """Densities of values as they are."""
    mean = model.theta_ if scaler is None else model.theta_ * scaler.scale_ + scaler.mean_
    variance = model.var_ if scaler is None else model.var_ * scaler.scale_**2
    prior = {"prior": model.class_prior_, "log_prior": np.log(np.maximum(model.class_prior_, TINY))}
    peak = NormalDensity.of(mean, variance).peak
    return {"form": "normal", "mean": mean, "variance": variance, "peak": peak, **prior}


def _plain_linear(model: LogisticRegression, scaler: StandardScaler | None) -> dict[str, Any]:
    """One row of coefficients a class, of values as they are; of two classes the first has none."""
    coef = model.coef_ if scaler is None else model.coef_ / scaler.scale_
    intercept = model.intercept_ if scaler is None else model.intercept_ - coef @ scaler.mean_
    if len(model.classes_) == 2:
        coef, intercept = np.vstack([np.zeros_like(coef), coef]), np.append(0.0, intercept)
    return {"form": "linear", "coef": coef, "intercept": intercept}


def _plain_tree(tree: Any) -> dict[str, Any]:
    shares = tree.value[:, 0] / tree.value[:, 0].sum(axis=1, keepdims=True)
    nodes = {"left": tree.children_left, "right": tree.children_right, "column": tree.feature, "cut": tree.threshold}
    return {"form": "tree", "shares": shares, **nodes}


def first_above(cut: float) -> float:
    """The smallest number that scikit-learn's trees, which compare in single precision, find above the cut."""
    below = np.float32(cut)
    below = below if below <= cut else np.nextafter(below, np.float32(-np.inf))
    half = (float(below) + float(np.nextafter(below, np.float32(np.inf)))) / 2
    return half if np.float32(half) > below else float(np.nextafter(half, np.inf))


def linear_scores(values: Floats, coef: Floats, intercept: Floats) -> Floats:
    """intercept_y + x₁·coef_y1 + x₂·coef_y2 + …, one row a record, added from left to right."""
    found = np.repeat(intercept[None], len(values), axis=0)
    for x, slope in zip(values.T, coef.T, strict=True):
        found += x[:, None] * slope
    return found
