"""LKT08 again, in affordable form."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import sfumato as sf
from sfumato.papers.lkt08 import claims, real, synthetic

UNIT = sf.Interval(0.0, 1.0)


def test_privacy_loss_falls_from_case_to_case() -> None:
    loss = [row["privacy loss"] for row in synthetic.privacy_table()]
    assert all(before > after for before, after in pairwise(loss))


def test_case_4_is_the_papers() -> None:
    by_intervals = {synthetic.INTERVALS[name]: share for name, share in synthetic.CASES["case 4"].items()}
    assert by_intervals == {200: 0.70, 100: 0.20, 50: 0.05, 25: 0.05}
    assert all(sum(shares.values()) == pytest.approx(1.0) for shares in synthetic.CASES.values())


def test_mutual_information_of_a_clear_channel_is_the_entropy_and_of_a_blind_one_nothing() -> None:
    assert synthetic.mutual_information(np.eye(8)) == pytest.approx(3.0)
    assert synthetic.mutual_information(np.full((4, 8), 0.25)) == pytest.approx(0.0)


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


def test_two_phase_users_cost_little_accuracy_even_with_few_records() -> None:
    rows = synthetic.functions(4_000, 1, chosen=(1,), by=("ByClass tree", "naive Bayes"))
    accuracy = {(row["users"], row["learner"]): row["accuracy"] for row in rows}
    for (_, learner), value in accuracy.items():
        assert value > accuracy["one phase", learner] - 0.08


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
    reports = real.randomized(split.X, channels, rng)
    mixture = sf.MixtureModel(channels, components=120, pseudo_count=2.0, members=2, random_state=0)
    direct = sf.DirectClassifier(real.learners()["tree"]())
    ours = mixture.fit(reports, split.y).score(split.X_test, split.y_test)
    assert ours > 0.79
    assert ours > direct.fit(reports, split.y).score(split.X_test, split.y_test) + 0.01
