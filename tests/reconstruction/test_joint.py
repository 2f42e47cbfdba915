"""Joint reconstruction: known answers in the limits where they are known."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.reconstruction import joint

UNIT = sf.Interval(0, 1)
NOISE = sf.Uniform(UNIT, halfwidth=0.2)
COLOUR = sf.RandomizedResponse(sf.Categories(["red", "green", "blue"]), keep=0.6)


def test_one_attribute_equals_the_one_dimensional_estimate():
    rng = np.random.default_rng(0)
    reports = NOISE.randomize(rng.beta(2, 4, 5000), rng=rng)
    one, many = sf.reconstruct(reports, NOISE, 20, "em"), sf.reconstruct_joint(reports[:, None], [NOISE], 20)
    assert np.allclose(one.probabilities, many.probabilities)
    assert np.allclose(one.stderr, many.marginal(0).stderr)


def test_independent_attributes_give_the_product_of_their_estimates():
    """Counts that are exactly a product have exactly a product as their maximum-likelihood estimate."""
    first, second = [0.5, 0.3, 0.2], [0.1, 0.2, 0.7]
    shares = np.outer(COLOUR.matrix() @ first, COLOUR.matrix() @ second)
    labels = np.array(["red", "green", "blue"])
    counts = np.rint(1e5 * shares).astype(int)
    rows = [[labels[i], labels[j]] for i in range(3) for j in range(3) for _ in range(counts[i, j])]
    estimate = sf.reconstruct_joint(np.array(rows), [COLOUR, COLOUR])
    assert np.allclose(estimate.probabilities, np.outer(first, second), atol=1e-3)


def test_cells_of_categories_have_errors_that_fit_repeated_surveys():
    rng, found = np.random.default_rng(1), []
    true = rng.choice(["red", "green", "blue"], (300, 2), p=[0.5, 0.3, 0.2])
    for _ in range(60):
        people = true[rng.integers(0, 300, 300)]
        rows = np.column_stack([COLOUR.randomize(column, rng=rng) for column in people.T])
        found.append(sf.reconstruct_joint(rows, [COLOUR, COLOUR]))
    spread = np.std([each.probabilities for each in found], axis=0)
    stated = np.mean([each.stderr for each in found], axis=0)
    assert stated.shape == (3, 3) and 0.7 < np.median(stated / spread) < 1.6
    assert sf.reconstruct_joint(NOISE.randomize(rng.random((50, 2)), rng=rng), [NOISE, NOISE], 4).stderr is None


def test_no_reports_at_all_are_refused_in_one_line():
    choice = sf.Choice({"a": COLOUR, "b": COLOUR})
    nobody = {"x": np.array([], object), "x.level": np.array([], object), "y": np.array([], object)}
    with pytest.raises(ValueError, match="there are no reports"):
        sf.reconstruct_joint(nobody, {"x": choice, "y": COLOUR})


def test_dependence_is_found_through_the_noise():
    rng = np.random.default_rng(1)
    x = rng.random(40_000)
    colour = np.where(x < 0.5, "red", "blue")
    reports = {"x": NOISE.randomize(x, rng=rng), "colour": COLOUR.randomize(colour, rng=rng)}
    estimate = sf.reconstruct_joint(reports, [NOISE, COLOUR], [2, None])
    assert np.allclose(estimate.probabilities, [[0.5, 0, 0], [0, 0, 0.5]], atol=0.03)
    assert np.allclose(estimate.marginal(1).probabilities, [0.5, 0, 0.5], atol=0.03)


def test_without_noise_it_is_the_two_dimensional_histogram():
    classes = sf.Discretize(UNIT, width=0.25)
    rng = np.random.default_rng(2)
    people = rng.beta(2, 2, (1000, 2))
    reports = np.column_stack([classes.randomize(people[:, 0]), classes.randomize(people[:, 1])])
    estimate = sf.reconstruct_joint(reports, [classes, classes], 4)
    expected = np.histogram2d(people[:, 0], people[:, 1], bins=[classes.edges] * 2)[0] / 1000
    assert np.allclose(estimate.probabilities, expected, atol=1e-6)


def test_counting_only_what_occurs_gives_the_same_estimate(monkeypatch):
    rng = np.random.default_rng(3)
    people = rng.random((2000, 2))
    reports = np.column_stack([NOISE.randomize(people[:, 0], rng=rng), NOISE.randomize(people[:, 1], rng=rng)])
    dense = sf.reconstruct_joint(reports, [NOISE, NOISE], 5)
    monkeypatch.setattr(joint, "COMBINATIONS", 1)
    sparse = sf.reconstruct_joint(reports, [NOISE, NOISE], 5)
    assert np.allclose(dense.probabilities, sparse.probabilities, atol=1e-6)


def test_four_attributes_are_within_reach():
    rng = np.random.default_rng(4)
    colours = np.array(["red", "green", "blue"])[rng.integers(0, 3, (5000, 2))]
    x = rng.random((5000, 2))
    columns = {
        "a": NOISE.randomize(x[:, 0], rng=rng),
        "b": COLOUR.randomize(colours[:, 0], rng=rng),
        "c": NOISE.randomize(x[:, 1], rng=rng),
        "d": COLOUR.randomize(colours[:, 1], rng=rng),
    }
    estimate = sf.reconstruct_joint(columns, [NOISE, COLOUR, NOISE, COLOUR], 4)
    assert estimate.probabilities.shape == (4, 3, 4, 3)
    assert estimate.probabilities.sum() == pytest.approx(1)


def test_more_cells_than_the_reports_decide_are_named():
    hidden = sf.Gaussian(UNIT, scale=0.5)
    rng = np.random.default_rng(6)
    reports = np.column_stack([hidden.randomize(rng.random(3000), rng=rng) for _ in range(2)])
    facts = sf.reconstruct_joint(reports, [hidden, hidden], 10).diagnostics
    assert facts.degrees_of_freedom < 10
    assert "100 intervals were asked for" in facts.messages[0]


def test_without_noise_the_reports_decide_everything():
    clear = sf.RandomizedResponse(sf.Categories(["a", "b", "c"]), keep=1.0)
    labels = np.array(["a", "b", "c"])[np.random.default_rng(7).integers(0, 3, (10_000, 2))]
    assert sf.reconstruct_joint(labels, [clear, clear]).diagnostics.degrees_of_freedom == pytest.approx(8, abs=0.05)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_any_kind_of_table_is_read(kind):
    rng = np.random.default_rng(5)
    columns = {"x": NOISE.randomize(rng.random(200), rng=rng), "c": COLOUR.randomize(["red"] * 200, rng=rng)}
    expected = sf.reconstruct_joint(columns, [NOISE, COLOUR], 3).probabilities
    assert np.allclose(sf.reconstruct_joint(kind(columns), [NOISE, COLOUR], 3).probabilities, expected)


def test_a_person_with_a_missing_report_is_left_out_and_counted():
    estimate = sf.reconstruct_joint(np.array([[0.1, 0.2], [np.nan, 0.3], [0.5, 0.5]]), [NOISE, NOISE], 2)
    assert (estimate.diagnostics.reports, estimate.diagnostics.missing) == (2, 1)
    assert "2 × 2" in str(estimate)


PLAN = sf.Plan.from_dict(
    {
        "attributes": {
            "x": {"low": 0, "high": 1, "channel": "uniform", "halfwidth": 0.2},
            "colour": {"categories": ["red", "green", "blue"], "channel": "randomized-response", "keep": 0.6},
            "town": {"categories": ["A", "B"], "role": "clear"},
        }
    }
)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, dict])
def test_a_plan_knows_the_channels_of_its_columns(kind):
    rng = np.random.default_rng(8)
    people = {"town": rng.choice(["A", "B"], 500), "x": rng.random(500), "colour": rng.choice(["red", "blue"], 500)}
    reports = PLAN.randomize(kind(people), rng=rng)
    joint_of_plan = sf.reconstruct_joint(reports, PLAN, {"x": 4})
    by_hand = sf.reconstruct_joint({"x": reports["x"], "colour": reports["colour"]}, [NOISE, COLOUR], [4, None])
    assert joint_of_plan.names == ("x", "colour")
    assert np.allclose(joint_of_plan.probabilities, by_hand.probabilities)
    assert np.allclose(joint_of_plan.marginal("colour").probabilities, by_hand.marginal(1).probabilities)
    assert sf.reconstruct_joint(reports, PLAN, 3, columns=["town", "x"]).probabilities.shape == (2, 3)


def test_every_level_enters_through_its_own_table():
    """With one attribute it is reconstruct's estimate of the levels; levels that nobody chose do not matter."""
    choice = sf.Choice({"open": sf.Uniform(UNIT, halfwidth=0.1), "shy": NOISE, "never": sf.Gaussian(UNIT, scale=1)})
    rng = np.random.default_rng(9)
    level = rng.choice(["open", "shy"], 4000)
    reports = choice.randomize(rng.beta(2, 4, 4000), rng=rng, level=level)
    together = sf.reconstruct_joint({"x": reports, "x.level": level}, {"x": choice}, 10)
    alone = sf.reconstruct(reports, choice, 10, "em", level=level)
    assert np.allclose(together.probabilities, alone.probabilities, atol=1e-6)
    assert np.allclose(together.marginal("x").stderr, alone.stderr)


