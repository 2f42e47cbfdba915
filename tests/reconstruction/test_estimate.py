"""What an estimate answers."""

import copy
import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
from sfumato.reconstruction import Diagnostics, Estimate
from sfumato.reconstruction.estimate import Fine
from tests.statistics import assert_fits

FACTS = Diagnostics("em", 100, 2, 5, 20, -70.0, 2.0, ("a word of caution",))


def numeric(integer: bool = False) -> Estimate:
    covariance = np.diag([0.01, 0.04, 0.01]) ** 2
    return Estimate(np.array([0.0, 2.0, 4.0, 8.0]), None, np.array([0.25, 0.5, 0.25]), covariance, FACTS, integer)


def categorical() -> Estimate:
    return Estimate(None, ("yes", "no"), np.array([1.02, -0.02]), np.eye(2) * 0.0001, FACTS)


def test_shares_of_things_that_are_no_categories_are_refused_in_one_line():
    for asked in (3, [["yes"]], [{}], "yes"):
        with pytest.raises(TypeError, match=r"they are in \.categories|write share\("):
            categorical().share(asked)
    for confidence in ("high", None, [0.9]):
        with pytest.raises(ValueError, match=r"is not between 0 and 1; for example 0\.9"):
            categorical().interval(confidence)
    assert len(categorical().interval(np.float32(0.9))) == 2


def test_standard_errors_are_the_roots_of_the_variances():
    assert np.allclose(numeric().stderr, [0.01, 0.04, 0.01])


def test_intervals_reach_z_standard_errors_and_stay_probabilities():
    low, high = numeric().interval(0.95)
    assert np.allclose((high - low) / 2, 1.959964 * numeric().stderr, rtol=1e-5)
    low, high = categorical().interval(0.9)
    assert (low >= 0).all()
    assert (high <= 1).all()


def test_the_mean_puts_people_in_the_middle_of_their_interval():
    assert numeric().mean() == pytest.approx(0.25 * 1 + 0.5 * 3 + 0.25 * 6)


def test_the_mean_of_whole_numbers_uses_the_numbers_of_each_interval():
    assert numeric(integer=True).mean() == pytest.approx(0.25 * 0.5 + 0.5 * 2.5 + 0.25 * 6)


def test_information_loss_is_the_share_of_people_in_the_wrong_place():
    assert numeric().information_loss([0.25, 0.5, 0.25]) == 0
    assert numeric().information_loss([0, 0.5, 0.5]) == pytest.approx(0.25)
    assert numeric().information_loss([0, 0, 1]) == pytest.approx(0.75)


def test_without_the_truth_it_is_what_errors_of_this_size_lose_on_average():
    estimate, rng = numeric(), np.random.default_rng(4)
    errors = rng.standard_normal((20_000, 3)) * estimate.stderr
    losses = np.abs(errors).sum(axis=1) / 2
    assert abs(losses.mean() - estimate.information_loss()) < 5 * losses.std() / 20_000**0.5


def test_quantiles_interpolate_the_distribution():
    assert numeric().quantile(0.5) == pytest.approx(3)
    assert np.allclose(numeric().quantile([0, 0.25, 0.75, 1]), [0, 2, 4, 8])


def test_the_mean_and_a_quantile_know_their_standard_errors():
    """By the covariance: √Σ(m_i·se_i)²; of the median √(se_1² + (se_2/2)²)/density."""
    mean = numeric().mean()
    assert isinstance(mean, float)
    assert mean.stderr == pytest.approx(np.sqrt((1 * 0.01) ** 2 + (3 * 0.04) ** 2 + (6 * 0.01) ** 2))
    median = numeric().quantile(0.5)
    assert median.stderr == pytest.approx(np.sqrt(0.01**2 + 0.02**2) / 0.25)
    assert (str(mean), str(median)) == ("3.25 ± 0.13", "3.000 ± 0.089")
    assert mean + 1 == pytest.approx(4.25)
    assert copy.copy(mean).stderr == pickle.loads(pickle.dumps(mean)).stderr == mean.stderr
    assert json.dumps({"mean": mean}) == '{"mean": 3.25}'


