"""A sum of readable terms, learned from reports."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import sfumato as sf
from reproductions.agrawal import DOMAINS, generate

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


def test_a_column_that_counts_from_another_ones_knot_on_is_found_in_a_product():
    rng = np.random.default_rng(8)
    true = rng.uniform(20, 80, (20_000, 3))
    x, z, w = true.T
    y = (x - 50) / 4 + np.maximum(z - 50, 0) * (w - 20) / 100 - 3 + rng.logistic(size=x.size) > 0
    model = sf.AdditiveClassifier([AGE] * 3).fit(AGE.randomize(true.ravel(), rng).reshape(-1, 3), y)
    product = next(term for term in model.terms_ if " · " in term.words)
    assert "max(x1 − " in product.words and "x2" in product.words
    assert abs(product.knots[0] - 50) < 4 * product.knots_stderr[0]


def test_the_effect_of_a_number_may_depend_on_a_label():
    rng = np.random.default_rng(6)
    x, city = rng.uniform(20, 80, 20_000), rng.choice(CITY.domain.labels, 20_000)
    y = np.where(city == "Oslo", (x - 50) / 5, -1.0) + rng.logistic(size=x.size) > 0
    reports = {"age": AGE.randomize(x, rng), "city": CITY.randomize(city, rng)}
    model = sf.AdditiveClassifier({"age": AGE, "city": CITY}).fit(reports, y)
    assert any("age" in term.words and "[city = Oslo]" in term.words for term in model.terms_)
    asked = pd.DataFrame({"age": [30.0, 70.0, 70.0], "city": ["Oslo", "Oslo", "Rome"]})
    assert model.predict(asked).tolist() == [False, True, False]


def test_many_dependent_columns_are_answered_as_by_the_discriminant():
    rng = np.random.default_rng(2)
    mixing = np.eye(12) + rng.normal(0, 0.3, (12, 12))
    y = rng.integers(0, 3, 6_000)
    x = np.clip((rng.normal(0, 0.5, (3, 12))[y] + rng.normal(size=(6_000, 12))) @ mixing, -6, 6)
    channel = sf.Gaussian(sf.Interval(-6, 6), privacy=0.5)
    reports = channel.randomize(x[:4_000].ravel(), rng).reshape(-1, 12)
    model = sf.AdditiveClassifier([channel] * 12).fit(reports, y[:4_000])
    discriminant = sf.GaussianMixtureClassifier([channel] * 12, components=1, shrinkage=1_000)
    discriminant.fit(reports, y[:4_000])
    assert model.score(x[4_000:], y[4_000:]) > discriminant.score(x[4_000:], y[4_000:]) - 0.02
    assert len({term.words for term in model.terms_}) == len(model.terms_)
    again = sf.AdditiveClassifier.from_dict(model.to_dict())
    np.testing.assert_array_equal(again.predict_proba(x[:50]), model.predict_proba(x[:50]))


def test_reports_of_people_who_chose_their_own_noise_are_read_through_it():
    rng = np.random.default_rng(9)
    shy = sf.TwoPhase(AGE, {"normal": 200, "coarse": 4})
    x = rng.uniform(20, 80, 10_000)
    level = rng.choice(["normal", "coarse"], x.size)
    reports = pd.DataFrame({"age": shy.randomize(x, rng, level=level), "age.level": level})
    y = (x - 50) / 4 + rng.logistic(size=x.size) > 0
    term = sf.AdditiveClassifier({"age": shy}).fit(reports, y).terms_[0]
    assert abs(term.coefficients[0] - 0.25) < 4 * term.stderr[0] < 0.2


def test_columns_that_tell_nothing_and_tables_of_three_are_taken():
    reports = pd.DataFrame({"age": [30.0, 50.0, 70.0], "same": [1.0, 1.0, 1.0]})
    model = sf.AdditiveClassifier({"age": AGE, "same": None}).fit(reports, ["no", "yes", "yes"])
    assert np.isfinite(model.predict_proba(reports)).all()
    rng = np.random.default_rng(4)
    x = rng.uniform(20, 80, 3_000)
    table = pd.DataFrame({"same": np.ones(x.size), "age": AGE.randomize(x, rng)})
    assert [term.words for term in sf.AdditiveClassifier({"same": None, "age": AGE}).fit(table, x > 50).terms_]


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    held = []
    for seed in range(12):
        rng = np.random.default_rng(900 + seed)
        x, z = rng.uniform(20, 80, (2, 5_000))
        y = (x - 50) / 8 + (z - 50) / 12 + rng.logistic(size=x.size) > 0
        reports = np.column_stack([AGE.randomize(x, rng), AGE.randomize(z, rng)])
        model = sf.AdditiveClassifier([AGE, AGE]).fit(reports, y)
        for term in model.terms_:
            truth = {"(x0 − 20)": 1 / 8, "(x1 − 20)": 1 / 12}.get(term.words)
            held += [] if truth is None else [abs(term.coefficients[0] - truth) < 1.96 * term.stderr[0]]
    assert len(held) >= 18 and np.mean(held) > 0.75


def test_a_number_of_terms_that_is_none_is_refused():
    with pytest.raises(ValueError, match="max_terms=0 is not a number of terms; give 1 or more"):
        sf.AdditiveClassifier(max_terms=0).fit([[0.0], [1.0]], [0, 1])


def test_a_clear_column_that_nobody_answered_is_left_out() -> None:
    rng, blur = np.random.default_rng(4), sf.Gaussian(sf.Interval(0, 1), privacy=0.3)
    x = rng.random(2_000)
    table = pd.DataFrame({"x": blur.randomize(x, rng), "nothing": np.full(x.size, np.nan)})
    model = sf.AdditiveClassifier({"x": blur}).fit(table, x > 0.5)
    assert model.columns_read() == [0] and (model.predict(table.assign(x=x)) == (x > 0.5)).mean() > 0.97


def test_a_constant_column_does_not_raise_the_price_of_the_others():
    rng = np.random.default_rng(10)
    channel = sf.SquareWave(sf.Interval(0, 1), gamma=11)
    x = rng.beta(2, 5, 150)
    y = x + 0.3 * rng.normal(size=150) > 0.5  # one term, and hardly that
    reports = channel.randomize(x, rng)
    beside = np.column_stack([reports, np.full(150, 0.1)])
    one = sf.AdditiveClassifier([channel]).fit(reports[:, None], y)
    other = sf.AdditiveClassifier([channel, None]).fit(beside, y)
    assert len(one.terms_) == 1 and other.beta_.tolist() == one.beta_.tolist()