def test_weights_count_people():
    twice = sf.Reports({"x": [0.1, 0.7], "c": ["red", "blue"]}, [NOISE, COLOUR], weights=[2.0, 1.0])
    plain = {"x": [0.1, 0.1, 0.7], "c": ["red", "red", "blue"]}
    expected = sf.reconstruct_joint(plain, [NOISE, COLOUR], 3)
    assert np.allclose(sf.reconstruct_joint(twice, intervals=3).probabilities, expected.probabilities)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sf.reconstruct_joint([0.1, 0.2], [NOISE]), "one row a person"),
        (lambda: sf.reconstruct_joint([[0.1, 0.2]], [NOISE]), "1 entries for 2 columns"),
        (lambda: sf.reconstruct_joint([[np.nan, 0.2]], [NOISE, NOISE]), "no person"),
        (lambda: sf.reconstruct_joint([[0.1, 0.2]], [NOISE, "noise"]), "not a channel"),
        (lambda: sf.reconstruct_joint([[0.1, 0.2]], [NOISE, NOISE], 0), "intervals=0"),
        (lambda: sf.reconstruct_joint([[0.1, 0.2]], [NOISE, None]), "column 'x1' has no channel"),
        (lambda: sf.reconstruct_joint([[0.1, 0.2]], [NOISE, None], columns=[0, 1]), "clear numbers"),
        (lambda: sf.reconstruct_joint([[0.1, 0.2]], [NOISE, NOISE]).marginal("y"), "attribute 'y' is not in"),
        (lambda: sf.reconstruct_joint([[0.1, 0.2], [0.1, np.inf]], [NOISE, NOISE]), "row 2, column 'x1'"),
    ],
)
def test_bad_input_is_refused_in_one_line(call, words):
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
