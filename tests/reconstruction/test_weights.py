"""Weights: what a report is worth decides the errors, and a constant changes nothing."""

import numpy as np
import pytest

import sfumato as sf
from tests.statistics import assert_probability

COLOURS = sf.Categories(["red", "green", "blue"])
WORDS = [f"word {i}" for i in range(150)]
CHANNELS = {
    "smooth numbers": (sf.Gaussian(sf.Interval(0, 1), scale=0.2), "smooth"),
    "em numbers": (sf.Gaussian(sf.Interval(0, 1), scale=0.2), "em"),
    "as00": (sf.Uniform(sf.Interval(0, 1), halfwidth=0.2), "as00"),
    "value classes": (sf.Discretize(sf.Interval(0, 1), width=0.25), "smooth"),
    "categories": (sf.RandomizedResponse(COLOURS, keep=0.7), "smooth"),
    "inverse": (sf.RandomizedResponse(COLOURS, keep=0.7), "inverse"),
    "many categories": (sf.SubsetResponse(sf.Categories(WORDS), gamma=19), "smooth"),
}


def reports(channel, n=2_000, seed=1):
    rng = np.random.default_rng(seed)
    if isinstance(channel.domain, sf.Categories):
        labels = np.array(channel.domain.labels)
        truth = labels[np.minimum(rng.geometric(0.3, n) - 1, len(labels) - 1)]
    else:
        truth = rng.beta(2, 5, n)
    return channel.randomize(truth, rng=rng)


@pytest.fixture(params=CHANNELS)
def case(request):
    channel, method = CHANNELS[request.param]
    return channel, method, reports(channel)


def read(channel, method, some, **options):
    intervals = 4 if isinstance(channel.domain, sf.Interval) else None
    return sf.reconstruct(some, channel, intervals, method, **options)


@pytest.mark.parametrize("weight", [2_500.0, 0.1, 1e-6])
def test_a_constant_weight_changes_nothing(case, weight):
    channel, method, some = case
    plain = read(channel, method, some)
    weighted = read(channel, method, some, weights=np.full(len(some), weight))
    assert np.array_equal(weighted.probabilities, plain.probabilities)
    assert np.array_equal(weighted.stderr, plain.stderr)
    assert weighted.diagnostics == plain.diagnostics


PLAIN = ["as00", "value classes", "categories", "inverse", "many categories"]
"""Where errors are those of shares of reports, without a choice of smoothness."""


@pytest.mark.parametrize("name", PLAIN)
def test_errors_grow_by_the_root_of_the_design_effect(name):
    """Every report once with weight 1 and twice with weight 4: the shares stay, and 3/(9²/33) = 11/9 is the effect."""
    channel, method = CHANNELS[name]
    thrice, weights = np.tile(reports(channel), 3), np.repeat([1.0, 4.0, 4.0], 2_000)
    plain, weighted = read(channel, method, thrice), read(channel, method, thrice, weights=weights)
    counts = sf.Counts.of(thrice, channel, weights=weights)
    assert counts.reports / counts.worth == pytest.approx(11 / 9)
    assert weighted.diagnostics.worth == pytest.approx(counts.worth)
    assert weighted.diagnostics.reports == 6_000
    assert np.allclose(weighted.probabilities, plain.probabilities, atol=1e-6)
    assert np.median(weighted.stderr / plain.stderr) == pytest.approx(np.sqrt(11 / 9), rel=0.005)


def test_errors_are_those_of_as_many_reports_as_they_are_worth(case):
    channel, method, _ = case
    some, weights = reports(channel, 20_000), np.random.default_rng(5).lognormal(0, 1, 20_000)
    counts = sf.Counts.of(some, channel, weights=weights)
    fewer = read(channel, method, some[: round(counts.worth)])
    assert counts.reports / counts.worth > 2
    assert np.median(read(channel, method, some, weights=weights).stderr / fewer.stderr) == pytest.approx(1, rel=0.15)


def test_estimates_do_not_see_the_unit_of_weights(case):
    channel, method, some = case
    weights = np.random.default_rng(2).gamma(2, 1, len(some))
    one, other = (read(channel, method, some, weights=unit * weights) for unit in (1.0, 365.0))
    assert np.allclose(one.probabilities, other.probabilities, atol=1e-9)
    assert np.allclose(one.stderr, other.stderr, rtol=1e-6)


