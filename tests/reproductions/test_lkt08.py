"""LKT08 again, in affordable form."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from reproductions import Rows, lkt08
from reproductions.lkt08 import attacks, claims, real, real_claims, synthetic, tables

UNIT = sf.Interval(0.0, 1.0)


@pytest.fixture(scope="module")
def privacy() -> Rows:
    return synthetic.privacy_table()


def test_privacy_loss_falls_from_case_to_case(privacy: Rows) -> None:
    loss = [row["privacy loss"] for row in privacy]
    assert all(before > after for before, after in pairwise(loss))


def test_case_4_is_the_papers() -> None:
    by_intervals = {synthetic.INTERVALS[name]: share for name, share in synthetic.CASES["case 4"].items()}
    assert by_intervals == {200: 0.70, 100: 0.20, 50: 0.05, 25: 0.05}
    assert all(sum(shares.values()) == pytest.approx(1.0) for shares in synthetic.CASES.values())


def test_one_fine_level_is_reconstructed_as_one_phase_is() -> None:
    """The same reports read through the two-phase table and through the noise's own: equal far below sampling error."""
    rng = np.random.default_rng(3)
    choice = sf.TwoPhase(sf.Gaussian(UNIT, scale=0.1), {"finest": 500})
    reports = choice.randomize(rng.beta(2, 4, 20_000), rng)
    two_phase = sf.reconstruct(reports, choice, 20)
    one_phase = sf.reconstruct(reports, choice.noise, 20)
    difference = np.abs(two_phase.probabilities - one_phase.probabilities)
    assert (difference < 0.2 * one_phase.stderr + 1e-4).all()


@pytest.mark.parametrize("mix", synthetic.WIDE_CASES)
@pytest.mark.parametrize("shape", ["plateau", "triangles"])
def test_exact_tables_beat_the_noises_table_where_levels_are_wide(mix: str, shape: str) -> None:
    choice = sf.TwoPhase(sf.Gaussian(UNIT, scale=0.05), synthetic.WIDE_INTERVALS)
    found = synthetic.errors(choice, synthetic.WIDE_CASES[mix], shape, 20_000, np.random.default_rng(8))
    exact, noise_only = found[synthetic.EXACT], found[synthetic.NOISE_ONLY]
    assert exact <= noise_only + claims.TOLERANCE
    if synthetic.WIDE_CASES[mix]["wide"] >= 0.2:
        assert exact < noise_only - 0.02


def test_exact_tables_cost_nothing_in_the_papers_cases() -> None:
    """At a deviation of 0.05, where one run can tell; at the paper's 0.25 the reproduction averages runs."""
    choice = sf.TwoPhase(sf.Gaussian(UNIT, scale=0.05), synthetic.INTERVALS)
    for case in synthetic.CASES.values():
        found = synthetic.errors(choice, case, "triangles", 10_000, np.random.default_rng(9))
        assert found[synthetic.EXACT] <= found[synthetic.NOISE_ONLY] + claims.TOLERANCE


def test_two_phase_users_cost_little_accuracy_even_with_few_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """One run's difference has a deviation of 0.02 over seeds (measured) and a mean of 0: the mean of two runs falls
    short by 0.06 once in 10⁵ times for each learner."""
    monkeypatch.setattr(synthetic, "CASES", {"case 4": synthetic.CASES["case 4"]})
    rows = synthetic.functions(4_000, 2, chosen=(1,), by=("ByClass tree", "naive Bayes"))
    accuracy = {(row["users"], row["learner"]): row["accuracy"] for row in rows}
    for (_, learner), value in accuracy.items():
        assert value > accuracy["one phase", learner] - 0.06


def test_channels_state_the_wanted_ratio_and_gamma() -> None:
    split = real.income(0, nominal=True)
    channels = real.channels_for(split, 0.5)
    assert len(channels) == 14
    age = channels["age"]
    assert isinstance(age, sf.Gaussian)
    assert age.scale**2 == pytest.approx(split.X["age"].var(ddof=0) / 0.5)
    assert channels["sex"].guarantee().gamma == pytest.approx(real.GAMMA)
    assert real.UNKNOWN in channels["occupation"].domain.labels  # type: ignore[union-attr]


def test_the_mixture_beats_direct_mining_on_income_at_ratio_1() -> None:
    split = real.income(0).first(8_000)
    rng = np.random.default_rng(1)
    channels = real.channels_for(split, 1.0)
    reports = synthetic.randomized(split.X, channels, rng)
    mixture = sf.ProductMixtureClassifier(channels, components=120, pseudo_count=2.0, members=2, random_state=0)
    direct = sf.FaceValueClassifier(real.learners()["tree"]())
    ours = mixture.fit(reports, split.y).score(split.X_test, split.y_test)
    assert ours > 0.79
    assert ours > direct.fit(reports, split.y).score(split.X_test, split.y_test) + 0.01


