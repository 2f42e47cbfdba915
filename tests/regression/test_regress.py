"""Regression with blurred columns: equal to the clean one without noise, and calibrated with it."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import optimize, stats
from sklearn.linear_model import LogisticRegression

import sfumato as sf
from tests.statistics import FALSE_ALARM, assert_mean_zero, assert_probability

COIN = sf.RandomizedResponse(sf.Categories(["yes", "no"]), keep=0.8)
SURE = sf.RandomizedResponse(sf.Categories(["yes", "no"]), keep=1)
HABITS = sf.Categories(["often", "seldom", "never"])
HABIT = sf.RandomizedResponse(HABITS, gamma=9)
AGE = sf.Gaussian(sf.Interval(20, 80), scale=8)


def odds(x):
    return 1 / (1 + np.exp(-x))


def people(n=1_500, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.uniform(20, 80, n)
    answer = np.where(rng.random(n) < odds(0.05 * (age - 50)), "yes", "no")
    habit = rng.choice(["often", "seldom", "never"], n, p=[0.3, 0.3, 0.4])
    income = 2 + 1.5 * (answer == "yes") + 0.6 * (habit == "often") + 0.02 * age + rng.gamma(1.5, 1, n)
    return {"age": age, "answer": answer, "habit": habit, "income": income, "w": rng.gamma(2, 1, n)}


def least_squares(columns, y, w=None):
    """Coefficients, and White's covariance with n/(n − k)."""
    x = np.column_stack([np.ones(len(y)), *columns])
    w = np.ones(len(y)) if w is None else w
    inverse = np.linalg.inv(x.T @ (w[:, None] * x))
    coef = inverse @ x.T @ (w * y)
    scores = x * (w * (y - x @ coef))[:, None]
    return coef, inverse @ scores.T @ scores @ inverse * len(y) / (len(y) - x.shape[1])


# --- without noise it is the clean regression ------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [None, "w"])
def test_without_noise_a_line_is_that_of_least_squares(weights):
    table = people()
    always = sf.RandomizedResponse(HABITS, keep=1)
    found = sf.regress(
        table, {"answer": SURE, "habit": always}, "income", ["answer", "age", "habit"], weights=weights
    )
    columns = [table["answer"] == "yes", table["age"], table["habit"] == "often", table["habit"] == "seldom"]
    coef, covariance = least_squares(columns, table["income"], None if weights is None else table["w"])
    assert found.names == ("(constant)", "answer = yes", "age", "habit = often", "habit = seldom")
    assert np.allclose(found.coef, coef)
    assert np.allclose(found.covariance, covariance)


def test_clear_columns_alone_are_least_squares_too():
    table = people()
    found = sf.regress(table, None, "income", ["answer", "age"], reference={"answer": "no"})
    coef, _ = least_squares([table["answer"] == "yes", table["age"]], table["income"])
    assert np.allclose(found.coef, coef)


def test_without_noise_log_odds_are_those_of_scikit_learn():
    table = people()
    x, yes = np.column_stack([table["age"], table["income"]]), table["answer"] == "yes"
    found = sf.regress(table, {"answer": SURE}, "answer", ["age", "income"])
    peer = LogisticRegression(C=np.inf, tol=1e-10, max_iter=5_000).fit(x, yes)
    assert found.names == ("(constant)", "age", "income")
    assert np.allclose(found.coef, [peer.intercept_[0], *peer.coef_[0]], rtol=1e-3)
    design = np.column_stack([np.ones(len(x)), x])
    chance = odds(design @ found.coef)
    information = design.T @ ((chance * (1 - chance))[:, None] * design)
    assert np.allclose(found.covariance, np.linalg.inv(information), rtol=1e-4)