def test_smoothing_is_chosen_by_what_reports_are_worth():
    """Repeating every report a hundred times by its weight is no evidence for detail."""
    channel, _ = CHANNELS["smooth numbers"]
    some, weights = reports(channel, 300), np.random.default_rng(1).choice([100.0, 300.0], 300)
    plain, weighted = sf.reconstruct(some, channel, 20), sf.reconstruct(some, channel, 20, weights=weights)
    assert weighted.diagnostics.degrees_of_freedom < plain.diagnostics.degrees_of_freedom + 1


def test_levels_and_classes_keep_their_weights():
    choice = sf.Choice({
        "soft": sf.RandomizedResponse(COLOURS, keep=0.9), "hard": sf.RandomizedResponse(COLOURS, keep=0.5),
    })  # fmt: skip
    rng = np.random.default_rng(3)
    level, group = rng.choice(["soft", "hard"], 3_000), rng.choice(["a", "b"], 3_000)
    some = choice.randomize(rng.choice(COLOURS.labels, 3_000), rng=rng, level=level)
    for method in ("em", "inverse"):
        plain = sf.reconstruct(some, choice, method=method, level=level, by=group)
        same = sf.reconstruct(some, choice, method=method, level=level, by=group, weights=np.full(3_000, 12.0))
        for name in ("a", "b"):
            assert np.array_equal(plain[name].stderr, same[name].stderr)
    weights = np.where(group == "a", 3.0, 1.0) * rng.gamma(2, 1, 3_000)
    counts = sf.Counts.of(some, choice, level=level, by=group, weights=weights)
    one = sf.Counts.of(some[group == "a"], choice, level=level[group == "a"], weights=weights[group == "a"])
    assert counts.select("a").worth == pytest.approx(one.worth)
    assert np.allclose(sf.reconstruct(counts.select("a")).stderr, sf.reconstruct(one).stderr)


def test_a_mean_is_that_of_weighted_numbers():
    gain = sf.Laplace(sf.Interval(0, 10), scale=1.0)
    some, weights = gain.randomize(np.full(500, 4.0), rng=1), np.random.default_rng(2).gamma(2, 1, 500)
    found = sf.mean(some, gain, weights=weights)
    middle = np.average(some, weights=weights)
    spread = (weights**2 * (some - middle) ** 2).sum() / (weights.sum() ** 2 - (weights**2).sum())
    assert float(found) == pytest.approx(middle)
    assert found.stderr == pytest.approx(np.sqrt(spread))
    assert sf.mean(some, gain, weights=np.full(500, 9.0)).stderr == sf.mean(some, gain).stderr
    assert set(sf.mean(some, gain, by=np.arange(500) % 2, weights=weights)) == {0, 1}


@pytest.mark.parametrize("method", ["em", "inverse"])
def test_bars_hold_where_weights_go_with_the_answers(method):
    """Half of the sample is a group that is a tenth of the people and says yes five times as often."""
    coin = sf.RandomizedResponse(sf.Categories(["yes", "no"]), keep=0.95)
    rng, hits, n, surveys = np.random.default_rng(11), 0, 2_000, 400
    rare, truth = np.arange(n) % 2 == 0, 0.1 * 0.5 + 0.9 * 0.1
    weights = np.where(rare, 0.1, 0.9)
    for _ in range(surveys):
        yes = rng.random(n) < np.where(rare, 0.5, 0.1)
        found = sf.reconstruct(coin.randomize(np.where(yes, "yes", "no"), rng), coin, method=method, weights=weights)
        hits += abs(found.probabilities[0] - truth) < 1.645 * found.stderr[0]
    assert_probability(hits, surveys, 0.9)