def test_the_chooser_is_judged_by_true_records() -> None:
    found = real.judged_cell(real.two_thirds("haberman", 0), "gaussian", 1.0, 0)
    assert found["preferred"] in ("reconstruct", "direct")
    accuracy = [found["reconstruct: accuracy"], found["direct: accuracy"]]
    assert found["lost"] == max(accuracy) - found[f"{found['preferred']}: accuracy"]
    assert found["right"] == (found["lost"] == 0)
    assert 0 <= found[real.ERROR] <= 1 / found["tests"] ** 0.5


def test_intervals_finer_than_the_values_leave_income_as_it_is_and_all_six_attributes_have_all_levels() -> None:
    split = real.income(0).first(500)
    channels = synthetic.two_phase_channels(real.channels_for(split, 1.0))
    reports = synthetic.two_phase_reports(split.X, channels, synthetic.CASES["case 4"], np.random.default_rng(0))
    assert len(channels) == 6 and len(reports.columns) == 12
    age = channels["age"]
    assert age.level("normal").program() == age.noise.program()
    assert age.level("paranoid").program() != age.noise.program()


def test_by_class_deals_sorted_reports_out_to_the_reconstructed_intervals() -> None:
    """Without noise to speak of the records come back, up to the width of an interval."""
    rng = np.random.default_rng(2)
    values, y = rng.beta(2, 4, 2_000), rng.integers(0, 2, 2_000)
    channels: dict[str, sf.Channel] = {"x": sf.Gaussian(UNIT, scale=0.002)}
    records = pd.DataFrame({"x": values})
    again = tables.by_class(synthetic.randomized(records, channels, rng), y, channels)
    assert np.abs(again["x"] - values).max() < 0.2
    assert np.abs(again["x"] - values).mean() < 0.05
    for label in (0, 1):
        order = np.argsort(values[y == label])
        assert np.diff(again["x"].to_numpy()[y == label][order]).min() > -0.11


def test_by_class_is_very_low_on_perturbed_tests_of_income_and_ours_is_not_on_true_ones() -> None:
    """LKT08 §5.4; the bars of the paper's page are 0.65 and 0.81, at all records."""
    split = real.income(6).first(8_000)
    rows = tables.table_3(split, 1.0, 6)
    found = {(row["learner"], row["trained on"], row["tested on"]): row["accuracy"] for row in rows}
    assert found["tree", tables.RECONSTRUCTED, tables.PERTURBED] < 0.65
    assert found["tree", tables.PERTURBED, tables.PERTURBED] > 0.75
    assert found[real.NOISE_TAKEN_OFF, tables.PERTURBED, tables.TRUE] > 0.785


def test_noise_leaves_class_means_alone_and_adds_to_variances() -> None:
    rows = tables.moments(real.income(7).first(4_000), 1.0, 7)
    means, variances = real_claims.judge_moments(rows, 1.0)
    assert (means.kept, variances.kept) == (True, False)


def test_the_more_attributes_correlate_the_less_is_left() -> None:
    rows = attacks.correlated((0.0, 0.9))
    assert rows[0]["best linear guess"] == pytest.approx(0.5)
    assert rows[1]["principal components"] < 0.3
    assert all(row["best linear guess"] <= row["principal components"] * 1.05 for row in rows)


def test_redrawn_values_follow_the_noise_more_closely_in_shorter_intervals() -> None:
    curves = synthetic.figures_1_2(2_000)
    halves = {"[0, 1]": 1.0, "[0, 2]": 2.0}
    assert [one.kept for one in claims.judge_measures(halves, synthetic.level_table(), curves)] == [True] * 3


def made_up_mixes(gain: float) -> Rows:
    """Exact tables ahead of the noise's by so much, in every mix."""
    row = {synthetic.ONE_PHASE: 0.1, synthetic.EXACT: 0.1, synthetic.NOISE_ONLY: 0.1 + gain}
    every = (*synthetic.CASES, *synthetic.WIDE_CASES)
    return [{"shape": "plateau", "mix": mix, **row, synthetic.GAIN_ERROR: 0.001} for mix in every]