def test_without_noise_three_categories_are_those_of_scikit_learn():
    table = people()
    found = sf.regress(table, {"habit": sf.RandomizedResponse(HABITS, keep=1)}, "habit", ["age"])
    peer = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(table["age"][:, None] / 80, table["habit"])
    by_class = dict(zip(peer.classes_, np.column_stack([peer.intercept_, peer.coef_ / 80]), strict=True))
    for name in ("often", "seldom"):
        mine = [found[f"{name}: (constant)"], found[f"{name}: age"]]
        assert np.allclose(mine, by_class[name] - by_class["never"], atol=2e-3)


def test_little_noise_in_a_number_changes_little():
    table = people()
    near = sf.Gaussian(sf.Interval(20, 80), scale=0.01, step=0.01)
    blurred = table | {"age": near.randomize(table["age"], rng=1)}
    found = sf.regress(blurred, {"age": near}, "income", ["age"])
    assert np.allclose(found.coef, least_squares([table["age"]], table["income"])[0], rtol=2e-3)


# --- with noise: answers known another way ----------------------------------------------------------------------------


def test_a_line_on_one_answer_is_the_difference_of_unmixed_means():
    """Σ y 1[x = t] and Σ 1[x = t] are both undone by the table's inverse."""
    table = people()
    report = COIN.randomize(table["answer"], rng=1)
    undo = np.linalg.inv(COIN.matrix())
    seen = np.array([report == label for label in COIN.domain.labels], dtype=float)
    sums, sizes = undo @ seen @ table["income"], undo @ seen.sum(axis=1)
    found = sf.regress(table | {"answer": report}, {"answer": COIN}, "income", ["answer"])
    assert found["(constant)"] == pytest.approx(sums[1] / sizes[1])
    assert found["answer = yes"] == pytest.approx(sums[0] / sizes[0] - sums[1] / sizes[1])


def test_a_line_on_a_noisy_number_divides_by_the_variance_without_the_noise():
    table = people()
    report = AGE.randomize(table["age"], rng=1)
    found = sf.regress(table | {"age": report}, {"age": AGE}, "income", ["age"])
    noise = np.asarray(AGE.outputs.values) ** 2 @ AGE.matrix()[:, 600] - 50.0**2  # at 50, a grid point
    expected = np.cov(report, table["income"], bias=True)[0, 1] / (report.var() - noise)
    assert found["age"] == pytest.approx(expected, rel=1e-4)


def test_log_odds_are_where_no_search_finds_a_better_likelihood():
    table = people()
    z = np.column_stack([np.ones(1_500), table["age"] / 50])
    yes = COIN.randomize(table["answer"], rng=1) == "yes"

    def unlikely(beta):
        chance = odds(z @ beta)
        seen = COIN.matrix()[0, 0] * chance + COIN.matrix()[0, 1] * (1 - chance)
        return -np.log(np.where(yes, seen, 1 - seen)).sum()

    peer = optimize.minimize(unlikely, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-9})
    blurred = {"answer": np.where(yes, "yes", "no"), "age": table["age"] / 50}
    found = sf.regress(blurred, {"answer": COIN}, "answer", ["age"])
    assert np.allclose(found.coef, peer.x, atol=1e-4)
    assert found.log_likelihood == pytest.approx(-peer.fun)


# --- weights ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("channels", "outcome", "on"), [
    ({"answer": COIN, "age": AGE}, "income", ["answer", "age"]), ({"answer": COIN}, "answer", ["age"]),
])  # fmt: skip
def test_a_constant_weight_changes_nothing_and_units_do_not_matter(channels, outcome, on):
    table = people()
    table |= {name: channel.randomize(table[name], rng=2) for name, channel in channels.items()}
    plain = sf.regress(table, channels, outcome, on)
    same = sf.regress(table | {"w": np.full(1_500, 2_500.0)}, channels, outcome, on, weights="w")
    assert np.allclose(plain.coef, same.coef)
    assert np.allclose(plain.stderr, same.stderr)
    one = sf.regress(table, channels, outcome, on, weights=table["w"])
    other = sf.regress(table, channels, outcome, on, weights=365 * table["w"])
    assert np.allclose(one.coef, other.coef)
    assert np.allclose(one.covariance, other.covariance)
    assert one.worth == pytest.approx(table["w"].sum() ** 2 / (table["w"] ** 2).sum(), rel=1e-6)
    assert "by their weights worth" in str(one)