def test_a_quantile_of_whole_numbers_is_one_of_them_and_may_be_its_neighbour():
    """A quarter of the people at 0 and 1, half at 2 and 3: up to 1 a quarter less or more, .01."""
    whole = numeric(integer=True)
    assert [float(whole.quantile(q)) for q in (0, 0.1, 0.3, 0.51, 1)] == [0, 0, 2, 3, 8]
    assert whole.quantile([0.3, 0.51]).tolist() == [2, 3]
    assert whole.quantile(0.25).stderr == pytest.approx(np.sqrt(0.5), rel=0.05)
    assert whole.quantile(0.3).stderr < 0.2


def test_the_error_of_a_quantile_reaches_over_cells_where_fewer_people_are():
    """.1 below 4 more than half: from 4 to 4.8 in a crowd that thins there."""
    picture = Fine(np.array([0.0, 4.0, 8.0]), np.array([0.5, 0.5]), (), np.array([[0.1], [-0.1]]))
    assert replace(numeric(), fine=picture).quantile(0.5).stderr == pytest.approx(0.8)
    thin = Fine(np.array([0.0, 4.0, 8.0]), np.array([0.8, 0.2]), (), np.array([[0.1], [-0.1]]))
    assert replace(numeric(), fine=thin).quantile(0.8).stderr == pytest.approx(2.0)


def test_shares_have_room_for_people_who_may_round_unseen():
    """Everybody even on 0..8; to multiples of 2 below 4 becomes below 3, and below 3.5 as well."""
    picture = Fine(np.array([0.0, 4.0, 8.0]), np.array([0.5, 0.5]), (), np.zeros((2, 1)), ((2.0, 0.4),))
    rounded = replace(numeric(), fine=picture)
    assert rounded.share(high=4).stderr == pytest.approx(0.4 / 8)
    assert rounded.share(high=3.5).stderr == pytest.approx(0.4 / 16)
    assert rounded.share(low=2, high=4).stderr == pytest.approx(0)  # as many come as go
    assert rounded.share(low=3, high=4).stderr == pytest.approx(0.4 / 8)
    assert rounded.quantile(0.5).stderr == pytest.approx(0.4)


def test_simultaneous_bands_are_wider_and_know_what_moves_together():
    together = numeric().interval(0.9, simultaneous=True)
    alone = numeric().interval(0.9)
    assert (together[0] < alone[0]).all()
    assert (alone[1] < together[1]).all()
    one_number = Estimate(None, ("yes", "no"), np.array([0.5, 0.5]), 0.01 * np.array([[1, -1], [-1, 1]]), FACTS)
    low, high = one_number.interval(0.9, simultaneous=True)
    assert (high - low)[0] / 2 == pytest.approx(1.645 * 0.1, rel=0.03)


def test_simultaneous_bands_are_never_narrower_than_single_bars():
    coin = sf.RandomizedResponse(sf.Categories(["yes", "no"]), gamma=9)
    estimate = sf.reconstruct(["yes"] * 700 + ["no"] * 1300, coin)
    for confidence in (0.5, 0.9, 0.95):
        single, all_ = estimate.interval(confidence), estimate.interval(confidence, simultaneous=True)
        assert (all_[0] <= single[0]).all() and (all_[1] >= single[1]).all()


def fine() -> Estimate:
    """Half of the people even between 0 and 8, half of them at exactly 3."""
    root = np.array([[0.01], [0.02], [-0.03], [0.0]])
    picture = Fine(np.array([0.0, 2.0, 4.0, 6.0, 8.0]), np.full(4, 0.125), ((3.0, 0.5),), root)
    return replace(numeric(), fine=picture)


def test_means_quantiles_and_shares_come_from_the_fine_picture_where_there_is_one():
    assert fine().mean() == pytest.approx(0.5 * 4 + 0.5 * 3)
    assert fine().mean().stderr == pytest.approx(abs(0.01 * 1 + 0.02 * 3 - 0.03 * 5))
    assert np.allclose(fine().quantile([0.125, 0.3, 0.6, 0.875]), [2, 3, 3, 6])
    assert fine().share(low=2, high=3) == pytest.approx(0.0625)
    assert fine().share(low=3, high=4) == pytest.approx(0.5625)
    assert fine().share(low=2, high=4).stderr == pytest.approx(0.02)
    assert fine().share(low=4) == pytest.approx(0.25)
    assert fine().share() == pytest.approx(1)
    assert pickle.loads(pickle.dumps(fine())).mean() == fine().mean()


