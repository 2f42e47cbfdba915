"""Advice is right: what it proposes meets the target when audited, and less noise would not."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sfumato as sf
from sfumato.guarantee.statement import read_prior, smallest_sets
from sfumato.privacy import BeliefTarget, WidthTarget
from sfumato.privacy.population import posterior
from sfumato.privacy.targets import Exposure, judge_target

UNIT = sf.Interval(0, 1)


def random_case(seed: int) -> tuple[sf.Channel, object, np.ndarray]:
    """A channel that protects little, a target within reach, and a belief."""
    rng = np.random.default_rng(seed)
    low = float(rng.integers(-50, 50))
    number = sf.Interval(low, low + float(rng.integers(30, 300)), integer=bool(rng.random() < 0.5))
    prior = rng.dirichlet(np.full(10, 3.0))
    if seed % 2:
        rho1 = float(rng.uniform(0.01, 0.3))
        goal = BeliefTarget(rho1, float(rng.uniform(rho1 + 0.05, 0.95)))
        labels = sf.Categories(range(int(rng.integers(2, 12))))
        weak = [sf.Gaussian(number, privacy=0.3), sf.Discretize(number, width=9)]
        channel = [*weak, sf.RandomizedResponse(labels, keep=0.99)][int(rng.integers(3))]
        return channel, goal, rng.dirichlet(np.full(channel.inputs.size, 2.0))
    width = float(rng.uniform(0.35, 0.6)) * number.width
    weak = [kind(number, privacy=0.3) for kind in (sf.Gaussian, sf.Uniform, sf.Laplace)]
    channel = [*weak, sf.SquareWave(number, gamma=300)][int(rng.integers(4))]
    confidence = float(rng.choice([0.8, 0.9, 0.95]))
    belief = read_prior(channel, prior)
    known = smallest_sets(belief[None], number.width / belief.size, confidence)[0]  # without any report
    return channel, WidthTarget("answer", min(width, 0.9 * float(known)), confidence), prior


@pytest.mark.parametrize("seed", range(31))
def test_the_proposed_channel_meets_its_target_when_audited(seed: int) -> None:
    channel, goal, prior = random_case(seed)
    advice = sf.advise(channel, goal, prior=prior, costs=False)
    assert advice.met and meets(advice.channel, goal, prior)
    assert meets(channel, goal, prior) == (not advice.changes)
    if seed < 6:  # every kind of noise among them; the rest of an audit knows nothing of targets
        told = sf.audit(advice.channel, targets=[goal], prior=prior, samples=2000 * 9, people=60)
        assert told.passed, str(told)


def meets(channel: sf.Channel, goal: object, prior: np.ndarray) -> bool:
    """As an audit judges it."""
    stated, belief = {"answer": channel.guarantee()}, {"answer": read_prior(channel, prior)}
    return judge_target(goal, stated, Exposure({"answer": channel}, belief)).met


def test_a_proposed_width_holds_for_simulated_people() -> None:
    channel = sf.advise(sf.Gaussian(UNIT, scale=0.08), "answer: 0.4 at 90%", costs=False).channel
    rng = np.random.default_rng(1)
    true = rng.integers(0, channel.inputs.size, 2000)
    reports = channel.encode_reports(channel.randomize(channel.inputs.decode(true), rng))
    flat = np.full(channel.inputs.size, 1 / channel.inputs.size)
    widths = smallest_sets(posterior(channel.law(), flat, reports), channel.inputs.step, 0.9)
    assert widths.mean() == pytest.approx(0.4, rel=0.02)


def test_advice_asks_for_no_more_noise_than_it_takes() -> None:
    advice = sf.advise(sf.Gaussian(UNIT, scale=0.08), "answer: 0.4 at 90%", costs=False)
    less = sf.Gaussian(UNIT, scale=0.98 * advice.channel.scale)
    short, enough = (Exposure({"x": each}, {}).width("x", 0.9) for each in (less, advice.channel))
    assert short < 0.4 <= enough
    gamma = sf.advise(sf.Gaussian(UNIT, scale=0.1), "5% to 50%", costs=False).channel.guarantee().gamma
    assert 18.98 < gamma < 19


def test_what_meets_its_target_is_left_alone() -> None:
    channel = sf.SquareWave(UNIT, gamma=9)
    advice = sf.advise(channel, ["5% to 50%", "answer: 0.2 at 90%"])
    assert advice.channel is channel and advice.changes == {} and "Nothing has to change" in str(advice)
    assert sf.advise(PLAN, "one: 0.1 at 95%", truth=pairs()).costs == ()


def test_reports_of_one_channel_are_read_as_they_are() -> None:
    channel, people = sf.Gaussian(UNIT, scale=0.1), np.random.default_rng(3).beta(2, 5, 2000)
    reports = channel.randomize(people, rng=4)
    flat, seen = (sf.advise(channel, "answer: 0.4 at 90%", given, costs=False).channel for given in (None, reports))
    assert seen.scale > flat.scale


PLAN = sf.Plan.from_dict(
    {
        "name": "pair",
        "attributes": {
            "one": {"low": 0, "high": 1, "channel": "gaussian", "privacy": 0.5},
            "two": {"low": 0, "high": 1, "channel": "gaussian", "privacy": 0.2},
            "group": {"categories": ["A", "B"], "role": "class"},
        },
    }
)


def pairs(n: int = 3000) -> dict[str, np.ndarray]:
    z = np.random.default_rng(0).multivariate_normal([0.5, 0.5], [[0.02, 0.019], [0.019, 0.02]], n)
    values = np.clip(z, 0, 1)
    return {"one": values[:, 0], "two": values[:, 1], "group": np.where(values[:, 0] > 0.5, "A", "B")}


def test_advice_allows_for_what_a_correlated_answer_gives_away() -> None:
    reports = PLAN.randomize(pairs(), rng=1)
    goals = ["one: 0.25 at 95%", "two: 0.25 at 95%"]
    with pytest.raises(ValueError, match="blur what it goes with"):
        sf.advise(PLAN, goals[:1], reports, costs=False)
    alone, seen = sf.advise(PLAN, goals[1], costs=False), sf.advise(PLAN, goals[1], reports, costs=False)
    assert alone.met and seen.met
    assert seen.plan.attributes["two"].channel.scale > 1.1 * alone.plan.attributes["two"].channel.scale


def test_costs_are_told_for_what_changes_and_for_the_tree() -> None:
    advice = sf.advise(PLAN, ["two: 5% to 20%"], truth=pairs(), people=2000)
    assert [cost.attribute for cost in advice.costs] == ["two", "group"]
    error, tree = advice.costs
    assert 0 < error.before < error.after < 1
    assert 0.5 < tree.after <= tree.before + 0.05 and tree.clean > 0.95
    json.dumps(advice.to_dict(), allow_nan=False)


def test_blur_does_not_seem_better_than_truth() -> None:
    """What can be told of a class at best is no more than chance allows, and a full tree would learn that chance."""
    rng = np.random.default_rng(3)
    level = rng.random(6000)
    group = np.where(rng.random(6000) < np.where(level > 0.4, 0.75, 0.3), "a", "b")
    plan = sf.Plan.from_dict({"name": "chance", "attributes": {
        "level": {"low": 0, "high": 1, "channel": "gaussian", "privacy": 0.2},
        "other": {"low": 0, "high": 1, "channel": "gaussian", "privacy": 0.2},
        "group": {"categories": ["a", "b"], "role": "class"},
    }})
    truth = {"level": level, "other": rng.random(6000), "group": group}
    advice = sf.advise(plan, ["level: 0.9 at 95%"], truth=truth, people=2000)
    (tree,) = [cost for cost in advice.costs if cost.attribute == "group"]
    assert tree.clean is not None
    assert tree.clean > max(tree.before, tree.after) - 0.02


def test_baskets_are_told_their_lowest_discoverable_support() -> None:
    channel = sf.SelectASize.design(sf.Items(50), sizes=[3], gamma=50, up_to=2)
    advice = sf.advise(channel, "5% to 50%", people=100_000)
    assert advice.met and advice.channel.gamma < 19
    assert len(advice.costs) == 2 and all(cost.after > cost.before for cost in advice.costs)


# --- only a mean is wanted ------------------------------------------------------------------------------------------

SPIKE = np.append(0.92, np.full(99, 0.08 / 99))


def test_a_mean_alone_is_asked_for_through_the_channel_that_tells_it_best() -> None:
    told = sf.advise(sf.Gaussian(UNIT, privacy=1.0), "5% to 50%", means=True)
    assert isinstance(told.channel, sf.Piecewise) and told.met
    assert "the mean's error, of the range, from 10,000 reports" in str(told)


@pytest.mark.parametrize("gamma", [np.e, 3, 19])
def test_people_at_one_end_are_asked_at_few_places(gamma: float) -> None:
    told = sf.advise(sf.SquareWave(UNIT, gamma=gamma), "answer: 5% to 96%", means=True, prior=SPIKE)
    assert isinstance(told.channel, sf.Piecewise) and told.channel.places <= 3
    assert told.channel.gamma <= gamma
    (cost,) = told.costs
    assert cost.after < cost.before


def test_a_channel_that_tells_the_mean_as_well_is_kept() -> None:
    for channel in (sf.Piecewise(UNIT, gamma=3), sf.Piecewise(UNIT, gamma=18)):
        assert not sf.advise(channel, "5% to 50%", means=True).changes


def test_a_piecewise_channel_stays_one_when_its_bound_falls() -> None:
    told = sf.advise(sf.Piecewise(UNIT, gamma=30, places=2), "5% to 50%", costs=False)
    assert told.channel == sf.Piecewise(UNIT, gamma=18.99, places=2)


@pytest.mark.parametrize(
    ("channel", "targets", "means", "words"),
    [
        (sf.Gaussian(UNIT, scale=1), "answer: 0.2 at 90%", True, "no bound under which a mean could be told best"),
        (sf.RandomizedResponse(sf.Categories(["a", "b"]), gamma=3), "5% to 50%", True, "which is no number"),
        (sf.Gaussian(UNIT, scale=1), "5% to 50%", ["age"], "means names 'age', which has no channel of its own"),
    ],
)
def test_a_mean_that_cannot_be_advised_on_is_one_line(
    channel: sf.Channel, targets: str, means: object, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        sf.advise(channel, targets, means=means)


def drawing(gammas: list[float], each: int) -> sf.Plan:
    yes_no = {"categories": ["yes", "no"], "channel": "randomized-response"}
    attributes = {f"q{place}": {**yes_no, "gamma": gamma} for place, gamma in enumerate(gammas)}
    return sf.Plan.from_dict({"questions_each": each, "attributes": attributes})


def test_of_questions_that_are_drawn_only_the_largest_count() -> None:
    """5 % to 50 % takes γ = 19: one answer of γ = 5 is below, two of them are not, and of those asked two share it."""
    enough = sf.advise(drawing([5, 5], 1), "5% to 50%", costs=False)
    assert enough.met and not enough.changes and "γ = 5 is below" in str(enough)
    assert "γ = 5 is below" in str(sf.audit(drawing([5, 5], 1), targets=["5% to 50%"], samples=18_000, people=60))
    advice = sf.advise(drawing([2, 9, 9, 9], 2), "5% to 50%", costs=False)
    gammas = [each.channel.guarantee().gamma for each in advice.plan.attributes.values()]
    assert advice.met and gammas[0] == 2 and gammas[1:] == pytest.approx([19**0.5] * 3, abs=2e-3)
    assert 18.9 < advice.plan.guarantee().gamma < 19
    twice = sf.advise(drawing([5, 5], 1), "5% to 50%", costs=False, times=2)
    assert twice.met and twice.plan.guarantee().gamma == pytest.approx(19**0.5, abs=2e-3)