# --- with noise: calibrated, many times -------------------------------------------------------------------------------

DESIGNS = {
    "a line on everything": (
        {"answer": COIN, "habit": HABIT, "age": AGE}, "income", ["answer", "age", "habit"], None,
        {"answer = yes": 1.5, "age": 0.02, "habit = often": 0.6, "habit = seldom": 0.0},
    ),
    "a weighted line": ({"answer": COIN}, "income", ["answer", "age", "habit"], "w", {"answer = yes": 1.5}),
    "log odds": ({"answer": COIN}, "answer", ["age"], None, {"age": 0.05}),
    "weighted log odds": ({"answer": COIN}, "answer", ["age"], "w", {"age": 0.05}),
    "log odds of three": ({"habit": HABIT}, "habit", ["age"], None, {"often: age": 0.0, "seldom: age": 0.0}),
}


@pytest.mark.parametrize("name", DESIGNS)
def test_two_standard_errors_hold_the_truth(name):
    """The quick form of bench/regression.py: 80 surveys; errors in standard errors have mean 0 and variance 1."""
    channels, outcome, on, weights, truth = DESIGNS[name]
    z = np.empty((80, len(truth)))
    for seed in range(80):
        table = people(seed=7_000 + seed)
        rng = np.random.default_rng(seed)
        table |= {key: channel.randomize(table[key], rng) for key, channel in channels.items()}
        found = sf.regress(table, channels, outcome, on, weights=weights, reference=_against(outcome, on))
        z[seed] = [(found[key] - value) / found[key].stderr for key, value in truth.items()]
    for column in z.T:
        assert_mean_zero(column)
        assert stats.chi2.ppf(FALSE_ALARM / 2, 80) < (column**2).sum() < stats.chi2.isf(FALSE_ALARM / 2, 80)
    assert_probability((np.abs(z[:, 0]) < 2).sum(), 80, 0.9545)


def _against(outcome, on):
    return {key: label for key, label in {"answer": "no", "habit": "never"}.items() if key in (outcome, *on)}


# --- tables ----------------------------------------------------------------------------------------------------------


def test_every_kind_of_table_gives_the_same(tmp_path):
    table = people(400)
    table["answer"] = COIN.randomize(table["answer"], rng=1)
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    kinds = [pd.DataFrame(table), pl.DataFrame(table), pa.table(table), str(tmp_path / "t.parquet")]
    asked = {"answer": COIN}, "income", ["answer", "age"]
    expected = sf.regress(table, *asked, weights="w")
    for each in kinds:
        found = sf.regress(each, *asked, weights="w")
        assert np.allclose(found.coef, expected.coef)
        assert np.allclose(found.stderr, expected.stderr)
    held = sf.Reports(table, {"answer": COIN}, weights="w")
    assert np.allclose(sf.regress(held, None, "income", ["answer", "age"]).coef, expected.coef)


def test_a_plan_says_what_is_blurred_and_what_are_categories():
    plan = sf.Plan.from_dict({"attributes": {
        "smokes": {"categories": ["yes", "no"], "channel": "randomized-response", "gamma": 9},
        "school": {"categories": [0, 1, 2], "role": "clear"},
    }})  # fmt: skip
    rng = np.random.default_rng(1)
    truth = {"smokes": rng.choice(["yes", "no"], 500), "school": rng.integers(0, 3, 500)}
    table = dict(plan.randomize(truth, rng=rng)) | {"visits": rng.poisson(2, 500)}
    found = sf.regress(table, plan, "visits", ["smokes", "school"], reference={"school": 0})
    assert found.names == ("(constant)", "smokes = yes", "school = 1", "school = 2")


