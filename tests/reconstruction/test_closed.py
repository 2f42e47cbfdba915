"""Many categories: the closed form equals the dense algebra, is unbiased and calibrated, and needs no table."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.counts import Counts, Tally
from sfumato.reconstruction.closed import nonnegative, project
from sfumato.reconstruction.unbiased import left_inverse, unbiased
from tests.statistics import assert_mean, assert_mean_zero

MANY = sf.Categories([f"word {i}" for i in range(150)])
ZIPF = 1 / np.arange(1, 151)
ZIPF /= ZIPF.sum()
CHANNELS = [
    sf.RandomizedResponse(MANY, gamma=19),
    sf.RandomizedResponse(MANY, keep=0.001),
    sf.SubsetResponse(MANY, gamma=19),
    sf.SubsetResponse(MANY, gamma=3),
]


def counted(channel: sf.Channel, people: int, rng: np.random.Generator) -> Counts:
    """Counts of reports, drawn by the law."""
    histogram = rng.multinomial(people, channel.law() @ ZIPF)
    return Counts({None: Tally(channel, histogram[None], np.zeros(1, np.int64))})


@pytest.mark.parametrize("channel", CHANNELS, ids=repr)
def test_expected_reports_give_the_truth_back(channel: sf.Channel) -> None:
    histogram = channel.law() @ ZIPF * 1e6
    counts = Counts({None: Tally(channel, histogram[None], np.zeros(1))})
    for method in ("inverse", "smooth"):
        np.testing.assert_allclose(sf.reconstruct(counts, method=method).probabilities, ZIPF, atol=1e-9)


@pytest.mark.parametrize("channel", CHANNELS[:2], ids=repr)
def test_the_unbiased_shares_and_their_covariance_are_those_of_the_inverted_table(channel: sf.Channel) -> None:
    counts = counted(channel, 5000, np.random.default_rng(1))
    shares, covariance = unbiased(left_inverse(channel.law()), counts.histogram.astype(float), [150])
    estimate = sf.reconstruct(counts, method="inverse")
    np.testing.assert_allclose(estimate.probabilities, shares, atol=1e-9)
    np.testing.assert_allclose(np.asarray(estimate.covariance), covariance, atol=1e-12)
    np.testing.assert_allclose(estimate.stderr, np.sqrt(np.diag(covariance)), rtol=1e-9)


@pytest.mark.parametrize("channel", CHANNELS, ids=repr)
def test_the_covariance_is_that_of_a_multinomial_through_the_estimator(channel: sf.Channel) -> None:
    """Written out: the estimator's matrix B, row by row from single reports, and Cov = B (diag f − f fᵀ) Bᵀ/(n − 1)."""
    law, people = channel.balanced(), 4000
    assert law is not None
    units = np.eye(channel.outputs.size)
    raw = np.stack([(law.counts_by_code(unit) - law.stray) / (law.kept - law.stray) for unit in units], axis=1)
    matrix = raw + (1 - raw.sum(axis=0)) / 150
    counts = counted(channel, people, np.random.default_rng(2))
    share = counts.histogram / people
    expected = (matrix * share) @ matrix.T - np.outer(matrix @ share, matrix @ share)
    estimate = sf.reconstruct(counts, method="inverse")
    np.testing.assert_allclose(estimate.probabilities, matrix @ share, atol=1e-9)
    np.testing.assert_allclose(np.asarray(estimate.covariance) * (people - 1), expected, atol=1e-7)
    np.testing.assert_allclose(estimate.covariance.diagonal() * (people - 1), np.diag(expected), atol=1e-7)
    weights = np.arange(150) % 3.0
    assert weights @ estimate.covariance @ weights == pytest.approx(weights @ expected @ weights / (people - 1))
    assert estimate.covariance[3, 4] == pytest.approx(expected[3, 4] / (people - 1))


@pytest.mark.parametrize("channel", [CHANNELS[0], CHANNELS[2]], ids=repr)
def test_sums_are_unbiased_and_their_errors_calibrated(channel: sf.Channel) -> None:
    rng, scores = np.random.default_rng(3), []
    for _ in range(200):
        estimate = sf.reconstruct(counted(channel, 20_000, rng))
        sums = [(estimate.share(MANY.labels[:top]), ZIPF[:top].sum()) for top in (5, 20, 50)]
        scores.append([(float(share) - truth) / share.stderr for share, truth in sums])
    for column in np.transpose(scores):
        assert_mean_zero(column)
        assert_mean(column**2, 1.0, np.sqrt(2))