def test_shares_between_numbers_spread_people_evenly_where_there_is_nothing_finer():
    assert numeric().share(low=1, high=6) == pytest.approx(0.125 + 0.5 + 0.125)
    assert numeric().share(high=4).stderr == pytest.approx(np.hypot(0.01, 0.04))
    assert numeric(integer=True).share(low=2, high=4) == pytest.approx(0.5)


def test_the_standard_error_of_the_mean_is_that_of_repeated_surveys():
    channel = sf.Gaussian(sf.Interval(0, 1), scale=0.2)
    rng = np.random.default_rng(5)
    surveys = [channel.randomize(rng.beta(2, 4, 2000), rng=rng) for _ in range(60)]
    found = [sf.reconstruct(reports, channel, 10, "em").mean() for reports in surveys]
    spread, stated = float(np.std(found)), float(np.mean([mean.stderr for mean in found]))
    assert 0.6 < stated / spread < 2.0


def test_frames_hold_intervals_or_categories_with_their_errors():
    for frame in (numeric().to_pandas(), numeric().to_polars()):
        assert list(frame.columns) == ["low", "high", "probability", "stderr"]
        assert frame["high"].to_list() == [2, 4, 8]
    assert list(categorical().to_pandas().columns) == ["category", "probability", "stderr"]
    assert categorical().to_polars()["category"].to_list() == ["yes", "no"]


def test_in_a_shell_it_is_one_line_and_in_a_notebook_a_table():
    assert repr(numeric()) == "<Estimate of 3 intervals from 100 reports, method em, 1 note>"
    risky = Estimate(None, ("<b>yes", "no"), np.array([0.9, 0.1]), np.eye(2) * 0.0001, FACTS)
    page = risky._repr_html_()
    assert page.count("<tr>") == 2
    assert "&lt;b&gt;yes" in page
    assert "<b>" not in page
    assert "a word of caution" in page


def test_samples_follow_the_estimate():
    values = numeric().sample(20_000, 1)
    assert_fits(np.histogram(values, numeric().edges)[0], numeric().probabilities)
    whole = numeric(integer=True).sample(20_000, 2)
    assert_fits(np.bincount(whole, minlength=9), [0.125, 0.125, 0.25, 0.25, 0.05, 0.05, 0.05, 0.05, 0.05])


def test_samples_of_categories_are_labels():
    assert set(categorical().sample(100, 3).tolist()) == {"yes"}


def test_the_text_is_a_table_with_errors_and_notes():
    lines = str(numeric()).splitlines()
    assert lines[0] == "100 reports, 2 missing, method em"
    assert "25.00 % ±  1.00" in lines[1]
    assert lines[-1] == "Note: a word of caution"
    assert "yes" in str(categorical())


def test_plain_data_survive_json():
    plain = json.loads(json.dumps(numeric().to_dict()))
    assert plain["edges"] == [0, 2, 4, 8]
    assert plain["diagnostics"]["messages"] == ["a word of caution"]
    assert json.loads(json.dumps(categorical().to_dict()))["categories"] == ["yes", "no"]


def test_the_plot_has_a_bar_for_every_interval():
    from matplotlib.figure import Figure

    axis = Figure().subplots()
    assert numeric().plot(axis) is axis
    assert len(axis.patches) == 3
    labels = [tick.get_text() for tick in categorical().plot(Figure().subplots()).get_xticklabels()]
    assert labels == ["yes", "no"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: numeric().interval(1.5), "confidence=1.5"),
        (lambda: numeric().quantile(2), "q=2"),
        (lambda: numeric().information_loss([25, 50, 25]), "truth is not 3 shares"),
        (lambda: numeric().information_loss([0.5, 0.5]), "truth is not 3 shares"),
        (lambda: categorical().quantile(0.5), "needs numbers"),
        (lambda: categorical().mean(), "needs numbers"),
        (lambda: categorical().share(low=1), "these are categories"),
        (lambda: numeric().share(["yes"]), "these are numbers"),
        (lambda: numeric().share(low=3, high=1), "low=3 is not below high=1"),
        (lambda: numeric().share(low=float("nan")), "low=nan is no number"),
        (lambda: numeric().share(high="40"), "high='40' is no number"),
        (lambda: numeric().quantile(float("nan")), "q=nan"),
        (lambda: categorical().share("yes"), r"write share\(\['yes'\]\)"),
    ],
)
def test_senseless_questions_are_refused(call, words):
    with pytest.raises((ValueError, TypeError), match=words):
        call()