def test_levels_enter_through_their_own_tables():
    choice = sf.Choice({"open": sf.RandomizedResponse(COIN.domain, keep=1), "shy": COIN})
    table, rng = people(3_000), np.random.default_rng(4)
    level = rng.choice(["open", "shy"], 3_000)
    blurred = table | {"answer": choice.randomize(table["answer"], rng, level=level), "answer.level": level}
    found = sf.regress(blurred, {"answer": choice}, "income", ["answer", "age"])
    assert abs(found["answer = yes"] - 1.5) < 5 * found["answer = yes"].stderr
    log = sf.regress(blurred, {"answer": choice}, "answer", ["age"])
    only = sf.regress(table | {"answer": COIN.randomize(table["answer"], rng)}, {"answer": COIN}, "answer", ["age"])
    assert log["age"].stderr < only["age"].stderr


def test_people_without_an_answer_are_left_out_and_counted():
    table = people(300)
    table["answer"] = COIN.randomize(table["answer"], rng=1).astype(object)
    table["answer"][:7], table["age"][5:10] = None, np.nan
    found = sf.regress(table, {"answer": COIN}, "income", ["answer", "age"])
    assert (found.people, found.left_out) == (290, 10)
    assert "10 left out" in str(found)


@pytest.mark.parametrize("kind", [list, lambda x: np.array(x, object), lambda x: [v and Decimal(v) for v in x]])
def test_numbers_with_gaps_are_numbers(kind):
    table = people(60) | {"size": kind([None, *range(1, 60)])}
    found = sf.regress(table, None, "income", ["size"])
    assert found.names == ("(constant)", "size")
    assert found.left_out == 1


def test_zero_and_one_may_be_asked_for_their_log_odds():
    table = people(400)
    table["ill"] = (table["answer"] == "yes").astype(int)
    assert sf.regress(table, None, "ill", "age").kind == "linear"
    found = sf.regress(table, None, "ill", "age", kind="logistic", reference={"ill": 0})
    assert found.outcome == "ill = 1"
    assert found["age"] > 0


def test_the_result_is_a_small_table():
    table = people(500)
    table["answer"] = COIN.randomize(table["answer"], rng=1)
    found = sf.regress(table, {"answer": COIN}, "income", ["answer", "age"])
    lines = found.summary().splitlines()
    assert lines[0] == "income: linear regression, 500 reports"
    assert lines[1].split() == ["coefficient", "stderr", "z", "p"]
    assert [line.split("  ")[0] for line in lines[2:]] == ["(constant)", "answer = yes", "age"]
    assert list(found.to_pandas().columns) == ["name", "coef", "stderr", "z", "p"]
    assert found.to_dict()["people"] == 500
    low, high = found.interval(0.95)
    assert np.allclose((high - low) / 2, 1.959964 * found.stderr)
    assert found["age"].p == pytest.approx(found.p[2])


def test_a_category_that_may_be_nobodys_is_said():
    table = people(200)
    table["habit"] = HABIT.randomize(np.where(np.arange(200) < 3, "often", "never"), rng=1)
    try:
        found = sf.regress(table, {"habit": HABIT}, "income", ["habit"])
    except ValueError as error:
        assert "cannot be told apart" in str(error)
    else:
        assert "may be nobody's" in str(found)


def test_coefficients_that_nothing_bounds_are_said_and_have_no_end_of_error():
    table = {"x": np.arange(200.0), "y": np.where(np.arange(200) < 100, "a", "b")}
    nobody = {"x": np.arange(200.0), "y": ["no"] * 200}
    for found in (sf.regress(table, None, "y", "x"), sf.regress(nobody, {"y": COIN}, "y", "x")):
        assert "do not bound" in str(found)
        assert np.isinf(found.stderr).all()
        assert np.abs(found.coef).max() < 1e3


# --- bad input -------------------------------------------------------------------------------------------------------