@pytest.mark.parametrize("kind", [sf.RandomizedResponse, sf.SubsetResponse])
def test_sums_of_less_than_a_hundred_are_unbiased_too(kind: type[sf.Channel]) -> None:
    """Maximum likelihood has nothing below zero, and takes what that costs from the largest."""
    some = sf.Categories(range(60))
    channel, shares = kind(some, gamma=3), ZIPF[:60] / ZIPF[:60].sum()  # type: ignore[call-arg]
    rng, scores, law = np.random.default_rng(13), [], channel.law() @ shares
    for _ in range(100):
        histogram = rng.multinomial(5_000, law)
        estimate = sf.reconstruct(Counts({None: Tally(channel, histogram[None], np.zeros(1, np.int64))}))
        assert estimate.probabilities.min() >= 0
        share = estimate.share(some.labels[:15])
        scores.append((float(share) - shares[:15].sum()) / share.stderr)
    assert_mean_zero(np.array(scores))
    assert_mean(np.square(scores), 1.0, np.sqrt(2))


def test_sums_of_unbiased_shares_may_be_negative_where_shares_may() -> None:
    counts = counted(CHANNELS[3], 500, np.random.default_rng(14))
    inverse, smooth = (sf.reconstruct(counts, method=method) for method in ("inverse", "smooth"))
    rare = [label for label, share in zip(MANY.labels, inverse.probabilities, strict=True) if share < 0]
    assert float(inverse.share(rare)) == pytest.approx(inverse.probabilities[inverse.probabilities < 0].sum())
    assert float(smooth.share(rare)) == 0


def test_bars_hold_categories_that_hardly_stand_out() -> None:
    """They are drawn towards zero, by more than an error; bars around what is left of them held 60 % and less."""
    channel = sf.SubsetResponse(sf.Categories(range(1024)), gamma=3)
    law, shares = channel.balanced(), 1 / np.arange(1, 1025)
    shares /= shares.sum()
    rng, held = np.random.default_rng(15), []
    for _ in range(40):
        histogram = rng.multinomial(20_000, law.reports(shares))
        estimate = sf.reconstruct(Counts({None: Tally(channel, histogram[None], np.zeros(1, np.int64))}))
        (low, high), few = estimate.interval(0.9), (2 * estimate.stderr < shares) & (shares < 4 * estimate.stderr)
        held.append(float(np.mean((low <= shares) & (shares <= high), where=few)))
    assert np.mean(held) > 0.87


def test_a_single_report_is_not_sure_of_anything() -> None:
    for categories in (60, 150):
        channel = sf.SubsetResponse(sf.Categories(range(categories)), gamma=3)
        assert sf.reconstruct([7], channel).share(range(categories // 2)).stderr > 0.5
    always = sf.RandomizedResponse(MANY, keep=1.0)
    assert sf.reconstruct(MANY.labels[:1] * 10_000, always).stderr[0] < 0.01


def test_frequent_categories_keep_their_unbiased_share() -> None:
    estimate = sf.reconstruct(counted(CHANNELS[2], 20_000, np.random.default_rng(4)))
    found, raw = estimate.probabilities, estimate.unbiased
    assert found.min() == 0 and found.sum() == pytest.approx(1) and raw.min() < 0
    assert raw.sum() == pytest.approx(1)
    np.testing.assert_array_equal(found[:5], raw[:5])


def test_what_stands_out_stays_and_the_others_share_what_is_left() -> None:
    shares = np.array([0.5, -0.2, 0.4, 0.2, 0.1])
    np.testing.assert_allclose(nonnegative(shares, np.full(5, 0.2)), [0.5, 0, 0.4, 0.1, 0])
    np.testing.assert_allclose(nonnegative(shares, np.full(5, 1.0)), project(shares, 1.0))
    np.testing.assert_allclose(nonnegative(np.full(4, 0.25), np.zeros(4)), 0.25)
    np.testing.assert_allclose(nonnegative(np.array([0.9, 0.3, -0.2]), np.zeros(3)), [0.8, 0.2, 0])
    np.testing.assert_allclose(nonnegative(np.array([-1.0, 2.0]), np.full(2, 5.0)), [0, 1])


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30), st.floats(0.01, 2))
def test_nearest_is_the_least_squares_point_of_its_simplex(shares: list[float], total: float) -> None:
    """By the conditions of optimality: the same is taken from all that stay above 0, and at least as much elsewhere."""
    found = project(np.array(shares), total)
    assert found.min() >= 0 and found.sum() == pytest.approx(total)
    taken = np.array(shares) - found
    np.testing.assert_allclose(taken[found > 0], taken.max(), atol=1e-12)


