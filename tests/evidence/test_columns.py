"""The exact grid is reconstruction's EM through the product of the columns' tables.

Its columns are selected on reports alone: what tells about the class is found, what does not is left out.
"""

import dataclasses

import numpy as np
import pytest

import sfumato as sf
from sfumato.counts import Fold, Reports
from sfumato.evidence import Axis, DenseTable, Evidence, Resolution, Steps, maximise_likelihood
from sfumato.evidence.columns import cap_helpers, select_columns
from sfumato.evidence.grids import entropy_of_class, fit_grid
from sfumato.evidence.held_out import label_loss, mean_and_z
from sfumato.evidence.resolution import resolution_for

UNIT = sf.Interval(0, 10)
NOISE, WIDE = sf.Gaussian(UNIT, scale=2), sf.Uniform(UNIT, halfwidth=3)


def columns_of(n=4_000, *, label_channel=None, by_class=None, gaps=0.0, channels=(NOISE, WIDE)):
    """Two columns and a class; in float64, so that answers can be compared to the last digits."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, n)
    values = [np.clip(rng.normal(3 + 4 * y, 1), 0, 10), rng.uniform(0, 10, n)]
    columns = {
        f"x{j}": x if channel is None else channel.randomize(x, rng)
        for j, (x, channel) in enumerate(zip(values, channels, strict=True))
    }
    columns["x0"] = np.where(rng.random(n) < gaps, np.nan, columns["x0"])
    labels = y if label_channel is None else label_channel.randomize(y, rng)
    reports = Reports(columns, list(channels), target=labels, label_channel=label_channel)
    axes = [Axis(reports.column(name)) for name in reports.names]
    return Evidence.of_columns(reports, axes, Resolution(6, 0.3), by_class=by_class, dtype=np.float64)


LABELS = sf.RandomizedResponse(sf.Categories([0, 1]), keep=0.8)


@pytest.mark.parametrize("label_channel", [None, LABELS], ids=["clear", "blurred"])
@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_its_steps_are_equation_3_on_the_kronecker_table(label_channel, gaps):
    evidence = columns_of(label_channel=label_channel, gaps=gaps)
    dense = Evidence.of_counts(DenseTable(evidence.table.dense()), evidence.counts)
    p = None
    for _ in range(5):  # the first five steps are plain
        p = maximise_likelihood(dense, start=p, stop=Steps(1)).probabilities
    np.testing.assert_allclose(fit_grid(evidence, 5).ravel(), p[0], rtol=0, atol=1e-9)


def test_one_column_without_classes_is_what_reconstruction_finds_from_the_same_counts_and_table():
    reports = columns_of().source.reports
    axis, cut = Axis(reports.column("x0")), Resolution(6, 0.3)
    alone = Evidence.of_columns(reports, [axis], cut, by_class=False, dtype=np.float64)
    plain = Evidence.of_counts(DenseTable(alone.cells[0].table), alone.counts)
    few = maximise_likelihood(plain, stop=Steps(5)).probabilities[0]
    np.testing.assert_allclose(fit_grid(alone, 5)[0], few, rtol=0, atol=1e-9)
    limit = maximise_likelihood(plain, stop=Steps(40_000)).probabilities[0]
    np.testing.assert_allclose(fit_grid(alone, 20_000)[0], limit, rtol=0, atol=1e-9)


def test_counts_are_those_of_reports_at_the_problems_cells():
    evidence = columns_of(gaps=0.1)
    counts = evidence.in_cells
    assert counts.shape == evidence.table.report_shape and counts.sum() == 4_000
    held = Fold(0, 5)
    np.testing.assert_array_equal(evidence.of_fold(held).in_cells + evidence.of_fold(~held).in_cells, counts)
    codes = evidence.source.reports.cells_of("x0", evidence.cells[0], evidence.cells[0].reported)
    np.testing.assert_array_equal(counts.sum(axis=(1, 2)), np.bincount(codes, minlength=counts.shape[0]))


def test_the_likelihood_of_what_was_fitted_rises_with_the_steps():
    evidence = columns_of()
    fits = [fit_grid(evidence, steps).reshape(1, -1) for steps in (1, 3, 10, 40, 160)]
    assert np.all(np.diff([evidence.log_likelihood(joint)[0] for joint in fits]) > 0)


def test_without_noise_one_step_gives_the_histogram_and_a_little_smoothing():
    evidence = columns_of(channels=(None, None))
    counts, joint = evidence.in_cells, fit_grid(evidence, 400)
    shares = np.moveaxis(counts, -1, 0) / counts.sum()
    even = 0.5 * np.sqrt(counts.sum()) / counts.sum()
    np.testing.assert_allclose(joint, (shares + even / shares.size) / (1 + even), atol=1e-6)
    np.testing.assert_array_equal(fit_grid(evidence, 20, joint), joint)


def test_held_out_gains_from_counts_are_those_of_the_records_one_by_one():
    evidence, held = columns_of(gaps=0.1), Fold(0, 3)
    fitted = evidence.of_fold(~held)
    loss = label_loss(fitted, fit_grid(fitted, 40))
    reports, (a, b) = evidence.source.reports, evidence.cells
    places = reports.cells_of("x0", a, a.reported), reports.cells_of("x1", b, b.reported), reports.class_codes
    gains = loss[places][reports.chosen(held)].astype(float)
    mean, z = mean_and_z(evidence.of_fold(held), loss)
    assert mean == pytest.approx(gains.mean(), rel=1e-6)
    assert mean / z == pytest.approx(gains.std() / np.sqrt(gains.size), rel=1e-6)


def test_weights_count_as_people_in_means_and_squared_in_errors():
    evidence, held = columns_of(), Fold(0, 3)
    reports = evidence.source.reports
    weight = np.random.default_rng(2).integers(1, 4, 4_000).astype(float)
    weighed = reports.aimed(None, weights=weight)
    weighted = dataclasses.replace(evidence, source=dataclasses.replace(evidence.source, reports=weighed))
    loss = label_loss(evidence, fit_grid(evidence, 20))
    places = [reports.cells_of(c.name, c, c.reported) for c in evidence.cells]
    gains = loss[(*places, reports.class_codes)].astype(float)
    chosen = reports.chosen(held)
    expected = np.average(gains[chosen], weights=weight[chosen])
    error = np.sqrt(np.sum((weight[chosen] * (gains[chosen] - expected)) ** 2)) / weight[chosen].sum()
    mean, z = mean_and_z(weighted.of_fold(held), loss)
    assert (mean, mean / z) == (pytest.approx(expected, rel=1e-6), pytest.approx(error, rel=1e-6))
    assert weighed.people == weight.sum()


def test_more_columns_get_fewer_and_wider_cells():
    axes = [Axis(columns_of().source.reports.column(name)) for name in ("x0", "x1")]
    one, two = resolution_for(axes[:1], 1e5), resolution_for(axes, 1e5)
    assert one.cells > two.cells and one.coarseness < two.coarseness
    assert two.coarsened(axes, 200).coarseness > two.coarseness
    assert {resolution_for(axes, 1e5, member).cells for member in range(5)} != {two.cells}


# --- which columns ---------------------------------------------------------------------------------------------------


def selected(values, y, *, most=5.0):
    rng = np.random.default_rng(7)
    columns = {f"x{j}": NOISE.randomize(x, rng) for j, x in enumerate(values)}
    reports = Reports(columns, [NOISE] * len(values), target=y)
    return select_columns(reports, [Axis(reports.column(name)) for name in reports.names], most)


def test_only_columns_that_tell_about_the_class_are_modelled():
    rng = np.random.default_rng(1)
    noise, x = rng.uniform(0, 10, 8_000), rng.uniform(0, 10, 8_000)
    assert selected([noise, x], x > 5) == (1,)


def test_a_person_of_a_class_that_a_report_excludes_does_not_outweigh_all_others():
    """Bounded noise, 600 people, a rare class: one held-out person lost 69 nats, and no column was found to tell."""
    channel = sf.Uniform(sf.Interval(0, 10), privacy=0.5)
    found = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x = rng.uniform(0, 10, 600)
        y = np.where(rng.random(600) < 0.1, rng.integers(0, 3, 600), (x > 3) * 2)
        reports = Reports({"x": channel.randomize(x, rng)}, {"x": channel}).aimed(y, classes=(0, 1, 2))
        found.append(select_columns(reports, [Axis(reports.column("x"))], 5.0))
    assert found == [(0,)] * 12


def test_a_pair_that_tells_only_together_is_found():
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 10, (3, 20_000))
    assert set(selected(list(x), (x[0] > 5) ^ (x[2] > 5))) == {0, 2}


def test_there_are_no_more_dimensions_than_allowed():
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 10, (3, 8_000))
    assert len(selected(list(x), x.sum(axis=0) > 15, most=1.0)) == 1


def test_a_helper_is_cut_into_few_cells():
    """The third column only repeats the first with more noise of its own."""
    rng = np.random.default_rng(4)
    x = rng.uniform(0, 10, (2, 6_000))
    y = (x[0] > 5) ^ (x[1] > 7)
    third = np.clip(x[0] + rng.normal(0, 2, 6_000), 0, 10)
    columns = {f"x{j}": NOISE.randomize(v, rng) for j, v in enumerate((*x, third))}
    reports = Reports(columns, [NOISE] * 3, target=y)
    axes = [Axis(reports.column(name)) for name in reports.names]
    kept = cap_helpers(reports, axes)
    assert [axis.at(30).size for axis in kept] == [30, 30, 12]
    assert cap_helpers(reports, axes[:2]) == axes[:2]


def test_entropy_of_the_class_given_cells():
    assert entropy_of_class(np.array([[0.25, 0.0], [0.25, 0.5]])) == np.float32(0.5 * np.log(2))
