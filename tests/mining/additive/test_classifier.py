"""A sum of readable terms, learned from reports."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import sfumato as sf
from sfumato.examples.agrawal import DOMAINS, generate

AGE = sf.Gaussian(sf.Interval(20, 80), privacy=0.5)
INCOME = sf.Uniform(sf.Interval(0, 100), privacy=0.5)
CITY = sf.RandomizedResponse(sf.Categories(["Lima", "Oslo", "Rome"]), keep=0.7)


def people(n: int, seed: int) -> tuple[dict[str, Any], np.ndarray[Any, Any]]:
    """Older and richer people say yes, those of Oslo more often."""
    rng = np.random.default_rng(seed)
    table = {"age": rng.uniform(20, 80, n), "income": rng.uniform(0, 100, n), "city": rng.choice(CITY.domain.labels, n)}
    log_odds = (table["age"] - 50) / 8 + np.maximum(table["income"] - 60, 0) / 8 - 1 + 2 * (table["city"] == "Oslo")
    return table, np.where(rng.random(n) < 1 / (1 + np.exp(-log_odds)), "yes", "no")


def blurred(table: dict[str, Any], seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    channels = {"age": AGE, "income": INCOME, "city": CITY}
    return {name: channels[name].randomize(column, rng) for name, column in table.items()}


@pytest.fixture(scope="module")
def model() -> sf.AdditiveClassifier:
    table, y = people(20_000, 0)
    return sf.AdditiveClassifier({"age": AGE, "income": INCOME, "city": CITY}).fit(blurred(table, 1), y)


def test_the_terms_behind_the_noise_are_found_with_their_coefficients(model):
    terms = {term.words.split(" −")[0]: term for term in model.terms_}
    assert set(terms) == {"(age", "max(income", "[city = Oslo]"}
    for start, truth in {"(age": 1 / 8, "max(income": 1 / 8, "[city = Oslo]": 2.0}.items():
        term = terms[start]
        assert abs(term.coefficients[0] - truth) < 4 * term.stderr[0] < 2 * truth
    knot = terms["max(income"]
    assert abs(knot.knots[0] - 60) < 4 * knot.knots_stderr[0] < 25
    low, high = knot.knot_intervals()[0]
    assert low < knot.knots[0] < high


def test_it_answers_nearly_as_well_as_the_truth_would(model):
    table, y = people(4_000, 7)
    truth = (table["age"] - 50) / 8 + np.maximum(table["income"] - 60, 0) / 8 - 1 + 2 * (table["city"] == "Oslo") > 0
    assert model.score(pd.DataFrame(table), y) > np.mean(np.where(truth, "yes", "no") == y) - 0.01


def test_it_reads_as_a_formula_and_draws_a_panel_a_term(model):
    text = model.formula()
    assert text.startswith("log P(yes)/P(no) = ") and " · (age − 20)" in text and "[city = Oslo]" in text
    import matplotlib as mpl

    mpl.use("Agg")
    axes = model.plot()
    assert [ax.get_title() for ax in axes] == [term.words for term in model.terms_]


def test_without_noise_it_is_logistic_regression_on_the_same_terms():
    table, y = people(3_000, 3)
    ours = sf.AdditiveClassifier().fit(pd.DataFrame(table), y)
    columns = list(table.values())
    design = np.column_stack([term.values(columns) for term in ours.terms_in_units_])
    theirs = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(design, y)
    np.testing.assert_allclose(ours.predict_proba(pd.DataFrame(table)), theirs.predict_proba(design), atol=2e-5)


def test_three_classes_and_labels_through_a_channel():
    rng = np.random.default_rng(5)
    x = rng.uniform(20, 80, 20_000)
    y = np.array(["low", "middle", "top"])[np.digitize(x + rng.normal(0, 4, x.size), [40, 60])]
    labels = sf.RandomizedResponse(sf.Categories(["low", "middle", "top"]), keep=0.8)
    reports = {"age": AGE.randomize(x, rng)}
    model = sf.AdditiveClassifier({"age": AGE}, label_channel=labels).fit(reports, labels.randomize(y, rng))
    places = pd.DataFrame({"age": [25.0, 50.0, 75.0]})
    assert model.predict(places).tolist() == ["low", "middle", "top"]
    assert len(model.formula().splitlines()) == 2


@pytest.mark.parametrize("seed", range(3))
def test_pure_noise_gives_no_term(seed):
    table, _ = people(5_000, seed)
    y = np.random.default_rng(seed + 50).choice(["no", "yes"], 5_000)
    channels = {"age": AGE, "income": INCOME, "city": CITY}
    model = sf.AdditiveClassifier(channels).fit(blurred(table, seed + 1), y)
    assert model.terms_ == [] and " + " not in model.formula()


def test_missing_values_weights_and_one_class_are_taken():
    table, y = people(6_000, 4)
    reports = pd.DataFrame(blurred(table, 5))
    reports.loc[::7, "age"] = np.nan
    reports["city"] = reports["city"].where(np.arange(6_000) % 5 > 0, None)
    channels = {"age": AGE, "income": INCOME, "city": CITY}
    model = sf.AdditiveClassifier(channels).fit(reports, y, np.where(np.arange(6_000) % 2, 2.0, 1.0))
    asked = pd.DataFrame({"age": [np.nan, 75.0], "income": [50.0, np.nan], "city": ["Rome", None]})
    assert np.isfinite(model.predict_proba(asked)).all() and model.score(pd.DataFrame(table), y) > 0.75
    assert sf.AdditiveClassifier().fit([[1.0], [2.0]], ["a", "a"]).predict([[3.0]]) == ["a"]


def test_function_four_is_found_behind_its_noise():
    rng = np.random.default_rng(3)
    records, y = generate(40_000, 4, rng)
    channels = {name: sf.Gaussian(domain, privacy=1.0) for name, domain in DOMAINS.items()}
    model = sf.AdditiveClassifier(channels).fit({k: channels[k].randomize(v, rng) for k, v in records.items()}, y)
    words = sorted(term.words for term in model.terms_)
    assert words == ["(salary − 20,000)", "commission", "loan"]
    test, y_test = generate(5_000, 4, rng)
    assert model.score(pd.DataFrame(test), y_test) > 0.97


def test_a_number_of_terms_that_is_none_is_refused():
    with pytest.raises(ValueError, match="max_terms=0 is not a number of terms; give 1 or more"):
        sf.AdditiveClassifier(max_terms=0).fit([[0.0], [1.0]], [0, 1])