def test_joint_errors_follow_the_design_effect():
    noise = sf.RandomizedResponse(COLOURS, keep=0.7)
    table = {"a": reports(noise), "b": reports(noise, seed=2)}
    plain = sf.reconstruct_joint(table, [noise, noise])
    same = sf.reconstruct_joint(sf.Reports(table, [noise, noise], weights=np.full(2_000, 30.0)))
    thrice = {name: np.tile(column, 3) for name, column in table.items()}
    effect = sf.reconstruct_joint(sf.Reports(thrice, [noise, noise], weights=np.repeat([1.0, 4.0, 4.0], 2_000)))
    assert np.allclose(plain.stderr, same.stderr)
    assert np.allclose(effect.stderr, sf.reconstruct_joint(thrice, [noise, noise]).stderr * np.sqrt(11 / 9), rtol=0.01)


AGE = sf.Gaussian(sf.Interval(20, 80), privacy=1.0)
BAD = {
    "negative": ([1, -1, 1], "weights has an entry that is -1; give how many people"),
    "not a number": ([1, np.nan, 1], "weights has an entry that is missing"),
    "none": ([1, None, 1], "weights has an entry that is missing"),
    "infinite": ([1, np.inf, 1], "weights has an entry that is inf"),
    "beyond squares": ([1, 1e200, 1], "weights has an entry that is 1e+200"),
    "beyond small squares": ([1e-200] * 3, "weights has an entry that is 1e-200"),
    "all zero": ([0, 0, 0], "every weight is zero"),
    "too few": ([1, 1], "weights has 2 entries for 3 reports"),
    "one number": (3, "weights has 1 entries for 3 reports"),
    "text": (["a", "b", "c"], "weights"),
    "numbers as text": (["1", "2", "3"], "convert the column to numbers"),
    "truth values": ([True, False, True], "weights"),
    "dates": (np.array(["2020-01-01"] * 3, "datetime64[D]"), "convert the column to numbers"),
    "a table": ([[1, 2], [3, 4]], "weights has 4 entries for 3 reports"),
    "of counts": (None, "not counted yet"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_weights_are_refused_in_one_line(case):
    weights, words = BAD[case]
    some = sf.Counts.of([30.0], AGE) if weights is None else [30.0, 40.0, 50.0]
    with pytest.raises((ValueError, TypeError)) as caught:
        sf.reconstruct(some, AGE, weights=[1.0] if weights is None else weights)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


PLAN = sf.Plan.from_dict({"attributes": {
    "smokes": {"categories": ["yes", "no"], "channel": "randomized-response", "gamma": 9},
    "hours": {"low": 0, "high": 60, "channel": "laplace", "privacy": 0.5},
    "region": {"categories": ["n", "s"], "role": "clear"},
}})  # fmt: skip


def test_a_plan_weighs_by_a_column_an_array_or_the_reports_own():
    rng = np.random.default_rng(1)
    smokes, region = rng.choice(["yes", "no"], 900), rng.choice(["n", "s"], 900)
    made = PLAN.randomize({"smokes": smokes, "hours": rng.uniform(0, 60, 900), "region": region}, rng=rng)
    table = dict(made) | {"w": rng.gamma(2, 1, 900)}
    named = PLAN.reconstruct(table, 4, by="region", weights="w")
    given = PLAN.reconstruct(made, 4, by="region", weights=table["w"])
    reports = sf.Reports(table, PLAN, target="region", weights="w")
    own = PLAN.reconstruct(reports, 4, by="region")
    later = PLAN.reconstruct(sf.Reports(made, PLAN, target=False), 4, by="region", weights=table["w"])
    apart = sf.reconstruct(
        sf.Counts.of(table["smokes"], PLAN.attributes["smokes"].channel, by=region, weights=table["w"])
    )
    for name in ("n", "s"):
        assert np.allclose(named["smokes"][name].stderr, apart[name].stderr)
        for other in (given, own, later):
            assert np.allclose(named["hours"][name].stderr, other["hours"][name].stderr)
    everybody = sf.reconstruct(sf.Reports(table, PLAN, target=False, weights="w"), intervals=4)
    assert everybody["hours"].diagnostics.worth == pytest.approx(table["w"].sum() ** 2 / (table["w"] ** 2).sum())
    assert "by their weights worth" in str(everybody["hours"])


def test_counts_that_are_given_weigh_already():
    counts = PLAN.counts({"smokes": ["yes"], "hours": [3.0]})
    with pytest.raises(ValueError, match="not counted yet"):
        PLAN.reconstruct(counts, weights=[1.0])
