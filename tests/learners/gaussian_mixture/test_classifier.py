"""The classifier chooses its shape on reports, does not collapse with many columns, and reads every kind of column."""

import json

import numpy as np
import pytest

import sfumato as sf
from sfumato.learners.gaussian_mixture.answers import stated_exp

RANGE = sf.Interval(-8, 8)
CHANNEL = sf.Gaussian(RANGE, privacy=0.25)


def moons(n, seed=0):
    """Two bows that no single normal distribution describes."""
    rng = np.random.default_rng(seed)
    angle, y = rng.uniform(0, np.pi, n), rng.integers(0, 2, n)
    x = np.column_stack([np.cos(angle) - 0.5 * (1 - 2 * y), np.sin(angle) - 0.3]) * (1 - 2 * y)[:, None]
    return np.clip(4 * x + rng.normal(0, 0.4, x.shape), -8, 8), y


def test_as_many_components_as_the_classes_need():
    x, y = moons(12_000)
    reports = CHANNEL.randomize(x, np.random.default_rng(1))
    model = sf.GaussianMixtureClassifier([CHANNEL] * 2, random_state=0).fit(reports, y)
    one = sf.GaussianMixtureClassifier([CHANNEL] * 2, components=1, random_state=0).fit(reports, y)
    truth, classes = moons(3_000, 7)
    assert model.shape_.components > 1 and model.score(truth, classes) > one.score(truth, classes) + 0.02


def test_sixty_columns_do_not_collapse():
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(6, 60))
    y = rng.integers(0, 3, 3_000)
    x = np.clip((rng.normal(size=(y.size, 6)) + 1.2 * np.eye(6)[y]) @ mixing / 2, -8, 8)
    channel = sf.Gaussian(RANGE, privacy=0.5)
    model = sf.GaussianMixtureClassifier([channel] * 60, random_state=0).fit(
        channel.randomize(x[:2_000], rng), y[:2_000]
    )
    assert model.score(x[2_000:], y[2_000:]) > 0.6


@pytest.mark.parametrize("noise", [sf.Uniform(RANGE, privacy=0.5), sf.SquareWave(RANGE, gamma=30)], ids=str)
def test_noise_that_is_not_normal_enters_by_its_moments(noise):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 6_000)
    x = np.clip(rng.normal(size=(y.size, 3)) + 2 * y[:, None], -8, 8)
    model = sf.GaussianMixtureClassifier([noise] * 3, random_state=0).fit(noise.randomize(x, rng), y)
    assert model.score(x, y) > 0.93


def test_categories_stand_beside_numbers():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 6_000)
    number, label = rng.normal(2.0 * y, 1), np.where(rng.random(y.size) < 0.2, 1 - y, y)
    response = sf.RandomizedResponse(sf.Categories([0, 1]), gamma=9)
    reports = {"n": CHANNEL.randomize(np.clip(number, -8, 8), rng), "c": response.randomize(label, rng)}
    model = sf.GaussianMixtureClassifier({"n": CHANNEL, "c": response}, random_state=0).fit(reports, y)
    alone = sf.GaussianMixtureClassifier({"n": CHANNEL}, random_state=0).fit({"n": reports["n"]}, y)
    truth = {"n": number, "c": label}
    assert model.score(truth, y) > alone.score({"n": number}, y) + 0.02
    unknown = model.predict_proba({"n": number[:5], "c": np.array([None] * 5, dtype=object)})
    np.testing.assert_allclose(unknown.sum(axis=1), 1)


def test_a_missing_number_integrates_out():
    """With one component a class the answer is that of a model of the other column alone."""
    x, y = moons(4_000)
    both = sf.GaussianMixtureClassifier(components=1, shrinkage=0).fit(x, y)
    one = sf.GaussianMixtureClassifier(components=1, shrinkage=0).fit(x[:, :1], y)
    gaps = np.column_stack([x[:50, 0], np.full(50, np.nan)])
    np.testing.assert_allclose(both.predict_proba(gaps), one.predict_proba(x[:50, :1]), atol=1e-6)


def test_stated_masses_are_those_of_the_densities():
    x, y = moons(2_000)
    model = sf.GaussianMixtureClassifier(components=3, shrinkage=1, random_state=0).fit(x, y)
    for row in (x[0], np.array([np.nan, 1.0])):
        masses = model.member_.masses(row, np.zeros(0, int))
        np.testing.assert_allclose(masses / masses.sum(), model.predict_proba(row[None])[0], rtol=1e-9)
    grid = -np.geomspace(1e-9, 690, 200)
    np.testing.assert_allclose(stated_exp(grid), np.exp(grid), rtol=1e-11)
    assert stated_exp(np.array([-1e9])) == 0


def test_wrong_settings_say_what_is_right():
    x, y = moons(50)
    with pytest.raises(ValueError, match="components must be 1 or more"):
        sf.GaussianMixtureClassifier(components=0).fit(x, y)


def test_categories_alone_travel_too() -> None:
    rng = np.random.default_rng(0)
    label = rng.choice(["a", "b", "c"], 300).astype(object)
    coin = sf.RandomizedResponse(sf.Categories(["a", "b", "c"]), keep=0.8)
    y, X = (label == "a") ^ (rng.random(300) < 0.1), label[:, None]
    model = sf.GaussianMixtureClassifier([coin]).fit(coin.randomize(X, rng), y)
    again = sf.GaussianMixtureClassifier.from_dict(json.loads(json.dumps(model.to_dict())))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
