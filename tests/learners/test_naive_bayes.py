import json

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

import sfumato as sf
from sfumato.evidence import WITHIN_CLASSES, DenseTable, Evidence, maximise_likelihood
from sfumato.learners.naive_bayes import CellDensity, NaiveBayesClassifier, NormalDensity


@pytest.mark.parametrize("density", ["auto", "moments", "direct", "reconstructed"])
def test_without_channels_it_is_scikit_learns_gaussian_naive_bayes_of_columns_of_equal_variance(survey, density):
    weight = np.random.default_rng(0).integers(0, 3, 2000)
    X, y = survey.X[:2000], survey.y[:2000]
    ours = NaiveBayesClassifier(density=density).fit(X, y, sample_weight=weight)
    theirs = GaussianNB().fit(X / X.std(axis=0), y, sample_weight=weight)
    expected = theirs.predict_proba(survey.X_test / X.std(axis=0))
    np.testing.assert_allclose(ours.predict_proba(survey.X_test), expected, rtol=1e-6)


def two_classes(n, rng):
    y = rng.integers(0, 2, n)
    return np.clip(rng.normal(4 + 2 * y, 0.7 + 0.6 * y, n), 0, 10), y


def test_moments_take_the_noise_off_and_direct_leaves_it_in():
    rng = np.random.default_rng(1)
    x, y = two_classes(200_000, rng)
    channel = sf.Gaussian(sf.Interval(0, 10), scale=2)
    reports = channel.randomize(x, rng)[:, None]
    clean = GaussianNB().fit(x[:, None], y)
    moments = NaiveBayesClassifier([channel], "moments").fit(reports, y).densities_[0]
    direct = NaiveBayesClassifier([channel], "direct").fit(reports, y).densities_[0]
    np.testing.assert_allclose(moments.mean, clean.theta_[:, 0], atol=0.05)
    np.testing.assert_allclose(moments.variance, clean.var_[:, 0], atol=0.15)
    np.testing.assert_allclose(direct.variance - moments.variance, 4, atol=0.01)


def test_reconstructed_densities_follow_a_shape_that_moments_miss():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 50_000)
    edge = np.where(rng.random(50_000) < 0.5, rng.uniform(0, 2, 50_000), rng.uniform(8, 10, 50_000))
    x = np.where(y == 1, edge, rng.uniform(4, 6, 50_000))
    channel = sf.Uniform(sf.Interval(0, 10), halfwidth=2)
    reports = channel.randomize(x, rng)[:, None]
    assert NaiveBayesClassifier([channel], "reconstructed").fit(reports, y).score(x[:, None], y) > 0.98


def test_categories_gaps_and_randomized_labels():
    rng = np.random.default_rng(3)
    n = 40_000
    y = rng.choice(["no", "yes"], n)
    color = np.where(rng.random(n) < 0.8, np.where(y == "yes", "red", "blue"), "green")
    x = rng.normal(3 + 4.0 * (y == "yes"), 1).clip(0, 10)
    channels = {
        "color": sf.RandomizedResponse(sf.Categories(["red", "green", "blue"]), keep=0.7),
        "x": sf.Gaussian(sf.Interval(0, 10), scale=3),
    }
    labels = sf.RandomizedResponse(sf.Categories(["no", "yes"]), keep=0.8)
    frame = pd.DataFrame({"color": channels["color"].randomize(color, rng), "x": channels["x"].randomize(x, rng)})
    frame.loc[::7, "x"] = np.nan
    model = NaiveBayesClassifier(channels, label_channel=labels).fit(frame, labels.randomize(y, rng))
    truth = pd.DataFrame({"color": color, "x": x})
    assert np.mean(model.predict(truth) == y) > 0.97
    again = NaiveBayesClassifier.from_dict(json.loads(json.dumps(model.to_dict())))
    np.testing.assert_allclose(again.predict_proba(truth), model.predict_proba(truth))


def test_an_unknown_density_is_named(survey):
    with pytest.raises(ValueError, match="density='kernel'"):
        NaiveBayesClassifier(density="kernel").fit(survey.X[:10], survey.y[:10])


def test_reconstructed_densities_are_reconstructions_of_each_classs_counts():
    """Same counts, same table, the same answer as reconstruction's EM gives."""
    rng = np.random.default_rng(5)
    x, y = two_classes(5_000, rng)
    channel = sf.Gaussian(sf.Interval(0, 10), scale=2)
    reports = sf.Reports({"x": channel.randomize(x, rng)}, [channel], target=y)
    density = NaiveBayesClassifier(density="reconstructed").fit(reports).densities_[0]
    counts = reports.counts(["x"], [density.cells]).T
    evidence = Evidence.of_counts(DenseTable(density.cells.table, np.float32), counts)
    p = maximise_likelihood(evidence, stop=WITHIN_CLASSES).probabilities
    total = counts.sum(axis=1, keepdims=True)
    expected = (p * total + 1 / density.cells.size) / (total + 1)
    np.testing.assert_allclose(density.p_cell_given_class, expected, rtol=0, atol=1e-9)


