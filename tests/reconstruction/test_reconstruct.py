"""Reconstruction end to end: known answers, limits that hold exactly, and errors that say how to mend them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.counts import Counts
from sfumato.reconstruction import Estimate, choose_intervals
from tests.statistics import critical_z

UNIT = sf.Interval(0, 1)
AGES = sf.Interval(20, 80, integer=True)
COLOURS = sf.Categories(["red", "green", "blue"])
NUMERIC = {
    "gaussian": sf.Gaussian(UNIT, scale=0.1),
    "uniform": sf.Uniform(UNIT, halfwidth=0.2),
    "laplace": sf.Laplace(UNIT, scale=0.1),
    "square wave": sf.SquareWave(UNIT, gamma=19),
    "discretize": sf.Discretize(UNIT, width=0.1),
    "noise, then classes": sf.Gaussian(UNIT, scale=0.1) >> sf.Discretize(sf.Interval(-1, 2), width=0.1),
    "whole numbers": sf.Gaussian(AGES, scale=4),
}


def people_and_reports(channel, n: int = 20_000, seed: int = 0):
    rng = np.random.default_rng(seed)
    share = rng.beta(2, 4, n)
    low, high = channel.domain.low, channel.domain.high
    people = low + (high - low) * share
    people = np.rint(people) if channel.domain.integer else people
    return people, channel.randomize(people, rng=rng)


@pytest.mark.parametrize("method", ["em", "smooth", "as00"])
@pytest.mark.parametrize("name", NUMERIC)
def test_every_channel_is_reconstructed_better_than_by_reading_the_reports(name, method):
    channel = NUMERIC[name]
    people, reports = people_and_reports(channel)
    estimate = sf.reconstruct(reports, channel, 10, method)
    truth = np.histogram(people, estimate.edges)[0] / people.size
    naive = np.histogram(np.clip(reports, channel.domain.low, channel.domain.high), estimate.edges)[0] / people.size
    assert estimate.probabilities.sum() == pytest.approx(1)
    assert (estimate.probabilities >= 0).all()
    assert estimate.stderr.shape == truth.shape
    assert np.isfinite(estimate.covariance).all()
    if name != "discretize":
        assert np.abs(estimate.probabilities - truth).sum() < np.abs(naive - truth).sum()


@pytest.mark.parametrize("method", ["em", "smooth", "as00"])
def test_without_noise_the_estimate_is_the_histogram(method):
    channel = sf.Discretize(UNIT, width=0.1)
    people, reports = people_and_reports(channel)
    estimate = sf.reconstruct(reports, channel, channel.edges, method)
    assert np.allclose(estimate.probabilities, np.histogram(people, channel.edges)[0] / people.size, atol=1e-6)


def test_without_noise_the_errors_are_those_of_counting():
    channel = sf.Discretize(UNIT, width=0.1)
    _, reports = people_and_reports(channel)
    estimate = sf.reconstruct(reports, channel, channel.edges, "em")
    p = estimate.probabilities
    binomial = np.sqrt(p * (1 - p) / reports.size)
    common = p > 0.01
    assert np.allclose(estimate.stderr[common], binomial[common], rtol=0.02)


@pytest.mark.parametrize("method", ["em", "smooth", "as00", "inverse"])
def test_categories_without_noise_are_the_shares_of_the_reports(method):
    channel = sf.RandomizedResponse(COLOURS, keep=1.0)
    estimate = sf.reconstruct(["red"] * 3 + ["green"] * 5 + [None], channel, method=method)
    assert np.allclose(estimate.probabilities, [3 / 8, 5 / 8, 0], atol=1e-6)
    assert estimate.categories == ("red", "green", "blue")
    assert estimate.edges is None
    assert (estimate.diagnostics.reports, estimate.diagnostics.missing) == (8, 1)


def test_maximum_likelihood_of_categories_is_the_inverse_where_that_is_a_distribution():
    channel = sf.RandomizedResponse(COLOURS, keep=0.6)
    reports = ["red"] * 300 + ["green"] * 400 + ["blue"] * 300
    ml, inverse = (sf.reconstruct(reports, channel, method=method) for method in ("em", "inverse"))
    assert np.allclose(ml.probabilities, inverse.probabilities, atol=1e-5)
    assert np.allclose(ml.stderr, inverse.stderr, rtol=0.02)


def test_people_at_two_levels_equal_the_stacked_problem():
    light, strong = sf.Uniform(UNIT, halfwidth=0.1), sf.Uniform(UNIT, halfwidth=0.5)
    _, light_reports = people_and_reports(light, 3000, 1)
    _, strong_reports = people_and_reports(strong, 9000, 2)
    counts = Counts.of(light_reports, light, level="light") + Counts.of(strong_reports, strong, level="strong")
    estimate = sf.reconstruct(counts, intervals=100, method="em")
    from sfumato.evidence import DenseTable, Evidence, maximise_likelihood
    from sfumato.evidence.laws import observe

    seen = [observe(channel, estimate.edges) for channel in (light, strong)]
    table = np.vstack([share * one.table.dense() for share, one in zip((0.25, 0.75), seen, strict=True)])
    stacked = np.concatenate(
        [one.reports.gather(tally.histogram[0]) for one, tally in zip(seen, counts.levels.values(), strict=True)]
    )
    fit = maximise_likelihood(Evidence.of_counts(DenseTable(table), stacked))
    assert np.allclose(estimate.probabilities, fit.probabilities[0])


def test_two_levels_with_the_same_channel_equal_one_level():
    channel = NUMERIC["gaussian"]
    _, reports = people_and_reports(channel, 5000)
    split = Counts.of(reports[:2000], channel, level="a") + Counts.of(reports[2000:], channel, level="b")
    for method in ("em", "as00"):
        one, two = sf.reconstruct(reports, channel, 10, method), sf.reconstruct(split, intervals=10, method=method)
        assert np.allclose(one.probabilities, two.probabilities, atol=2e-3)


@pytest.mark.parametrize("method", ["em", "smooth", "as00"])
def test_classes_together_equal_classes_one_by_one(method):
    channel = NUMERIC["uniform"]
    _, reports = people_and_reports(channel, 6000)
    group = np.where(np.arange(6000) % 3 == 0, "few", "many")
    found = sf.reconstruct(Counts.of(reports, channel, by=group), intervals=10, method=method)
    assert set(found) == {"few", "many"}
    for name, estimate in found.items():
        alone = sf.reconstruct(reports[group == name], channel, 10, method)
        assert np.allclose(estimate.probabilities, alone.probabilities, atol=1e-9)
        assert estimate.diagnostics.reports == (group == name).sum()


def test_merged_counts_give_the_estimate_of_all_reports():
    channel = NUMERIC["gaussian"]
    _, reports = people_and_reports(channel, 4000)
    parts = Counts.of(reports[:1000], channel) + Counts.of(reports[1000:], channel)
    whole = sf.reconstruct(reports, channel, 20, "em")
    assert np.array_equal(sf.reconstruct(parts, channel, 20, "em").probabilities, whole.probabilities)


@pytest.mark.parametrize("column", [pd.Series, pl.Series, pa.array, list])
def test_any_kind_of_column_is_read(column):
    channel = NUMERIC["gaussian"]
    _, reports = people_and_reports(channel, 500)
    expected = sf.reconstruct(reports, channel, 5, "em").probabilities
    assert np.allclose(sf.reconstruct(column(reports), channel, 5, "em").probabilities, expected)


def test_raw_noisy_numbers_of_anyone_are_read_too():
    channel = NUMERIC["gaussian"]
    rng = np.random.default_rng(4)
    people = rng.uniform(0.25, 0.75, 50_000)
    estimate = sf.reconstruct(people + rng.normal(0, 0.1, people.size), channel, 4, "em")
    assert np.allclose(estimate.probabilities, [0, 0.5, 0.5, 0], atol=0.03)


def test_intervals_may_cover_a_part_of_the_domain():
    channel = NUMERIC["uniform"]
    people, reports = people_and_reports(channel)
    part = sf.reconstruct(reports, channel, [0.2, 0.3, 0.6], "em")
    assert np.allclose(part.probabilities, np.histogram(people, [0.2, 0.3, 0.6])[0] / people.size, atol=0.03)


def test_a_large_grid_is_solved_through_waves_and_agrees_with_a_small_one():
    channel = sf.Gaussian(UNIT, scale=0.1)
    _, reports = people_and_reports(channel)
    fine, coarse = (sf.reconstruct(reports, channel, k, "em").probabilities for k in (500, 100))
    assert np.abs(fine.reshape(10, -1).sum(axis=1) - coarse.reshape(10, -1).sum(axis=1)).sum() < 0.02


def test_noise_that_hides_the_answer_is_named():
    channel = sf.Gaussian(UNIT, scale=1.0)
    _, reports = people_and_reports(channel, 200)
    for method in ("em", "smooth"):
        assert sf.reconstruct(reports, channel, 20, method).diagnostics.messages
    said = " ".join(sf.reconstruct(reports, channel, 20, "em").diagnostics.messages)
    assert "20 intervals were asked for" in said


def test_reports_of_another_channel_are_noticed():
    _, reports = people_and_reports(sf.Uniform(UNIT, halfwidth=0.5), 50_000)
    said = sf.reconstruct(reports, sf.Gaussian(UNIT, scale=0.05), 20, "em").diagnostics.messages
    assert any("do not look as if they came through this channel" in sentence for sentence in said)


def test_a_good_problem_has_nothing_to_say():
    channel = sf.Uniform(UNIT, halfwidth=0.2)
    _, reports = people_and_reports(channel)
    assert sf.reconstruct(reports, channel, 10, "em").diagnostics.messages == ()


GAUSS = NUMERIC["gaussian"]
RESPONSE = sf.RandomizedResponse(COLOURS, keep=0.5)
@pytest.mark.parametrize("method", ["em", "smooth", "as00"])
def test_more_intervals_than_whole_numbers_are_one_each_and_said(method):
    stairs = sf.Gaussian(sf.Interval(1, 10, integer=True), scale=2)
    reports = stairs.randomize(np.arange(2000) % 10 + 1, rng=1)
    many, each = sf.reconstruct(reports, stairs, 12, method), sf.reconstruct(reports, stairs, None, method)
    assert np.array_equal(many.edges, each.edges)
    assert np.array_equal(many.probabilities, each.probabilities)
    assert many.diagnostics.messages[0].startswith("12 intervals were asked for, but integers from 1 to 10")
    with pytest.raises(ValueError, match="holds no whole number"):
        sf.reconstruct(reports, stairs, [1, 1.2, 1.4, 10], method)


def test_a_plan_is_reconstructed_attribute_by_attribute():
    plan = sf.Plan.from_dict(
        {
            "attributes": {
                "stairs": {"low": 1, "high": 10, "integer": True, "channel": "gaussian", "scale": 2},
                "x": {"low": 0, "high": 1, "channel": "gaussian", "scale": 0.2},
                "colour": {"categories": ["red", "green"], "channel": "randomized-response", "keep": 0.6},
                "group": {"categories": ["a", "b"], "role": "class"},
            }
        }
    )
    rng = np.random.default_rng(4)
    people = {
        "stairs": rng.integers(1, 11, 900),
        "x": rng.random(900),
        "colour": rng.choice(["red", "green"], 900),
        "group": rng.choice(["a", "b"], 900),
    }
    reports = plan.randomize(pd.DataFrame(people), rng=rng)
    found = plan.reconstruct(reports, 12)
    assert list(found) == ["stairs", "x", "colour"]
    assert [len(each.probabilities) for each in found.values()] == [10, 12, 2]
    alone = sf.reconstruct(reports["x"], plan.attributes["x"].channel, 12)
    assert np.allclose(found["x"].probabilities, alone.probabilities)
    again = plan.reconstruct(plan.counts(reports), {"x": 5})
    assert len(again["x"].probabilities) == 5
    by_class = plan.reconstruct(reports, 5, "em", by="group")
    assert set(by_class["colour"]) == {"a", "b"}
    with pytest.raises(ValueError, match="attribute 'x': intervals=0"):
        plan.reconstruct(reports, {"x": 0})
    with pytest.raises(ValueError, match="no attribute 'y'"):
        plan.reconstruct({"y": Counts.of(["red"], RESPONSE)})


@pytest.mark.parametrize("by", ["nobody", ""])
def test_classes_in_an_unknown_column_are_refused_with_those_there_are(by):
    plan = sf.Plan.from_dict({"attributes": {
        "x": {"low": 0, "high": 1, "channel": "gaussian", "scale": 0.2},
        "group": {"categories": ["a", "b"], "role": "class"},
    }})  # fmt: skip
    table = plan.randomize({"x": [0.5, 0.6], "group": ["a", "b"]}, 1)
    for ask in (plan.counts, plan.reconstruct):
        for reports in (table, pd.DataFrame(table), sf.Reports(table, plan)):
            with pytest.raises(ValueError) as caught:
                ask(reports, by=by)
            assert str(caught.value) == f"class column {by!r} is not in the table; it has x, group"
        for other in (["group"], 5, np.array(["a", "b"])):
            with pytest.raises(TypeError, match=r"^by= names a column of the table; put the classes into one$"):
                ask(table, by=other)
    with pytest.raises(ValueError, match="by='group' is one text"):
        sf.mean(table["x"], plan.attributes["x"].channel, by="group")


BAD = {
    "no reports": (lambda: sf.reconstruct([], GAUSS), "there are no reports"),
    "all missing": (lambda: sf.reconstruct([np.nan, np.nan], GAUSS), "all 2 reports are missing"),
    "no channel": (lambda: sf.reconstruct([0.1], None), "channel is missing"),
    "a word for a channel": (lambda: sf.reconstruct([0.1], "gaussian"), "is not a channel"),
    "an infinite report": (lambda: sf.reconstruct([0.1, np.inf], GAUSS), "infinite"),
    "text": (lambda: sf.reconstruct(["a"], GAUSS), "numbers"),
    "an unknown category": (lambda: sf.reconstruct(["mauve"], RESPONSE), "unknown category"),
    "an unknown method": (lambda: sf.reconstruct([0.1], GAUSS, method="magic"), "method='magic' is unknown"),
    "no intervals": (lambda: sf.reconstruct([0.1], GAUSS, 0), "intervals=0"),
    "reversed edges": (lambda: sf.reconstruct([0.1], GAUSS, [1, 0]), "sort them"),
    "intervals of categories": (lambda: sf.reconstruct(["red"], RESPONSE, 5), "leave it out"),
    "the inverse of numbers": (lambda: sf.reconstruct([0.1], GAUSS, method="inverse"), "for categories"),
    "counts of another channel": (lambda: sf.reconstruct(Counts.of([0.1], GAUSS), RESPONSE), "another channel"),
    "levels of two domains": (
        lambda: sf.reconstruct(Counts.of([0.1], GAUSS, level=1) + Counts.of(["red"], RESPONSE, level=2)),
        "different domains",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_one_line(case):
    call, words = BAD[case]
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_one_report_is_enough_to_be_told_that_it_is_too_few():
    for method in ("em", "smooth", "as00"):
        estimate = sf.reconstruct([0.5], GAUSS, 10, method)
        assert isinstance(estimate, Estimate)
        assert any("too few reports" in sentence for sentence in estimate.diagnostics.messages)


@pytest.mark.parametrize(("n", "intervals"), [(0, 5), (30, 5), (4_000, 10), (200_000, 20)])
def test_there_are_as_many_intervals_as_the_reports_decide(n, intervals):
    rng, noise = np.random.default_rng(1), sf.Uniform(UNIT, halfwidth=0.4)
    assert choose_intervals(Counts.of(noise.randomize(rng.random(n), rng=rng), noise)) == intervals
    assert choose_intervals(Counts.of([], sf.RandomizedResponse(COLOURS, keep=0.5))) is None


ROUNDED = {"uniform": lambda domain: sf.Uniform(domain, halfwidth=20), "wave": lambda domain: sf.SquareWave(domain, 19)}


@pytest.mark.parametrize("integer", [False, True])
@pytest.mark.parametrize("channel", ROUNDED)
@pytest.mark.parametrize(("part", "multiple"), [(1.0, 5), (0.5, 5), (0.5, 10)])
def test_people_who_round_are_counted_on_the_right_side_of_a_round_number(integer, channel, part, multiple):
    """Half or all of 200,000 people name a multiple of 5 or 10: shares and quantiles there are where they are."""
    rng, domain = np.random.default_rng(17), sf.Interval(0, 100, integer=integer)
    noise, people = ROUNDED[channel](domain), np.clip(rng.normal(42, 15, 200_000), 0, 100)
    people = np.where(rng.random(people.size) < part, np.rint(people / multiple) * multiple, people)
    people = np.rint(people) if integer else people
    estimate = sf.reconstruct(noise.randomize(people, rng=rng), noise, 20)
    for bound in (30, 40, 45):
        share = estimate.share(high=bound)
        assert abs(share - (people < bound).mean()) < critical_z() * share.stderr
        assert share.stderr < 0.03
    for q in (0.25, 0.5):
        value = estimate.quantile(q)
        assert abs(value - np.quantile(people, q)) < critical_z() * value.stderr


@pytest.mark.parametrize("integer", [False, True])
def test_where_nobody_could_see_rounding_a_share_has_room_for_it(integer):
    rng, domain = np.random.default_rng(18), sf.Interval(0, 100, integer=integer)
    noise, people = sf.Gaussian(domain, scale=10), np.rint(np.clip(rng.normal(42, 15, 200_000), 0, 100) / 5) * 5
    estimate = sf.reconstruct(noise.randomize(people, rng=rng), noise, 20)
    share, median = estimate.share(high=40), estimate.quantile(0.5)
    assert abs(share - (people < 40).mean()) < 2 * share.stderr
    assert abs(median - np.quantile(people, 0.5)) < 2 * median.stderr


@pytest.mark.parametrize("method", ["smooth", "inverse"])
def test_a_class_in_which_nobody_answered_is_left_out_with_a_note(method):
    coin = sf.RandomizedResponse(COLOURS, gamma=4)
    reports, region = ["red", "green", None, "blue", "red"], ["n", "n", "west", "s", "s"]
    found = sf.reconstruct(reports, coin, by=region, method=method)
    assert set(found) == {"n", "s"}
    for estimate in found.values():
        assert "class 'west' left out: nobody there gave an answer to this" in estimate.diagnostics.messages
    with pytest.raises(ValueError, match="all 2 reports are missing"):
        sf.reconstruct([None, None], coin, by=["n", "s"], method=method)
