"""LKT08 again, in affordable form."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.papers import Rows, lkt08
from sfumato.papers.lkt08 import real, synthetic

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
    assert exact <= noise_only + lkt08.TOLERANCE
    if synthetic.WIDE_CASES[mix]["wide"] >= 0.2:
        assert exact < noise_only - 0.02


def test_exact_tables_cost_nothing_in_the_papers_cases() -> None:
    """At a deviation of 0.05, where one run can tell; at the paper's 0.25 the reproduction averages runs."""
    choice = sf.TwoPhase(sf.Gaussian(UNIT, scale=0.05), synthetic.INTERVALS)
    for case in synthetic.CASES.values():
        found = synthetic.errors(choice, case, "triangles", 10_000, np.random.default_rng(9))
        assert found[synthetic.EXACT] <= found[synthetic.NOISE_ONLY] + lkt08.TOLERANCE


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
    mixture = sf.MixtureModel(channels, components=120, pseudo_count=2.0, members=2, random_state=0)
    direct = sf.DirectClassifier(real.learners()["tree"]())
    ours = mixture.fit(reports, split.y).score(split.X_test, split.y_test)
    assert ours > 0.79
    assert ours > direct.fit(reports, split.y).score(split.X_test, split.y_test) + 0.01


def test_the_chooser_is_judged_by_true_records() -> None:
    found = real.judged_cell(real.two_thirds("haberman", 0), "gaussian", 1.0, 0)
    assert found["preferred"] in ("reconstruct", "direct")
    accuracy = [found["reconstruct: accuracy"], found["direct: accuracy"]]
    assert found["lost"] == max(accuracy) - found[f"{found['preferred']}: accuracy"]
    assert found["right"] == (found["lost"] == 0)


def made_up_mixes(gain: float) -> Rows:
    """Exact tables ahead of the noise's by so much, in every mix."""
    row = {synthetic.ONE_PHASE: 0.1, synthetic.EXACT: 0.1, synthetic.NOISE_ONLY: 0.1 + gain}
    every = (*synthetic.CASES, *synthetic.WIDE_CASES)
    return [{"shape": "plateau", "mix": mix, **row, synthetic.GAIN_ERROR: 0.001} for mix in every]


@pytest.mark.parametrize(("gain", "kept"), [(0.05, [False, True]), (-0.05, [True, False])])
def test_the_verdicts_on_mixes_follow_the_errors(gain: float, kept: list[bool], privacy: Rows) -> None:
    found = lkt08.judge_mixes(privacy, made_up_mixes(0.0), made_up_mixes(gain))
    assert [one.kept for one in found] == [True, True, *kept]


def test_the_verdicts_on_functions_follow_the_accuracies() -> None:
    def rows(hard: float, gap: float) -> Rows:
        return [
            {"function": f, "users": users, "learner": "naive Bayes", "accuracy": (hard if f in (2, 3) else 0.9) - cost}
            for f in (1, 2, 3, 4, 5)
            for users, cost in ((synthetic.ONE_PHASE, 0.0), ("case 4", gap))
        ]

    assert [one.kept for one in lkt08.judge_functions(rows(0.8, 0.005), 100, quick=False)] == [True, True]
    assert [one.kept for one in lkt08.judge_functions(rows(0.95, 0.02), 100, quick=False)] == [False, False]
    assert lkt08.judge_functions(rows(0.8, 0.005), 100, quick=True)[0].kept is None


def test_a_run_writes_every_table_and_judges_every_claim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, privacy: Rows
) -> None:
    """Every experiment replaced by rows of its form, so that the way from rows to claims is run whole."""
    accuracies = {"original": 0.8, "perturbed": 0.79, "reconstructed": 0.75}
    table = [{"learner": w, "data": d, "accuracy": v} for w in ("tree", "naive Bayes") for d, v in accuracies.items()]
    users = (synthetic.ONE_PHASE, "case 1")
    rows = [{"function": f, "users": u, "learner": "tree", "accuracy": 0.9} for f in (1, 4) for u in users]
    split = real.Split(np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0))
    stand_ins = {
        "income": lambda seed, nominal=False: split,
        "two_thirds": lambda name, seed: split,
        "table_3": lambda split, snr, seed: table,
        "direct_accuracies": lambda split, snr, seed: [{"learner": "tree", lkt08.ON_TRUE: 0.77 + snr / 100}],
        "chosen": lambda split, snr, seed: {"chosen": "direct, tree", "accuracy": 0.84},
        "grid": lambda *asked: [{"right": True, "lost": 0.0}],
    }
    for name, stand_in in stand_ins.items():
        monkeypatch.setattr(real, name, stand_in)
    monkeypatch.setattr(real.Split, "first", lambda self, n: self)
    monkeypatch.setattr(synthetic, "privacy_table", lambda: privacy)
    monkeypatch.setattr(synthetic, "functions", lambda n, runs, **asked: rows)
    monkeypatch.setattr(synthetic, "figure_4", lambda n, runs: made_up_mixes(0.0))
    monkeypatch.setattr(synthetic, "mixes", lambda n, runs: made_up_mixes(0.05))
    found = lkt08.reproduce(tmp_path, scale="quick", say=lambda text: None)
    tables = ("privacy_loss", "figure_4", "mixes", "functions", "table_3", "table_4_size", "snr", "chosen", "chooser")
    written = {"index.html", "statements.md", *(f"{name}.csv" for name in tables)}
    assert {path.name for path in tmp_path.iterdir()} == written
    kept = [one.kept for one in found]
    assert kept == [True, True, False, True, None, None, True, False, True, True, True, None, None, None]