def test_direct_densities_of_categories_are_the_shares_of_reports():
    channel = sf.RandomizedResponse(sf.Categories(["a", "b", "c"]), keep=0.6)
    column, y = np.array(["a", "a", "b", "c"], dtype=object), np.array([0, 0, 0, 1])
    density = NaiveBayesClassifier([channel], "direct").fit(column[:, None], y).densities_[0]
    np.testing.assert_allclose(density.p_cell_given_class, [[7 / 12, 4 / 12, 1 / 12], [1 / 6, 1 / 6, 4 / 6]])


DOMAIN = sf.Interval(0, 10)
BLURS = {
    "gaussian": sf.Gaussian(DOMAIN, privacy=0.5),
    "uniform": sf.Uniform(DOMAIN, privacy=0.5),
    "square wave": sf.SquareWave(DOMAIN, gamma=19),
    "levels": sf.TwoPhase(sf.Gaussian(DOMAIN, privacy=0.5), levels={"fine": 100, "coarse": 10}),
}


def bell_and_edges(n, rng):
    """x is normal in both classes; z is at both ends in one and in the middle in the other."""
    y = rng.integers(0, 2, n)
    x = np.clip(rng.normal(4 + 2 * y, 1.0), 0, 10)
    ends = np.where(rng.random(n) < 0.5, rng.uniform(0, 2, n), rng.uniform(8, 10, n))
    return np.column_stack([x, np.where(y == 1, ends, rng.uniform(4, 6, n))]), y


@pytest.mark.parametrize("channel", BLURS.values(), ids=BLURS)
def test_each_column_is_normal_or_in_cells_as_its_reports_ask(channel):
    rng = np.random.default_rng(6)
    true, y = bell_and_edges(8_000, rng)
    level = rng.choice(["fine", "coarse"], y.size) if channel.has_levels else None
    table = {name: channel.randomize(true[:, j], rng, level=level) for j, name in enumerate("xz")}
    if channel.has_levels:
        table |= {"x.level": level, "z.level": level}
    model = NaiveBayesClassifier({"x": channel, "z": channel}).fit(pd.DataFrame(table), y)
    assert isinstance(model.densities_[1], CellDensity)
    if channel is not BLURS["square wave"]:  # whose moments tell little: cells come closer to the normal truth
        assert isinstance(model.densities_[0], NormalDensity)
    people = pd.DataFrame(true, columns=["x", "z"])
    assert np.mean(model.predict(people) == y) > 0.97
    again = NaiveBayesClassifier.from_dict(json.loads(json.dumps(model.to_dict())))
    np.testing.assert_array_equal(again.predict(people), model.predict(people))


def test_its_own_densities_of_gaps_weights_labels_categories_and_clear_columns():
    rng = np.random.default_rng(7)
    true, y = bell_and_edges(8_000, rng)
    city = np.where(rng.random(y.size) < 0.8, y, 1 - y).astype(str)
    channels = {
        "x": BLURS["gaussian"], "z": BLURS["square wave"], "clear": None,
        "city": sf.RandomizedResponse(sf.Categories(["0", "1"]), keep=0.8),
    }
    labels = sf.RandomizedResponse(sf.Categories([0, 1]), keep=0.9)
    table = pd.DataFrame({"x": true[:, 0], "z": true[:, 1], "clear": true[:, 0], "city": city})
    reports = pd.DataFrame({
        name: table[name] if channel is None else channel.randomize(table[name].to_numpy(), rng)
        for name, channel in channels.items()
    })
    reports.loc[::5, "z"] = np.nan
    model = NaiveBayesClassifier(channels, label_channel=labels)
    model.fit(reports, labels.randomize(y, rng), sample_weight=rng.integers(0, 3, y.size))
    kinds = [type(density) for density in model.densities_]
    assert kinds == [NormalDensity, CellDensity, NormalDensity, CellDensity]
    assert np.mean(model.predict(table) == y) > 0.97


def test_a_class_of_two_people_is_no_reason_to_fail():
    rng = np.random.default_rng(8)
    channel, y = BLURS["square wave"], np.repeat([0, 1, 2], [200, 98, 2])
    reports = channel.randomize(np.clip(rng.normal(3 + 2.0 * y, 1), 0, 10), rng)[:, None]
    model = NaiveBayesClassifier([channel]).fit(reports, y)
    assert np.isfinite(model.predict_proba(np.linspace(0, 10, 50)[:, None])).all()