def made_up_figure(error: float) -> Rows:
    row = {synthetic.ONE_PHASE: error, synthetic.EXACT: error, synthetic.NOISE_ONLY: error}
    return [{"shape": "plateau", "method": method, **row} for method in ("as00", "smooth")]


def made_up_stops(error: float) -> Rows:
    return [{"shape": "plateau", "n": 100, "1 % of χ²": 2 * error, claims.THEIR_STOP: error}]


@pytest.mark.parametrize(("gain", "kept"), [(0.05, [False, True]), (-0.05, [True, False])])
def test_the_verdicts_on_mixes_follow_the_errors(gain: float, kept: list[bool], privacy: Rows) -> None:
    assert [one.kept for one in claims.judge_cases(privacy)] == [True, True]
    phases = claims.judge_phases(made_up_figure(0.2), made_up_stops(0.2))
    assert [one.kept for one in phases] == [True, False]
    assert "plateau 0.400 at 1 % of χ², 0.200 at 0.25 % of χ²" in phases[1].measured
    assert [one.kept for one in claims.judge_mixes(made_up_mixes(gain))] == kept


def test_a_later_stop_is_nearer_to_the_truth_and_the_paper_s_is_among_them() -> None:
    for row in synthetic.stopped_later(20_000, 2):
        errors = [value for name, value in row.items() if name.endswith("χ²")]
        assert errors[0] > errors[2] and claims.THEIR_STOP in row


def test_shuffled_records_keep_every_attribute_of_a_class_and_nothing_else() -> None:
    rng = np.random.default_rng(4)
    records, y = pd.DataFrame({"a": np.arange(400), "b": np.arange(400)}), rng.integers(0, 2, 400)
    again = tables.shuffled(records, y, rng)
    assert (records["a"] == np.arange(400)).all() and (again["a"] != again["b"]).mean() > 0.9
    for label in (0, 1):
        assert sorted(again["a"][y == label]) == np.flatnonzero(y == label).tolist()


def made_up_table_3(on_perturbed: float, on_true: float) -> Rows:
    """ByClass on Income and Liver so low, everything else at 0.8."""
    kinds = (tables.TRUE, tables.PERTURBED, tables.RECONSTRUCTED)
    low = {tables.PERTURBED: on_perturbed, tables.TRUE: on_true, tables.RECONSTRUCTED: 0.9}
    rows = [
        {"data set": data_set, "learner": learner, "trained on": trained, "tested on": tested,
         "accuracy": low[tested] if (trained == tables.RECONSTRUCTED and data_set != "haberman") else 0.8}
        for data_set in real_claims.SETS for learner in real.learners() for trained in kinds for tested in kinds
    ]  # fmt: skip
    others = [
        (real.NOISE_TAKEN_OFF, tables.PERTURBED, tables.TRUE), (tables.LARGER_CLASS, tables.TRUE, tables.TRUE),
        ("tree", tables.TOGETHER, tables.TOGETHER), ("tree", tables.SHUFFLED, tables.SHUFFLED),
    ]  # fmt: skip
    names = ("learner", "trained on", "tested on")
    known = [dict(zip(names, other, strict=True)) for other in others]
    return rows + [{"data set": data_set, **one, "accuracy": 0.8} for data_set in real_claims.SETS for one in known]


@pytest.mark.parametrize(
    ("on_perturbed", "on_true", "kept"),
    [(0.6, 0.6, [False, False, True, True, True, True]), (0.8, 0.8, [False, False, False, False, False, True])],
)
def test_the_verdicts_on_table_3_follow_the_accuracies(on_perturbed: float, on_true: float, kept: list[bool]) -> None:
    assert [one.kept for one in real_claims.judge_table_3(made_up_table_3(on_perturbed, on_true))] == kept


def made_up_levels(lost: float) -> Rows:
    return [
        {"data set": s, "learner": w, "tested on": t, "users": u, "accuracy": 0.8 - (u != synthetic.ONE_PHASE) * lost}
        for s in real_claims.SETS for w in ("tree", "MLP") for t in (tables.TRUE, tables.PERTURBED)
        for u in (synthetic.ONE_PHASE, *synthetic.CASES)
    ]  # fmt: skip


@pytest.mark.parametrize("lost", [0.0, 0.02])
def test_the_verdict_on_levels_follows_what_they_lose(lost: float) -> None:
    direct, levels = real_claims.judge_two_phase(made_up_levels(lost), made_up_table_3(0.6, 0.6))
    assert direct.kept is False  # Haberman is as good by ByClass
    assert levels.kept is (lost == 0)


