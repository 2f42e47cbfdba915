"""Independent estimates held against each other and put together."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.reconstruction import WithError
from tests.statistics import assert_mean_zero, assert_probability

COIN = sf.RandomizedResponse(sf.Categories(["yes", "no"]), keep=0.8)
HOURS = sf.Laplace(sf.Interval(0, 60), privacy=0.5)
WORDS = sf.SubsetResponse(sf.Categories([f"w{i}" for i in range(200)]), gamma=19)


def coins(share, n, rng):
    return COIN.randomize(np.where(rng.random(n) < share, "yes", "no"), rng)


def test_variances_add():
    rng = np.random.default_rng(1)
    a, b = sf.reconstruct(coins(0.3, 900, rng), COIN), sf.reconstruct(coins(0.5, 400, rng), COIN)
    found = sf.difference(a, b)
    assert np.allclose(found.differences, a.probabilities - b.probabilities)
    assert np.allclose(found.covariance, a.covariance + b.covariance)
    assert np.allclose(found.stderr, np.hypot(a.stderr, b.stderr))
    assert np.allclose(found.p_together, found.p[0])
    share = sf.difference(a.share(["yes"]), b.share(["yes"]))
    assert (float(share), share.stderr) == pytest.approx((found.differences[0], found.stderr[0]))
    assert share.p == pytest.approx(found.p[0])


def test_samples_of_the_same_people_differ_as_often_as_said():
    rng, surveys = np.random.default_rng(2), 500
    p = []
    for _ in range(surveys):
        by = sf.reconstruct(coins(0.4, 800, rng), COIN, by=np.arange(800) % 2)
        p.append(sf.difference(by[0], by[1]).p_together)
    for level in (0.05, 0.3):
        assert_probability(int((np.array(p) < level).sum()), surveys, level)


def test_other_people_are_told_apart_in_words():
    rng = np.random.default_rng(3)
    worked = np.concatenate([np.clip(rng.normal(mean, 5, 4_000), 0, 60) for mean in (30, 42)])
    by = sf.reconstruct(HOURS.randomize(worked, rng), HOURS, 6, by=np.repeat(["part", "full"], 4_000))
    found = sf.difference(by["full"], by["part"])
    assert "they differ beyond chance (p < 0.0001)" in str(found)
    assert "4,000 and 4,000 reports" in str(found)
    same = sf.difference(by["full"], by["full"])
    assert same.p_together == 1
    assert "chance alone" in str(same)
    assert set(found.to_dict()) == {"labels", "differences", "stderr", "p", "p_together"}
    means = sf.mean(HOURS.randomize(worked, rng), HOURS, by=np.repeat(["part", "full"], 4_000))
    gap = sf.difference(means["full"], means["part"])
    assert abs(gap - (worked[4_000:].mean() - worked[:4_000].mean())) < 6 * gap.stderr


def test_many_categories_are_compared_without_writing_their_covariance_out():
    rng = np.random.default_rng(4)
    drawn = [WORDS.randomize([f"w{i}" for i in np.minimum(rng.geometric(p, 5_000) - 1, 199)], rng) for p in (0.1, 0.2)]
    a, b = (sf.reconstruct(some, WORDS) for some in drawn)
    found = sf.difference(a, b)
    assert np.allclose(found.differences, a.unbiased - b.unbiased)
    assert np.allclose(found.stderr, np.hypot(a.stderr, b.stderr))
    assert found.p_together < 1e-6
    both = sf.combine({"a": a, "b": b}, {"a": 1, "b": 1})
    assert np.allclose(both.stderr, np.hypot(a.stderr, b.stderr) / 2)
    some = both.share(["w0", "w1"])
    parts = [each.share(["w0", "w1"]) for each in (a, b)]
    assert some.stderr == pytest.approx(np.hypot(parts[0].stderr, parts[1].stderr) / 2)


def test_strata_are_put_together_by_their_shares():
    rng = np.random.default_rng(5)
    strata = {"town": sf.reconstruct(coins(0.6, 500, rng), COIN), "land": sf.reconstruct(coins(0.2, 700, rng), COIN)}
    found = sf.combine(strata, {"town": 300_000, "land": 100_000})
    town, land = strata.values()
    assert np.allclose(found.probabilities, 0.75 * town.probabilities + 0.25 * land.probabilities)
    assert np.allclose(found.covariance, 0.75**2 * town.covariance + 0.25**2 * land.covariance)
    assert found.diagnostics.reports == 1_200
    assert np.allclose(sf.combine(strata, {"land": 0.25, "town": 0.75}).probabilities, found.probabilities)


def test_a_stratified_sample_is_unbiased_and_its_bars_hold():
    """A tenth of the people is half of the sample."""
    rng, surveys, truth = np.random.default_rng(6), 400, 0.1 * 0.7 + 0.9 * 0.2
    z = np.empty(surveys)
    for i in range(surveys):
        reports = np.concatenate([coins(0.7, 500, rng), coins(0.2, 500, rng)])
        by = sf.reconstruct(reports, COIN, by=np.repeat(["few", "many"], 500))
        found = sf.combine(by, {"few": 0.1, "many": 0.9}).share(["yes"])
        z[i] = (found - truth) / found.stderr
    assert_mean_zero(z)
    assert_probability(int((np.abs(z) < 1.645).sum()), surveys, 0.9)


def test_means_and_shares_of_strata_together_do_not_depend_on_the_intervals_asked_for():
    rng = np.random.default_rng(6)
    worked, by = np.clip(rng.normal(38, 6, 4000), 0, 60), np.arange(4000) % 2
    reports = HOURS.randomize(worked, rng)
    found = sf.combine(sf.reconstruct(reports, HOURS, 2, by=by), {0: 1, 1: 1})
    assert abs(found.mean() - 38) < 4 * found.mean().stderr < 2
    assert found.share(low=40) == pytest.approx(sf.reconstruct(reports, HOURS, 2).share(low=40), abs=0.05)


def test_strata_that_cannot_tell_are_together_no_surer_than_each():
    fine = sf.reconstruct(HOURS.randomize(np.repeat([20.0, 40.0], 300), rng=1), HOURS, 20)
    assert fine.diagnostics.cannot_tell
    found = sf.combine({k: fine for k in range(4)}, dict.fromkeys(range(4), 1))
    assert found.diagnostics.cannot_tell
    np.testing.assert_allclose(found.stderr, fine.stderr)
    assert found.mean().stderr == pytest.approx(fine.mean().stderr)


def test_a_stratum_without_anybody_in_the_population_does_not_count():
    assert sf.combine({"a": WithError(3.0, np.inf), "b": WithError(5.0, 0.4)}, {"a": 0, "b": 1}).stderr == 0.4


def test_a_plan_by_class_is_put_together_attribute_by_attribute():
    plan = sf.Plan.from_dict({"attributes": {
        "smokes": {"categories": ["yes", "no"], "channel": "randomized-response", "gamma": 9},
        "hours": {"low": 0, "high": 60, "channel": "laplace", "privacy": 0.5},
        "region": {"categories": ["n", "s"], "role": "clear"},
    }})  # fmt: skip
    rng = np.random.default_rng(7)
    smokes, region = rng.choice(["yes", "no"], 600), rng.choice(["n", "s"], 600)
    table = plan.randomize({"smokes": smokes, "hours": rng.uniform(0, 60, 600), "region": region}, rng=rng)
    apart = plan.reconstruct(table, 4, by="region")
    found = sf.combine(apart, {"n": 2, "s": 1})
    assert set(found) == {"smokes", "hours"}
    assert np.allclose(
        found["hours"].probabilities, (2 * apart["hours"]["n"].probabilities + apart["hours"]["s"].probabilities) / 3
    )


def test_a_blurred_column_is_no_class_to_reconstruct_by():
    spec = {"categories": ["y", "n"], "channel": "randomized-response", "gamma": 9}
    plan = sf.Plan.from_dict({"attributes": {"s": spec, "t": spec}})
    table = plan.randomize({"s": ["y", "n"] * 20, "t": ["y", "n"] * 20})
    with pytest.raises(ValueError, match="column 's' is blurred"):
        plan.reconstruct(table, by="s")
    with pytest.raises(TypeError, match="names a column"):
        plan.reconstruct(table, by=[0, 1] * 20)


A, B = (sf.reconstruct(["yes"] * n + ["no"] * 10, COIN) for n in (10, 20))
OTHER = sf.reconstruct([30.0, 40.0], HOURS, 4)
FINER = sf.reconstruct([30.0, 40.0], HOURS, 5)
BAD = {
    "other categories": (lambda: sf.difference(A, OTHER), "different intervals or categories"),
    "other intervals": (lambda: sf.difference(OTHER, FINER), "different intervals or categories"),
    "a plain number": (lambda: sf.difference(A, 0.3), "not of Estimate and float"),
    "a number and an estimate": (lambda: sf.difference(WithError(1, 1), A), "not of WithError and Estimate"),
    "no strata": (lambda: sf.combine({}, {}), "mapping from stratum"),
    "a list of strata": (lambda: sf.combine([A, B], [0.5, 0.5]), "mapping from stratum"),
    "shares in a list": (lambda: sf.combine({"a": A, "b": B}, [0.5, 0.5]), "shares is a mapping"),
    "a share too few": (lambda: sf.combine({"a": A, "b": B}, {"a": 1}), "none for stratum 'b'"),
    "a share too many": (lambda: sf.combine({"a": A}, {"a": 1, "c": 1}), "'c', which is no stratum here"),
    "a negative share": (lambda: sf.combine({"a": A}, {"a": -1}), "the share of 'a' is -1"),
    "a missing share": (lambda: sf.combine({"a": A}, {"a": np.nan}), "the share of 'a' is nan"),
    "a share in words": (lambda: sf.combine({"a": A}, {"a": "half"}), "the share of 'a' is 'half'"),
    "no share at all": (lambda: sf.combine({"a": A}, {"a": 0}), "every share is zero"),
    "strata of two kinds": (lambda: sf.combine({"a": A, "b": OTHER}, {"a": 1, "b": 1}), "different intervals"),
    "plain numbers": (lambda: sf.combine({"a": 0.1, "b": 0.2}, {"a": 1, "b": 1}), "all of one kind"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_one_line(case):
    call, words = BAD[case]
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_strata_together_say_what_they_are_worth():
    """100 people of a tenth and 100 of nine tenths: 1/(.1²/100 + .9²/100)."""
    coin = sf.RandomizedResponse(sf.Categories(["yes", "no"]), keep=0.75)
    parts = {name: sf.reconstruct(["yes"] * 50 + ["no"] * 50, coin) for name in "ab"}
    assert sf.combine(parts, {"a": 1, "b": 9}).diagnostics.worth == pytest.approx(100 / 0.82)
    assert sf.combine(parts, {"a": 1, "b": 1}).diagnostics.worth == pytest.approx(200)
    weighed = sf.reconstruct(["yes", "no"] * 2, coin, weights=[1, 1, 1, 3])
    both = sf.combine({"a": weighed, "b": parts["b"]}, {"a": 1, "b": 0})
    assert both.diagnostics.worth == pytest.approx(weighed.diagnostics.worth)
