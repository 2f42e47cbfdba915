"""The mixture's M-step is reconstruction's EM, and it reads combinations of cells, not records."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.counts import Fold, Reports
from sfumato.evidence import Axis, DenseTable, Evidence, Resolution, Steps, maximise_likelihood
from sfumato.learners.joint import mixture
from sfumato.learners.joint.mixture import MixtureMember, ProductMixtureFit, inner_steps

CHANNEL = sf.Gaussian(sf.Interval(0, 10), scale=2)


def fit_of(n=3_000, components=4, **settings):
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, n)
    columns = {f"x{j}": CHANNEL.randomize(np.clip(rng.normal(3 + 4 * y, 1), 0, 10), rng) for j in range(2)}
    reports = Reports(columns, [CHANNEL, CHANNEL], target=y)
    axes = [Axis(reports.column(name)) for name in reports.names]
    return ProductMixtureFit(reports, axes, Resolution(8, 0.3), np.random.default_rng(0), components, **settings)


def test_theta_of_one_component_is_one_em_step_from_all_counts():
    fit = fit_of()
    table = DenseTable(fit.cells[0].table)
    counts = fit.reports.counts(["x0"], [fit.cells[0]], by_class=False)
    start = np.full((1, table.shape[1]), 1 / table.shape[1])
    found = inner_steps(table, start, counts[None], 0.0, steps=1)
    step = maximise_likelihood(Evidence.of_counts(table, counts), start=start, stop=Steps(1)).probabilities
    np.testing.assert_allclose(found, step, rtol=0, atol=1e-9)
    smoothed = inner_steps(table, start, counts[None], 0.2, steps=1)
    expected = found * counts.sum() + 0.2
    np.testing.assert_allclose(smoothed, expected / expected.sum(), rtol=0, atol=1e-9)


def test_one_person_is_learned_from_even_if_held_out():
    """Of a handful of people all may be held out, by the luck of their answers: in one of ten models of one person."""
    for seed in range(40):
        X = np.random.default_rng(seed).uniform(size=(1, 3))
        assert sf.ProductMixtureClassifier(random_state=seed).fit(X, ["a"]).predict(X).tolist() == ["a"]


def test_a_component_that_nobody_has_becomes_flat():
    table = DenseTable(fit_of().cells[0].table)
    start = np.eye(table.shape[1])[:1] + 0.01
    found = inner_steps(table, start, np.zeros((1, table.shape[0])), 0.2)
    np.testing.assert_allclose(found, 1 / table.shape[1])


def test_combinations_and_records_give_the_same_mixture(monkeypatch):
    one = fit_of()
    monkeypatch.setattr(mixture, "MOST_NUMBERED", 1.0)
    other = fit_of()
    assert other.weight.size > one.weight.size and other.weight.sum() == one.weight.sum()
    other.prior, other.thetas = one.prior.copy(), [theta.copy() for theta in one.thetas]
    one.step()
    other.step()
    for ours, theirs in zip(one.thetas, other.thetas, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=1e-6)


@pytest.mark.parametrize("by_class", [True, False])
def test_the_class_is_one_more_column_where_it_is_wanted(by_class):
    member = fit_of(by_class=by_class).run()
    assert member.classes == (2 if by_class else 1)
    assert member.weights.sum() == pytest.approx(1, abs=1e-5)
    mass = member.joint_of_classes([np.array([0, 7]), np.array([0, 7])])
    if by_class:
        assert mass[0, 0] > mass[0, 1] and mass[1, 1] > mass[1, 0]


@pytest.fixture(scope="module")
def wide():
    """Sixty columns, in each of which one person in five has a 1, blurred; a tenth of the columns tells the class."""
    rng = np.random.default_rng(8)
    channel = sf.RandomizedResponse(sf.Categories([0, 1]), gamma=9)
    y = rng.integers(0, 2, 1_500)
    true = np.array([rng.random(y.size) < (0.05 + 0.3 * y if j % 10 == 0 else 0.2) for j in range(60)], int)
    model = sf.ProductMixtureClassifier([channel] * 60, components=6, members=1, random_state=0)
    return model.fit(channel.randomize(true.T, rng), y), true.T, y


def test_many_columns_do_not_underflow(wide):
    """Products of sixty probabilities are below what a float holds; the mixture is rescaled as it goes."""
    model, true, y = wide
    assert model.score(true, y) > 0.72
    drawn = np.asarray(model.sample(20_000, random_state=1)[0])
    assert np.abs(drawn.mean(axis=0) - true.mean(axis=0)).max() < 0.12
    assert abs(drawn.mean() - true.mean()) < 0.02


def test_a_record_that_no_component_explains_falls_back_to_the_weights(wide):
    member = wide[0].members_[0]
    improbable = MixtureMember(member.cells, member.weights, member.p_class, [np.full((2, 6), 1e-30)] * 60)
    mass = improbable.joint_of_classes([np.zeros(1, int)] * 60)[0]
    np.testing.assert_allclose(mass / mass.sum(), member.p_class @ member.weights, rtol=1e-5)


def mixed_reports(n=6_000, seed=4):
    """A clear number, a blurred category that follows it, a blurred number that follows both, some of it missing."""
    rng = np.random.default_rng(seed)
    clear = rng.integers(0, 3, n).astype(float)
    label = np.where(rng.random(n) < 0.2, rng.integers(0, 3, n), clear.astype(int))
    number = np.clip(rng.normal(2 + 2 * label + clear, 0.7), 0, 10)
    response = sf.RandomizedResponse(sf.Categories([0, 1, 2]), gamma=9)
    blurred = CHANNEL.randomize(number, rng)
    blurred = np.where(rng.random(n) < 0.1, np.nan, blurred)
    columns = {"clear": clear, "label": response.randomize(label, rng), "number": blurred}
    return Reports(columns, {"clear": None, "label": response, "number": CHANNEL}), label, number


def test_draws_given_reports_are_of_the_true_records():
    """Over all people the draws have the distribution of true values; a clear value is drawn as it is."""
    reports, label, number = mixed_reports()
    model = sf.ProductMixtureClassifier(members=2, random_state=0).fit(reports)
    some = reports.within(Fold(0, 2))
    m = 5
    clear, drawn_label, drawn_number = model.draws_given(some, m, np.random.default_rng(1))
    assert clear.size == drawn_label.size == drawn_number.size == m * len(some)
    assert (clear == np.repeat(some.values("clear"), m)).all() and set(drawn_label) == {0, 1, 2}
    rows = some.places
    shares = np.bincount(drawn_label.astype(int)) / drawn_label.size
    np.testing.assert_allclose(shares, np.bincount(label[rows]) / rows.size, atol=0.04)
    assert abs(drawn_number.mean() - number[rows].mean()) < 0.2 and abs(drawn_number.std() - number[rows].std()) < 0.2
    nearer = np.corrcoef(drawn_number, np.repeat(number[rows], m))[0, 1]
    assert nearer > 0.75  # reports alone say less: their correlation with the truth is the same as with a second report


def test_draws_need_the_tables_of_a_fit():
    reports, *_ = mixed_reports(300)
    model = sf.ProductMixtureClassifier(members=1, random_state=0).fit(reports)
    read = sf.ProductMixtureClassifier.from_dict(model.to_dict())
    with pytest.raises(ValueError, match="read from a file"):
        read.draws_given(reports, 2, np.random.default_rng(0))


def test_many_records_are_answered_as_each_of_them_would_be():
    member = fit_of().run()
    places = [np.arange(mixture.AT_ONCE + 3) % cut.size for cut in member.cells]
    found = member.joint_of_classes(places)
    for row in (0, mixture.AT_ONCE - 1, mixture.AT_ONCE, mixture.AT_ONCE + 2):
        np.testing.assert_array_equal(found[row], member.joint_of_classes([place[[row]] for place in places])[0])