SAME = sf.Tabulated(COIN.domain, [[0.5, 0.5], [0.5, 0.5]])
MANY = sf.SubsetResponse(sf.Categories(range(3_000)), gamma=19)
FEW = sf.Discretize(sf.Interval(20, 80), width=10)
TABLE = people(60)
BAD = {
    "an unknown outcome": (lambda: sf.regress(TABLE, None, "incom", ["age"]), "did you mean 'income'"),
    "an unknown column": (lambda: sf.regress(TABLE, None, "income", ["size"]), "column 'size' is not in the table"),
    "no columns": (lambda: sf.regress(TABLE, None, "income", []), "on= names no column"),
    "the outcome itself": (lambda: sf.regress(TABLE, None, "income", ["income"]), "asked for twice"),
    "a column twice": (lambda: sf.regress(TABLE, None, "income", ["age", "age"]), "asked for twice"),
    "an unknown kind": (lambda: sf.regress(TABLE, None, "income", ["age"], kind="probit"), "linear or logistic"),
    "a line of labels": (lambda: sf.regress(TABLE, None, "answer", ["age"], kind="linear"), "needs numbers"),
    "log odds of blurred numbers": (
        lambda: sf.regress(TABLE, {"age": AGE}, "age", ["income"], kind="logistic"), "needs categories"
    ),
    "log odds on a blurred column": (
        lambda: sf.regress(TABLE, {"habit": HABIT}, "answer", ["habit"]), "'habit' is blurred"
    ),
    "a reference for nothing": (
        lambda: sf.regress(TABLE, None, "income", ["age"], reference={"habit": "often"}), "reference names 'habit'"
    ),
    "an unknown reference": (
        lambda: sf.regress(TABLE, None, "income", ["habit"], reference={"habit": "daily"}), "no category of 'habit'"
    ),
    "a constant column": (lambda: sf.regress(TABLE | {"c": np.ones(60)}, None, "income", ["c"]), "same for everybody"),
    "a column twice by another name": (
        lambda: sf.regress(TABLE | {"c": 2 * TABLE["age"]}, None, "income", ["age", "c"]), "follows from the columns"
    ),
    "one label": (lambda: sf.regress(TABLE | {"c": ["a"] * 60}, None, "income", ["c"]), "one category only"),
    "too few people": (
        lambda: sf.regress({k: v[:2] for k, v in TABLE.items()}, None, "income", ["age", "w"]), "too few"
    ),
    "a channel that says nothing": (
        lambda: sf.regress(TABLE, {"answer": SAME}, "income", ["answer"]), "gives some categories the same reports"
    ),
    "an outcome that says nothing": (
        lambda: sf.regress(TABLE, {"answer": SAME}, "answer", ["age"]), "gives some categories the same reports"
    ),
    "an outcome of many categories": (
        lambda: sf.regress({"c": [0, 1], "x": [1.0, 2.0]}, {"c": MANY}, "c", ["x"]), "50 at most"
    ),
    "a column of many categories": (
        lambda: sf.regress({"c": [0, 1], "x": [1.0, 2.0]}, {"c": MANY}, "x", ["c"]), "50 at most"
    ),
    "value classes": (lambda: sf.regress(TABLE, {"age": FEW}, "income", ["age"]), "sf.Gaussian or such"),
    "everybody silent": (
        lambda: sf.regress(TABLE | {"age": np.full(60, np.nan)}, None, "income", ["age"]), "nobody answered"
    ),
    "an infinite number": (
        lambda: sf.regress(TABLE | {"age": np.full(60, np.inf)}, None, "income", ["age"]), "infinite"
    ),
    "a negative weight": (lambda: sf.regress(TABLE, None, "income", ["age"], weights=-TABLE["w"]), "weights has an"),
    "weights of nobody": (lambda: sf.regress(TABLE, None, "income", ["age"], weights=np.zeros(60)), "above zero"),
    "weights of another length": (lambda: sf.regress(TABLE, None, "income", ["age"], weights=[1.0]), "1 entries for"),
    "weights that are no column": (lambda: sf.regress(TABLE, None, "income", ["age"], weights="v"), "'v' is not in"),
    "channels of reports": (lambda: sf.regress(sf.Reports(TABLE), {}, "income", ["age"]), "know their channels"),
    "many categories": (
        lambda: sf.regress(TABLE | {"c": [f"c{i}" for i in range(60)]}, None, "income", ["c"]), "50 at most"
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_one_line(case):
    call, words = BAD[case]
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_coefficient_names_those_there_are():
    with pytest.raises(KeyError, match=r"\(constant\), age"):
        sf.regress(TABLE, None, "income", ["age"])["size"]


@pytest.mark.parametrize("kind", ["mapping", "pandas", "plan"])
def test_the_weights_may_be_a_column_to_regress_on(kind):
    table = people()
    beside = {**table, "v": table["w"]}
    expected = sf.regress(beside, {}, "income", ["age", "v"], weights=table["w"])
    plan = sf.Plan.from_dict({"attributes": {"age": {"low": 20, "high": 80, "role": "clear"}}})
    given = pd.DataFrame(table) if kind == "pandas" else table
    found = sf.regress(given, plan if kind == "plan" else {}, "income", ["age", "w"], weights="w")
    assert np.allclose(found.coef, expected.coef) and np.allclose(found.covariance, expected.covariance)
    with pytest.raises(ValueError, match="no clear column"):
        sf.regress(table, {"w": sf.Gaussian(sf.Interval(0, 20), scale=1)}, "income", ["age", "w"], weights="w")


def test_an_outcome_that_is_the_same_for_everybody_has_nothing_to_explain():
    table = people() | {"income": np.full(1500, 0.1)}
    with pytest.raises(ValueError, match=r"'income' is 0\.1 for everybody, so there is nothing to explain"):
        sf.regress(table, {}, "income", ["age", "habit"])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("wrong", ["age", "income"])
@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_numbers_whose_squares_are_no_numbers_are_refused_by_name(scale, wrong):
    table = {name: people()[name] for name in ("age", "income")}
    with pytest.raises(ValueError, match=f"column '{wrong}' .* use other units"):
        sf.regress(table | {wrong: table[wrong] * scale}, {}, "income", ["age"])


def test_an_infinite_number_is_refused_by_the_name_of_its_column():
    table = people()
    with pytest.raises(ValueError, match="column 'age' holds an infinite number"):
        sf.regress(table | {"age": np.full(1500, np.inf)}, {}, "income", ["age"])


def test_an_outcome_without_any_value_is_refused_in_words():
    table = {"age": people()["age"], "nothing": [None] * 1500}
    with pytest.raises(ValueError, match="column 'nothing' has no value; leave it out"):
        sf.regress(table, {}, "nothing", ["age"], kind="logistic")


def test_labels_of_several_kinds_are_categories_of_their_own():
    labels = [[True, "yes", 2, "2"][place] for place in np.random.default_rng(0).integers(0, 4, 1500)]
    table = pd.DataFrame({"income": people()["income"], "label": labels})
    found = sf.regress(table, {}, "income", ["label"])
    assert found.names == ("(constant)", "label = True", "label = 2", "label = '2'")
    assert "label = 2" not in sf.regress(table, {}, "income", ["label"], reference={"label": 2}).names
    assert sf.regress(table, {}, "label", ["income"]).reference == "yes"


def test_a_category_that_nobody_has_in_a_column_that_is_not_blurred_is_refused_in_one_line():
    town = sf.Clear(sf.Categories(["a", "b", "c"]))
    table = {"town": np.array(["a", "b"] * 20, object), "income": np.random.default_rng(1).normal(size=40)}
    with pytest.raises(ValueError, match="cannot be told apart"):
        sf.regress(table, {"town": town}, "income", "town", reference={"town": "a"})
