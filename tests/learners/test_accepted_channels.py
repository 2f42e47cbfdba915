"""Which reports each learner and each of its methods learns from: every entry fits, answers and travels, or says in one
line what to do. The table in docs/how-to/learn-from-reports.md says the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn

import sfumato as sf
from sfumato import shipping
from sfumato.channels import Blur, Mechanism
from sfumato.learners import LEARNERS
from sfumato.learners.estimator import Learner

N = 80
UNIT, AGES, COLOURS = sf.Interval(0, 1), sf.Interval(20, 29, integer=True), sf.Categories(["red", "green", "blue"])
ITEMS = sf.Items(["tea", "milk", "rice"])
NUMBERS = np.random.default_rng(0).random(N)
LABELS = np.random.default_rng(1).choice(COLOURS.labels, N).astype(object)
OTHER = np.random.default_rng(2).normal(size=N)
COIN, SECOND = sf.RandomizedResponse(COLOURS, keep=0.7), sf.RandomizedResponse(COLOURS, keep=0.8)

KINDS: dict[str, tuple[Any, Any]] = {
    "clear numbers": (None, NUMBERS),
    "clear labels": (None, LABELS),
    "clear": (sf.Clear(UNIT), NUMBERS),
    "gaussian": (sf.Gaussian(UNIT, scale=0.2), NUMBERS),
    "uniform": (sf.Uniform(UNIT, halfwidth=0.3), NUMBERS),
    "laplace": (sf.Laplace(UNIT, scale=0.2, step=0.02), NUMBERS),
    "discretize": (sf.Discretize(UNIT, width=0.25), NUMBERS),
    "discretize of one cell": (sf.Discretize(UNIT, width=1.0), NUMBERS),
    "square-wave": (sf.SquareWave(UNIT, gamma=19), NUMBERS),
    "piecewise": (sf.Piecewise(UNIT, gamma=19), NUMBERS),
    "randomized-response": (COIN, LABELS),
    "subset-response": (sf.SubsetResponse(COLOURS, gamma=9), LABELS),
    "tabulated": (sf.Tabulated(COLOURS, [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]), LABELS),
    "tabulated with words of its own": (
        sf.Tabulated(COLOURS, [[0.5, 0.1, 0], [0.5, 0.9, 0.5], [0, 0, 0.5]], reports=["warm", "cold", "none"]), LABELS,
    ),
    "chain": (sf.Gaussian(AGES, scale=5) >> sf.Discretize(sf.Interval(-100, 200), width=10), 20 + 9 * NUMBERS // 1),
    "longitudinal": (sf.Longitudinal(COIN, SECOND), LABELS),
    "two-phase-level": (Blur(sf.Gaussian(UNIT, privacy=0.5), 20), NUMBERS),
    "choice": (sf.Choice({"open": SECOND, "shy": COIN}), LABELS),
    "two-phase": (sf.TwoPhase(sf.Gaussian(UNIT, privacy=0.5), {"normal": 50, "paranoid": 10}), NUMBERS),
    "correlated-gaussian": (sf.CorrelatedNoise({"x": UNIT, "o": UNIT}, np.eye(2) / 25 + 0.01, ratio=1.5), NUMBERS),
    "select-a-size": (sf.SelectASize.design(ITEMS, sizes=[2], gamma=19, up_to=2), LABELS),
}
QUICK = sf.ProductMixtureClassifier(members=1, components=4)
RECONSTRUCTING: dict[str, Learner] = {
    **{f"tree, {way}": sf.TreeClassifier(reconstruction=way) for way in ("likelihood", "joint", "byclass", "local")},
    "tree, global": sf.TreeClassifier(reconstruction="global"),
    **{f"bayes, {way}": sf.NaiveBayesClassifier(density=way) for way in ("auto", "moments", "reconstructed")},
    **{f"joint, {form}": sf.JointModel(members=1, structure=form) for form in ("auto", "grid", "mixture")},
    "additive": sf.AdditiveClassifier(), "products": QUICK, "mixture": sf.GaussianMixtureClassifier(components=1),
    "chooser": sf.Chooser(recipes={"bayes": sf.NaiveBayesClassifier(), "products": QUICK}),
}
AT_FACE_VALUE: dict[str, Learner] = {
    "tree, none": sf.TreeClassifier(reconstruction="none"), "bayes, direct": sf.NaiveBayesClassifier(density="direct"),
    "direct": sf.FaceValueClassifier(),
}
METHODS = {**RECONSTRUCTING, **AT_FACE_VALUE}

TOGETHER = "correlated-gaussian blurs several columns together; give each of them channel.marginal(name)"
BASKETS = "select-a-size reports sets of items; use sf.frequent_itemsets for them"
NO_VALUES = "are no values of its domain and cannot be taken for true ones; use a method that reconstructs"
REFUSED: dict[str, tuple[str, str]] = {
    "correlated-gaussian": (TOGETHER, ""),
    "select-a-size": (BASKETS, NO_VALUES),
    "subset-response": ("", NO_VALUES),
    "tabulated with words of its own": ("", NO_VALUES),
}
"""What methods that reconstruct say, and what those say that take reports for true values; all else is accepted."""


def refusal(kind: str, method: str) -> str:
    said = REFUSED.get(kind, ("", ""))[method in AT_FACE_VALUE]
    return TOGETHER if (kind, method) == ("correlated-gaussian", "bayes, direct") else said


def reports_of(kind: str) -> tuple[dict[str, Any], Any]:
    """A column of reports, with the levels where people choose, and their channel."""
    channel, values = KINDS[kind]
    if channel is None or kind in ("correlated-gaussian", "select-a-size"):
        return {"x": values}, channel
    rng = np.random.default_rng(3)
    if not channel.has_levels:
        return {"x": channel.randomize(values, rng)}, channel
    level = rng.choice(list(channel.levels), N)
    return {"x": channel.randomize(values, rng, level=level), "x.level": level}, channel


def test_every_kind_and_every_learner_is_in_the_table() -> None:
    assert set(Mechanism.registry) <= set(KINDS)
    assert {type(learner).__name__ for learner in METHODS.values()} == set(LEARNERS)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_reports_are_learned_from_or_refused_in_one_line(kind: str, method: str) -> None:
    columns, channel = reports_of(kind)
    table, truth = pd.DataFrame({**columns, "o": OTHER}), pd.DataFrame({"x": KINDS[kind][1], "o": OTHER})
    model = sklearn.base.clone(METHODS[method]).set_params(channels={"x": channel})
    y = np.where((NUMBERS + 0.3 * OTHER > 0.6) ^ (LABELS == "red"), "yes", "no")
    refused = refusal(kind, method)
    if refused:
        with pytest.raises((TypeError, ValueError), match=re.escape(refused) + "$") as caught:
            model.fit(table, y)
        assert str(caught.value).startswith("column 'x': ") and "\n" not in str(caught.value)
        return
    answers = model.fit(table, y).predict_proba(truth)
    np.testing.assert_allclose(answers.sum(axis=1), 1)
    again = shipping.loads(shipping.dumps(model))
    far = (kind, method) == ("discretize of one cell", "direct")  # scikit-learn adds numbers of 10⁸ there
    np.testing.assert_allclose(again.model.predict_proba(truth), answers, rtol=0, atol=1e-7 if far else 1e-12)
    assert again.predict({name: truth[name].to_numpy() for name in truth}).tolist() == model.predict(truth).tolist()


LABELS_BLURRED = ("randomized-response", "longitudinal")
NO_LABELS = ("subset-response", "tabulated with words of its own", "choice", "gaussian", "select-a-size")


BY_LABEL = [name for name in METHODS if name != "direct"]
"""The methods to which it can be said that classes are blurred."""


@pytest.mark.parametrize("method", BY_LABEL)
@pytest.mark.parametrize("kind", [*LABELS_BLURRED, *NO_LABELS])
def test_blurred_classes_are_learned_from_or_refused_in_one_line(kind: str, method: str) -> None:
    channel, X = KINDS[kind][0], np.column_stack([NUMBERS, OTHER])
    model = sklearn.base.clone(METHODS[method]).set_params(channels=None, label_channel=channel)
    if kind in NO_LABELS:
        line = f"the class went through {channel.kind}, whose reports are no classes; use RandomizedResponse"
        with pytest.raises(ValueError, match=f"^{line}$"):
            model.fit(X, LABELS)
        return
    answers = model.fit(X, channel.randomize(LABELS, np.random.default_rng(4))).predict_proba(X)
    assert np.isfinite(answers).all() and set(model.classes_) == set(COLOURS.labels)


def test_the_page_says_the_same() -> None:
    said = {kind: [line.partition("; ")[2] for line in REFUSED.get(kind, ("", ""))] for kind in KINDS}
    rows = [f"| {kind} | {found or 'yes'} | {direct or 'yes'} |" for kind, (found, direct) in said.items()]
    page = (Path(__file__).parents[2] / "docs/how-to/learn-from-reports.md").read_text()
    assert "\n".join(rows) in page