def test_levels_of_different_channels_are_read_together_and_classes_apart() -> None:
    choice = sf.Choice({"bold": sf.SubsetResponse(MANY, gamma=19), "shy": sf.SubsetResponse(MANY, gamma=3)})
    rng = np.random.default_rng(5)
    people = rng.choice(150, 40_000, p=ZIPF)
    levels = np.where(rng.random(people.size) < 0.5, "bold", "shy").astype(object)
    group = np.where(people < 10, "few", "rest").astype(object)
    reports = choice.randomize(MANY.decode(people), rng=6, level=levels)
    counts = Counts.of(reports, choice, level=levels, by=group)
    estimates = sf.reconstruct(counts)
    first = estimates["few"].share(MANY.labels[:10])
    assert abs(float(first) - 1) < 6 * first.stderr + 1e-12
    assert float(estimates["rest"].share(MANY.labels[:10])) < 6 * first.stderr
    together = counts.together()
    both, bold = sf.reconstruct(together), sf.reconstruct(Counts({"bold": together.levels["bold"]}))
    assert np.median(both.stderr) < np.median(bold.stderr)


def test_counts_of_sets_merge_and_travel() -> None:
    channel = CHANNELS[2]
    reports = channel.randomize(MANY.decode(np.arange(150)), rng=7)
    parts = Counts.of(reports[:70], channel) + Counts.of([*reports[70:], None], channel)
    assert parts.total == 150 and parts.missing == 1
    again = Counts.from_dict(json.loads(json.dumps(parts.to_dict())), channel)
    np.testing.assert_array_equal(again.histogram, Counts.of(reports, channel).histogram)
    with pytest.raises(ValueError, match="another channel"):
        Counts.from_dict(parts.to_dict(), CHANNELS[3])


def test_true_answers_in_the_place_of_reports_are_noticed() -> None:
    rng = np.random.default_rng(8)
    answers = MANY.decode(rng.choice(20, 5000))
    estimate = sf.reconstruct(answers, CHANNELS[0])
    assert "do not look as if they came through this channel" in estimate.diagnostics.messages[0]
    sound = sf.reconstruct(CHANNELS[0].randomize(answers, rng=1), CHANNELS[0])
    assert sound.diagnostics.fit > 1e-5
    assert sound.diagnostics.messages == (
        "single categories of less than 2.1 % are within the noise; read several together, with share([...])",
    )


def test_without_noise_the_shares_are_the_data() -> None:
    answers = MANY.decode(np.arange(150).repeat(np.arange(150)))
    estimate = sf.reconstruct(answers, sf.RandomizedResponse(MANY, keep=1.0))
    np.testing.assert_allclose(estimate.probabilities, np.arange(150) / np.arange(150).sum(), atol=1e-15)


def test_up_to_a_hundred_categories_the_likelihood_decides_and_sums_are_unbiased() -> None:
    few = sf.Categories(range(100))
    for channel in (sf.RandomizedResponse(few, gamma=19), sf.SubsetResponse(few, gamma=19)):
        estimate = sf.reconstruct(channel.randomize(np.arange(100).repeat(20), rng=1), channel)
        assert isinstance(estimate.covariance, np.ndarray) and estimate.diagnostics.iterations > 0
        assert estimate.probabilities.min() >= 0 > estimate.unbiased.min()


def test_memory_grows_with_the_categories_not_with_their_square() -> None:
    many = sf.Categories(range(20_000))
    for channel in (sf.SubsetResponse(many, gamma=19), sf.RandomizedResponse(many, gamma=19)):
        counts = Counts.of(channel.randomize(np.arange(20_000), rng=1), channel)
        tracemalloc.start()
        estimate = sf.reconstruct(counts)
        estimate.share(range(20))
        json.dumps(estimate.to_dict())
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 80e6, f"{peak / 1e6:.0f} MB"


def test_what_cannot_be_read_is_refused_in_one_line() -> None:
    flat = sf.RandomizedResponse(sf.Categories(range(128)), keep=1 / 128)
    with pytest.raises(ValueError, match="the same reports"):
        sf.reconstruct(np.arange(128), flat)
    with pytest.raises(ValueError, match="all 3 reports are missing"):
        sf.reconstruct([None] * 3, CHANNELS[2])
    with pytest.raises(ValueError, match="no meaning"):
        sf.reconstruct([1], CHANNELS[2], intervals=5)
    estimate = sf.reconstruct([1, 2, 3], CHANNELS[2])
    with pytest.raises(ValueError, match="unknown; they are in"):
        estimate.share(["cat"])
