"""Who can be found: by what is in the clear, by what is known, by being unusual."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.privacy.attacks.records import distances, linkage, outliers
from sfumato.privacy.population import Population, believed_people

UNIT = sf.Interval(0, 1)


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
    assert "16.7 % of 12 people are the only ones" in found.note


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