def made_up_grid() -> Rows:
    """Two cells that tests tell apart, of which one is wrong, and two that they do not."""
    cell = {"data": "d", "noise": "gaussian", "SNR": 1.0, "tests": 100, "lost": 0.0, "direct: accuracy": 0.6}
    given = [(0.8, True), (0.8, False), (0.65, True), (0.55, False)]
    return [{**cell, "reconstruct: accuracy": one, "right": right, real.ERROR: 0.05} for one, right in given]


def test_a_chooser_that_is_wrong_is_judged_by_whether_the_tests_tell() -> None:
    claim = claims.judge_grid(made_up_grid(), quick=False)
    assert claim.kept is False and claim.evidence.startswith("2 of 4")
    assert "in 2 cells, of which it has 1" in claim.cause
    assert claim.cause.endswith("right in 1 of 2; wrong there: d gaussian 1")


def test_the_verdicts_on_functions_follow_the_accuracies() -> None:
    def rows(hard: float, gap: float) -> Rows:
        return [
            {"function": f, "users": users, "learner": "naive Bayes", "accuracy": (hard if f in (2, 3) else 0.9) - cost}
            for f in (1, 2, 3, 4, 5)
            for users, cost in ((synthetic.ONE_PHASE, 0.0), ("case 4", gap))
        ]

    assert [one.kept for one in claims.judge_functions(rows(0.8, 0.005), 100, quick=False)] == [True, True]
    assert [one.kept for one in claims.judge_functions(rows(0.95, 0.02), 100, quick=False)] == [False, False]
    assert claims.judge_functions(rows(0.8, 0.005), 100, quick=True)[0].kept is None


def test_a_run_writes_every_table_and_judges_every_claim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, privacy: Rows
) -> None:
    """Every experiment replaced by rows of its form, so that the way from rows to claims is run whole."""
    users = (synthetic.ONE_PHASE, "case 1")
    rows = [{"function": f, "users": u, "learner": "tree", "accuracy": 0.9} for f in (1, 4) for u in users]
    split = real.Split(np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0))
    made_up = {tables.table_3: made_up_table_3(0.6, 0.6), tables.two_phase_table: made_up_levels(0.0)}
    stand_ins = {
        (real, "income"): lambda seed, nominal=False: split,
        (real, "direct_accuracies"): lambda split, snr, seed: [
            {"learner": learner, real_claims.ON_TRUE: 0.77 + snr / 100} for learner in real.learners()
        ],
        (real, "clean_accuracies"): lambda split: [{"learner": "tree", real_claims.ON_TRUE: 0.83}],
        (real, "chosen"): lambda split, snr, seed: {"chosen": "direct, tree", "accuracy": 0.84},
        (real, "grid"): lambda *asked: made_up_grid(),
        (tables, "over_splits"): lambda name, table, *sizes: [r for r in made_up[table] if r["data set"] == name],
        (tables, "moments"): lambda *asked: [{"error of the mean": 1.0, "variances": 2.0}],
        (attacks, "outliers_found"): lambda *asked: [{"attributes": 2, "found": 0.2}, {"attributes": 6, "found": 0.6}],
        (synthetic, "privacy_table"): lambda: privacy,
        (synthetic, "functions"): lambda n, runs, **asked: rows,
        (synthetic, "figure_4"): lambda n, runs: made_up_figure(0.2),
        (synthetic, "stopped_later"): lambda n, runs: made_up_stops(0.2),
        (synthetic, "mixes"): lambda n, runs: made_up_mixes(0.05),
    }  # fmt: skip
    for (module, name), stand_in in stand_ins.items():
        monkeypatch.setattr(module, name, stand_in)
    monkeypatch.setattr(real.Split, "first", lambda self, n: self)
    found = lkt08.reproduce(tmp_path, scale="middle", say=lambda text: None)
    written = ("levels", "figures_1_2", "privacy_loss", "figure_4", "stopped_later", "mixes", "functions", "table_3",
               "tables_5_to_9",
               "table_4_size", "snr", "clean", "correlation", "outliers", "chosen", "chooser")  # fmt: skip
    pages = {"index.html", "statements.md", lkt08.PICTURE}
    assert {path.name for path in tmp_path.iterdir()} == pages | {f"{name}.csv" for name in written}
    assert len(found) >= 30 and all(one.where for one in found)
    unmeasured = [one.text for one in found if one.kept is None]
    assert len(unmeasured) == 1 and "Functions 2 and 3" in unmeasured[0]
    quick = lkt08.reproduce(tmp_path, scale="quick", say=lambda text: None)
    assert len(quick) == len(found) and sum(one.kept is None for one in quick) > 10
