"""Gaussian mixtures with the noise taken off: known answers, and the clean counterpart without noise."""

import warnings

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

import sfumato as sf
from sfumato.counts import Reports
from sfumato.learners.gaussian_mixture.fit import GaussianMixtureFit, Shape
from sfumato.learners.gaussian_mixture.records import columns_of, records_of

DOMAIN = sf.Interval(-40, 40)
NOISE = sf.Gaussian(DOMAIN, scale=3)
CLEAR = np.eye(2)


def people(n=4_000, seed=0):
    """Two classes of two numbers each: one normal, and one of two clusters; the classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    side = np.where(rng.random(n) < 0.5, -6.0, 6.0) * y
    x = rng.multivariate_normal([0, 0], [[4, 3], [3, 9]], n) + np.column_stack([side, 5.0 * y])
    return x, y


def fit_of(x, y, channels, shape, seed=0, label_table=CLEAR):
    table = {f"x{j}": x[:, j] for j in range(x.shape[1])}
    reports = Reports(table, channels, target=y)
    columns = columns_of(reports)
    return GaussianMixtureFit(records_of(reports, columns), label_table, shape, np.random.default_rng(seed)), columns


def test_without_noise_it_is_scikit_learns_mixture_in_each_class():
    """From the same start, step by step."""
    x, y = people()
    fit, columns = fit_of(x, y, [None, None], Shape(3))
    start = fit.parameters
    for _ in range(5):
        fit.step()
    for group in (0, 1):
        of = start.classes == group
        peer = GaussianMixture(
            3, max_iter=5, tol=0.0, reg_covar=0.0, weights_init=np.full(3, 1 / 3), means_init=start.means[of],
            precisions_init=np.linalg.inv(start.covariances[of]),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            peer.fit(columns.standardise(x[y == group]))
        np.testing.assert_allclose(fit.parameters.means[of], peer.means_, atol=1e-6)
        np.testing.assert_allclose(fit.parameters.covariances[of], peer.covariances_, atol=1e-6)
        np.testing.assert_allclose(2 * fit.parameters.weights[of], 2 * np.mean(y == group) * peer.weights_, atol=1e-6)


def test_the_noise_is_taken_off():
    x, y = people(40_000)
    reports = NOISE.randomize(np.clip(x, -40, 40), np.random.default_rng(1))
    fit, columns = fit_of(reports, y, [NOISE] * 2, Shape(2, 0.0, least=0.1))
    found = fit.run(200)
    covariances = found.covariances * np.multiply.outer(columns.scale, columns.scale)
    means = columns.centre + columns.scale * found.means
    clusters = np.sort(means[found.classes == 1, 0])
    np.testing.assert_allclose(clusters, [-6, 6], atol=0.4)
    np.testing.assert_allclose(covariances[found.classes == 1].mean(axis=0), [[4, 3], [3, 9]], atol=0.8)


def test_people_alike_are_fitted_as_those_who_differ():
    """Extreme deconvolution, which guesses everyone's true values, ends where the direct steps end."""
    x, y = people(3_000)
    reports = NOISE.randomize(np.clip(x, -40, 40), np.random.default_rng(1))
    direct, _ = fit_of(reports, y, [NOISE] * 2, Shape(1, 0.0, least=0.01))
    guessing, _ = fit_of(reports, y, [NOISE] * 2, Shape(1, 0.0, least=0.01))
    guessing.alike = False
    for _ in range(200):
        guessing.step()
    np.testing.assert_allclose(guessing.parameters.means, direct.parameters.means, atol=0.01)
    np.testing.assert_allclose(guessing.parameters.covariances, direct.parameters.covariances, atol=0.01)


def test_likelihood_never_falls():
    x, y = people(2_000)
    reports = NOISE.randomize(np.clip(x, -40, 40), np.random.default_rng(1))
    reports[::7, 0] = np.nan
    fit, _ = fit_of(reports, y, [NOISE] * 2, Shape(2, 0.0, least=1e-6))
    found = [fit.step() for _ in range(30)]
    assert (np.diff(found) > -1e-6).all()


def test_levels_and_gaps_are_read_for_what_they_tell():
    """Half the people answer with little noise, a tenth not at all: covariances are those of the truth."""
    x, y = people(20_000)
    choice = sf.Choice({"open": sf.Gaussian(DOMAIN, scale=1), "shy": sf.Gaussian(DOMAIN, scale=6)}, default="shy")
    rng = np.random.default_rng(2)
    levels = rng.choice(["open", "shy"], y.size)
    first = choice.randomize(np.clip(x[:, 0], -40, 40), rng, level=levels)
    second = np.where(rng.random(y.size) < 0.1, np.nan, NOISE.randomize(np.clip(x[:, 1], -40, 40), rng))
    reports = Reports({"a": first, "a.level": levels, "b": second}, {"a": choice, "b": NOISE}, target=y)
    columns = columns_of(reports)
    fit = GaussianMixtureFit(records_of(reports, columns), CLEAR, Shape(1, 0.0, least=0.01), np.random.default_rng(0))
    assert len(fit.blocks) == 8 and not fit.alike
    found = fit.run(300)
    covariances = found.covariances * np.multiply.outer(columns.scale, columns.scale)
    np.testing.assert_allclose(covariances[0], [[4, 3], [3, 9]], atol=0.9)


def test_rare_combinations_of_gaps_are_sampled_and_weigh_as_many():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3_000, 12))
    x[rng.random(x.shape) < 0.3] = np.nan
    fit, _ = fit_of(x, rng.integers(0, 2, 3_000), [None] * 12, Shape(1))
    assert sum(block.weight.sum() for block in fit.blocks) == pytest.approx(3_000)
    assert sum(block.weight.size for block in fit.blocks) < 2_000
    fit.run(5)
    np.testing.assert_allclose(fit.parameters.covariances, np.tile(np.eye(12), (2, 1, 1)), atol=0.35)


def test_classes_through_a_channel_are_told_apart():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 8_000)
    x = rng.normal(size=(y.size, 2)) + 2 * y[:, None]
    label = sf.RandomizedResponse(sf.Categories([0, 1]), keep=0.6)
    fit, columns = fit_of(x, label.randomize(y, rng), [None, None], Shape(1), label_table=label.matrix())
    means = columns.centre + columns.scale * fit.run(200).means
    np.testing.assert_allclose(means, [[0, 0], [2, 2]], atol=0.2)
