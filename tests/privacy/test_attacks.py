"""Single attacks against known answers: what a report teaches, what repeating it teaches, who can be found."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas
import polars
import pytest

import sfumato as sf
from sfumato.privacy.attacks.averaging import averaging
from sfumato.privacy.attacks.baskets import item_guess
from sfumato.privacy.attacks.best_guess import best_guess
from sfumato.privacy.attacks.finding import Finding
from sfumato.privacy.attacks.linkage import linkage
from sfumato.privacy.attacks.low_bits import share_read_off
from sfumato.privacy.attacks.outliers import distances, outliers
from sfumato.privacy.population import Attacked, Population, believed_people, read_columns

UNIT = sf.Interval(0, 1)


def attacked(channel: sf.Channel, people: int = 4000, seed: int = 0) -> Attacked:
    """People spread evenly, and an adversary who knows that."""
    rng = np.random.default_rng(seed)
    return believed_people({"x": channel}, None, None, people, rng).targets["x"]


def test_without_noise_the_best_guess_is_the_truth() -> None:
    found = best_guess(attacked(sf.RandomizedResponse(sf.Categories("abcd"[i] for i in range(4)), keep=1.0)))
    assert found.recovered == 1 and found.without_report == pytest.approx(0.25, abs=0.03)


def test_randomized_response_is_guessed_right_as_often_as_the_truth_is_kept() -> None:
    found = best_guess(attacked(sf.RandomizedResponse(sf.Categories(range(4)), keep=0.6)))
    assert found.stated == pytest.approx(0.6) and found.recovered == pytest.approx(0.6, abs=0.04)
    assert not found.noticeable


def test_small_gaussian_noise_leaves_just_the_width_that_is_stated() -> None:
    found = best_guess(attacked(sf.Gaussian(UNIT, scale=0.02)))
    assert found.stated == pytest.approx(3.92 * 0.02, rel=1e-3)
    assert found.recovered == pytest.approx(found.stated, rel=0.1)
    assert found.without_report == pytest.approx(0.95, rel=0.05)


@pytest.mark.parametrize("times", [4, 16])
def test_averaging_narrows_the_width_by_the_root_of_the_number_of_answers(times: int) -> None:
    target = attacked(sf.Gaussian(UNIT, scale=0.05))
    found = averaging(target, times, np.random.default_rng(1))
    assert found.recovered == pytest.approx(3.92 * 0.05 / np.sqrt(times), rel=0.2)
    assert found.noticeable and "below what is stated" in str(found)


def test_everybody_is_found_when_nothing_is_blurred_and_nobody_when_everything_is() -> None:
    names = sf.Categories(range(50))
    shares = {}
    for keep in (1.0, 1 / 50):
        channel = sf.RandomizedResponse(names, keep=keep)
        (found,) = linkage(believed_people({"x": channel}, None, None, 40, np.random.default_rng(2)))
        shares[keep] = found.recovered
    target = believed_people({"x": sf.RandomizedResponse(names, keep=1.0)}, None, None, 40, np.random.default_rng(2))
    sizes = np.bincount(target.targets["x"].true, minlength=50)[target.targets["x"].true]
    assert shares[1.0] == pytest.approx((1 / sizes).mean())
    assert shares[1 / 50] == pytest.approx(1 / 40)


def test_clear_attributes_narrow_the_search_to_their_group() -> None:
    silent = sf.RandomizedResponse(sf.Categories(["yes", "no"]), keep=0.5)
    people = believed_people({"x": silent}, None, None, 12, np.random.default_rng(0))
    known = Population(people.targets, {"town": np.repeat(["A", "B", "C"], [1, 1, 10])}, "test")
    (found,) = linkage(known)
    assert found.without_report == found.recovered == pytest.approx((1 + 1 + 10 / 10) / 12)
    assert "16.7% of 12 people are the only ones" in found.note


def test_unusual_people_stand_out_without_noise() -> None:
    rng = np.random.default_rng(4)
    truth = {name: np.clip(rng.normal(0.5, 0.1, 3000), 0, 1) for name in "ab"}
    shares = []
    for scale in (0.002, 2.0):
        channels = {name: sf.Gaussian(UNIT, scale=scale, step=0.002) for name in "ab"}
        (found,) = outliers(believed_people(channels, None, truth, 1000, rng))
        shares.append(found.recovered)
    assert shares[0] > 0.9 and shares[1] < 0.2


def test_the_distance_is_that_of_mahalanobis() -> None:
    rows = np.random.default_rng(0).multivariate_normal([1, 2], [[2, 1], [1, 3]], 500)
    one = rows[7] - rows.mean(axis=0)
    assert distances(rows)[7] == pytest.approx(one @ np.linalg.inv(np.cov(rows.T)) @ one)


def test_digits_left_behind_are_read_off_and_reports_on_the_grid_have_none() -> None:
    true = np.random.default_rng(0).random(1000)
    noise = np.random.default_rng(1).integers(-50, 50, 1000) * 0.01
    assert share_read_off(true, true + noise, 0, 0.01) > 0.99
    assert share_read_off(true, np.rint((true + noise) / 0.01) * 0.01, 0, 0.01) == 0


def test_the_belief_in_an_item_stays_within_the_stated_bound() -> None:
    channel = sf.SelectASize.design(sf.Items(200), sizes=[5], gamma=19)
    (found,) = item_guess("basket", channel)
    assert found.without_report == 0.025 < found.recovered < found.stated <= 19 * 0.025 / (19 * 0.025 + 0.975) + 1e-12


def test_people_believed_from_reports_have_the_correlation_of_the_true_ones() -> None:
    rng = np.random.default_rng(5)
    z = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], 20_000)
    truth = {"a": np.clip(0.5 + 0.12 * z[:, 0], 0, 1), "b": np.clip(0.5 + 0.12 * z[:, 1], 0, 1)}
    channels = {"a": sf.Gaussian(UNIT, scale=0.15), "b": sf.SquareWave(UNIT, gamma=50)}
    reports = {name: channel.randomize(truth[name], rng) for name, channel in channels.items()}
    people = believed_people(channels, reports, None, 3000, rng)
    drawn = np.array([target.true_numbers for target in people.numeric])
    assert np.corrcoef(drawn)[0, 1] == pytest.approx(0.8, abs=0.1)
    np.testing.assert_allclose(drawn.std(axis=1), 0.12, rtol=0.1)
    assert people.covariance == pytest.approx(np.cov(z.T) * 0.12**2, rel=0.2)


def test_a_finding_says_how_far_below_the_stated_privacy_it_is() -> None:
    width = Finding("a", "x", "width", 60, 15, 60)
    hits = Finding("a", "x", "hits", 0.2, 0.9, 0.6)
    assert width.below_stated == 0.75 and hits.below_stated == pytest.approx(0.75)
    assert "75% below what is stated" in str(width)
    assert Finding("a", "x", "width", 60, 70, 60).below_stated == 0 == Finding("a", "x", "hits", 0.1, 0.2).below_stated


def test_columns_are_read_from_every_kind_of_table() -> None:
    plain = {"a": [1.0, 2.0], "b": ["x", "y"]}
    frame = pandas.DataFrame(plain)
    for table in (plain, frame, polars.DataFrame(plain), duckdb.from_df(frame)):
        assert read_columns(table, ["b"])["b"].tolist() == ["x", "y"]
    with pytest.raises(ValueError, match="column 'c' is missing; the table has a, b"):
        read_columns(plain, ["c"])
