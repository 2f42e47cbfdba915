"""EM: known answers, and a likelihood that never falls."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.counts import Counts
from sfumato.evidence import (
    CONVERGED,
    Anderson,
    ChiSquare,
    DenseTable,
    Evidence,
    LikelihoodGain,
    OverRelaxed,
    ProductTable,
    Steps,
    em,
    maximise_likelihood,
    repeat,
)
from sfumato.evidence.acceleration import em_step
from sfumato.reconstruction.request import request_of


def solve(table, counts, **how):
    return maximise_likelihood(Evidence.of_counts(table, counts), **how)


def random_problem(rows: int, columns: int, seed: int, problems: int = 1) -> tuple[DenseTable, np.ndarray]:
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.full(rows, 0.5), columns).T
    counts = rng.integers(0, 50, (problems, rows)).astype(float)
    counts[:, 0] += 1
    return DenseTable(matrix), counts


def equation_3(matrix: np.ndarray, counts: np.ndarray, p: np.ndarray) -> np.ndarray:
    """AS00's Equation 3, term by term."""
    new = np.zeros_like(p)
    for s, reports in enumerate(counts):
        if reports:
            new += reports * matrix[s] * p / (matrix[s] @ p)
    return new / counts.sum()


@pytest.mark.parametrize("seed", range(20))
def test_so_many_steps_are_equation_3_so_many_times(seed):
    rng = np.random.default_rng(seed)
    table, counts = random_problem(int(rng.integers(2, 15)), int(rng.integers(2, 10)), seed, problems=3)
    found = solve(table, counts, stop=Steps(37))
    for row in range(3):
        p = np.full(table.shape[1], 1 / table.shape[1])
        for _ in range(37):
            p = equation_3(table.dense(), counts[row], p)
        assert np.allclose(found.probabilities[row], p, atol=1e-9, rtol=0)
        assert found.log_likelihood[row] == pytest.approx((counts[row] * np.log(table.apply(p))).sum(), abs=1e-9)
    assert (found.iterations, found.converged) == (37, True)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("seed", range(10))
def test_the_chi_square_stop_ends_equation_3_where_the_paper_does(seed, compiled, monkeypatch):
    """Compiled and in NumPy, each problem of a batch at its own step; one without reports stays at its start."""
    monkeypatch.setattr(em, "FEW_ENTRIES", 10**9 if compiled else 0)
    table, counts = random_problem(9, 5, seed, problems=3)
    counts *= 100
    counts = np.vstack([counts, np.zeros(9)])
    stop = ChiSquare(share=0.003)
    found = solve(table, counts, stop=stop)
    for row in range(3):
        p, done = np.full(5, 0.2), False
        while not done:
            new = equation_3(table.dense(), counts[row], p)
            done = counts[row].sum() * ((new - p) ** 2 / p).sum() < 0.003 * 9.487729036781154
            p = new
        assert np.allclose(found.probabilities[row], p, atol=1e-9, rtol=0)
    assert np.allclose(found.probabilities[3], 0.2)
    assert found.converged


def test_a_product_is_solved_as_its_kronecker_table_in_either_precision():
    rng = np.random.default_rng(9)
    factors = [rng.dirichlet(np.ones(6), 4).T, rng.dirichlet(np.ones(5), 3).T]
    counts = rng.integers(0, 60, (6, 5, 2)).astype(float)
    table = ProductTable(factors, classes=2)
    found = solve(table, counts, stop=Steps(50)).probabilities[0]
    p = np.full(24, 1 / 24)
    for _ in range(50):
        p = equation_3(table.dense(), counts.ravel(), p)
    assert np.allclose(found, p, atol=1e-9, rtol=0)
    single = solve(ProductTable(factors, classes=2, dtype=np.float32), counts, stop=Steps(50))
    assert single.probabilities.dtype == np.float32
    assert np.allclose(single.probabilities[0], p, atol=1e-5)


def test_over_relaxed_steps_gain_more_and_smoothing_keeps_cells_off_zero():
    table, counts = random_problem(9, 6, seed=11)
    plain = solve(table, counts, stop=Steps(40))
    further = solve(table, counts, stop=Steps(40), acceleration=OverRelaxed(1.8, after=5))
    assert further.log_likelihood[0] > plain.log_likelihood[0]
    smoothed = solve(DenseTable(np.eye(3)), [[10.0, 0.0, 20.0]], stop=Steps(1), smoothing=6.0)
    assert np.allclose(smoothed.probabilities, [[12 / 36, 2 / 36, 22 / 36]])


def test_steps_that_do_not_follow_the_likelihood_need_a_stop_that_does_not_either():
    table, counts = random_problem(4, 3, seed=1)
    with pytest.raises(ValueError, match="stop by Steps"):
        solve(table, counts, acceleration=OverRelaxed(1.8))


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 12), st.integers(2, 12), st.integers(0, 2**32 - 1), st.sampled_from([0, 15]))
def test_the_likelihood_never_falls(rows, columns, seed, memory):
    table, counts = random_problem(rows, columns, seed, problems=3)
    fit = solve(table, counts, stop=LikelihoodGain(0.0, 3, limit=80), acceleration=Anderson(memory))
    assert (np.diff(np.array(fit.likelihoods), axis=0) >= 0).all()
    predicted = np.maximum(table.apply(fit.probabilities), 1e-300)
    assert np.allclose((counts * np.log(predicted)).sum(axis=1), fit.log_likelihood)


def promise(table: DenseTable, counts: np.ndarray, p: np.ndarray) -> float:
    """n·(max f − 1): no distribution has a log-likelihood higher by more than this (Karush, Kuhn, Tucker)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(counts > 0, counts / table.apply(p), 0.0)
    return float(table.adjoint(ratio).max() - counts.sum())


def test_a_cell_that_a_proposal_emptied_gets_its_mass_back():
    """Accelerated EM used to end at −144.570: the cell of 7.8 % had mass 1e-16, which EM's steps cannot fill."""
    table, counts = random_problem(4, 6, seed=4)
    plain = solve(table, counts, stop=CONVERGED, acceleration=Anderson(0))
    for stop in (CONVERGED, LikelihoodGain(1e-11, 10, limit=20_000)):
        fast = solve(table, counts, stop=stop)
        assert fast.log_likelihood[0] == pytest.approx(plain.log_likelihood[0], abs=1e-6)
        assert fast.log_likelihood[0] == pytest.approx(-144.01548, abs=1e-4)


@pytest.mark.parametrize("block", range(4))
def test_the_end_is_a_distribution_at_which_no_direction_gains(block):
    """For 400 random problems, many without full rank, most with zeros at the end: at most 1e-4 nats below the best."""
    for seed in range(100 * block, 100 * block + 100):
        rng = np.random.default_rng(seed)
        table, counts = random_problem(int(rng.integers(2, 13)), int(rng.integers(2, 13)), seed + 10**6)
        fit = solve(table, counts, stop=CONVERGED)
        p = fit.probabilities[0]
        assert (p >= 0).all() and p.sum() == pytest.approx(1)
        assert promise(table, counts[0], p) < 1e-4, seed


@pytest.mark.parametrize("seed", [54, 340, 343, 845])
def test_acceleration_does_not_end_below_plain_steps(seed):
    """Seeds at which it did, by 5.8e-6, .47, 9.7e-8 and 2.0e-6 nats."""
    rng = np.random.default_rng(seed + 10**6)
    table, counts = random_problem(int(rng.integers(2, 13)), int(rng.integers(2, 13)), seed)
    plain, fast = (solve(table, counts, stop=CONVERGED, acceleration=Anderson(m)) for m in (0, 15))
    assert fast.log_likelihood[0] > plain.log_likelihood[0] - 1e-8


def test_cells_that_start_empty_stay_empty():
    table, counts = random_problem(5, 4, seed=3)
    fit = solve(table, counts, start=[[0.5, 0.0, 0.25, 0.25]], stop=CONVERGED)
    assert fit.probabilities[0, 1] == 0
    without = DenseTable(table.dense()[:, [0, 2, 3]])
    alone = solve(without, counts, stop=CONVERGED)
    assert fit.log_likelihood[0] == pytest.approx(alone.log_likelihood[0], abs=1e-7)


@pytest.mark.parametrize("memory", [0, 15])
def test_a_diagonal_table_returns_the_data(memory):
    counts = np.array([[5.0, 0.0, 15.0, 20.0]])
    fit = solve(DenseTable(np.eye(4)), counts, stop=CONVERGED, acceleration=Anderson(memory))
    assert np.allclose(fit.probabilities, counts / counts.sum(), atol=1e-12)


def test_a_permuted_diagonal_table_returns_the_permuted_data():
    fit = solve(DenseTable(np.eye(3)[[2, 0, 1]]), np.array([[1.0, 2.0, 7.0]]), stop=CONVERGED)
    assert np.allclose(fit.probabilities, [[0.2, 0.7, 0.1]])


def test_accelerated_and_plain_steps_end_at_the_same_place():
    law = sf.RandomizedResponse(sf.Categories(list("abcde")), keep=0.6).matrix()
    counts = np.array([[300.0, 250.0, 200.0, 150.0, 140.0]])
    table = DenseTable(law)
    fits = [solve(table, counts, stop=CONVERGED, acceleration=Anderson(memory)) for memory in (0, 15)]
    assert np.allclose(fits[0].probabilities, fits[1].probabilities, atol=1e-5)
    assert np.allclose(fits[1].probabilities[0], np.linalg.solve(law, counts[0] / counts.sum()), atol=1e-5)


def test_a_batch_equals_its_problems_one_by_one():
    table, counts = random_problem(9, 6, seed=5, problems=7)
    together = solve(table, counts, stop=CONVERGED)
    for row in range(7):
        alone = solve(table, counts[row : row + 1], stop=CONVERGED)
        assert together.log_likelihood[row] == pytest.approx(alone.log_likelihood[0], abs=1e-6)
        assert np.allclose(together.probabilities[row], alone.probabilities[0], atol=1e-4)


def test_a_start_at_the_answer_stays_there():
    table, counts = random_problem(8, 4, seed=6)
    end = solve(table, counts, stop=LikelihoodGain(1e-12, 10, limit=20_000)).probabilities
    again = solve(table, counts, start=end, stop=CONVERGED)
    assert np.allclose(again.probabilities, end, atol=1e-5)


def test_acceleration_needs_a_fifteenth_of_the_table_applications():
    channel = sf.Uniform(sf.Interval(0, 1), halfwidth=0.5)
    rng = np.random.default_rng(3)
    reports = channel.randomize(rng.triangular(0, 0.25, 1, 20_000), rng=rng)
    evidence = request_of(Counts.of(reports, channel), 100).evidence
    plain = maximise_likelihood(evidence, stop=LikelihoodGain(0.0, 1, limit=3000), acceleration=Anderson(0))

    class Reached(LikelihoodGain):
        def reached(self, likelihoods):
            return likelihoods[-1] >= plain.log_likelihood

    fast = maximise_likelihood(evidence, stop=Reached(limit=3000))
    assert fast.log_likelihood[0] >= plain.log_likelihood[0]
    assert fast.applications <= plain.applications / 15


def test_the_chi_square_stop_compares_successive_estimates():
    """n Σ (p'−p)²/p = 0.04 and 0.0324 against 1 % of χ²₁(95 %) = 0.0384."""
    evidence, before = Evidence.of_counts(DenseTable(np.eye(2)), np.full((2, 2), 50.0)), np.full((2, 2), 0.5)
    after = np.array([[0.51, 0.49], [0.509, 0.491]])
    assert ChiSquare().reached(evidence, before, after).tolist() == [False, True]


def test_a_step_is_repeated_until_its_likelihood_hardly_rises():
    likelihoods = [-9.0, -5.0, -4.0, -3.9, -3.0]
    steps = iter(likelihoods)
    assert repeat(lambda: next(steps), LikelihoodGain(nats=0.5, steps=1)) == 4
    assert repeat(iter(likelihoods).__next__, LikelihoodGain(nats=0.5, steps=1, limit=2)) == 2


def test_running_out_of_steps_is_said():
    table, counts = random_problem(12, 12, seed=8)
    fit = solve(table, counts, stop=LikelihoodGain(0.0, 3, limit=4), acceleration=Anderson(0))
    assert not fit.converged


@pytest.mark.parametrize("power", [1.0, 1.8])
def test_a_report_that_the_estimate_all_but_rules_out_leaves_numbers(power):
    """In float32 the factor of an emptied cell overflows, and infinity times nothing is not a number."""
    table = DenseTable(np.array([[1.0, 0.0], [0.0, 1.0]]), np.float32)
    evidence = Evidence.of_counts(table, [1e6, 1e9])
    found = em_step(evidence, np.array([[1.0, 0.0]], dtype=np.float32), power)
    assert np.isfinite(found).all() and found.sum() == pytest.approx(1)


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_class_goes_in_first_and_comes_out_last(labelled, dtype):
    rng = np.random.default_rng(4)
    a, b, c = (rng.dirichlet(np.ones(s), t).T for s, t in ((5, 3), (4, 2), (6, 4)))
    label = rng.dirichlet(np.ones(3), 2).T if labelled else np.eye(2)
    table = ProductTable([a, b, c], label if labelled else None, classes=2, dtype=dtype)
    joint, reports = rng.random((2, 3, 2, 4)).astype(dtype), rng.random((5, 4, 6, len(label))).astype(dtype)
    assert (table.true_shape, table.report_shape) == (joint.shape, reports.shape)
    expected = np.einsum("ix,jy,kz,hg,gxyz->ijkh", a, b, c, label, joint)
    close = {"rtol": 1e-4 if dtype == np.float32 else 1e-12}
    found = table.apply(joint.reshape(-1))
    assert found.dtype == dtype
    assert np.allclose(found, expected.ravel(), **close)
    assert np.allclose(table.dense() @ joint.ravel(), expected.ravel(), **close)
    assert np.allclose(table.adjoint(reports.reshape(-1)), table.dense().T @ reports.ravel(), **close)
    several = rng.random((3, joint.size)).astype(dtype)
    assert np.allclose(table.apply(several), several @ table.dense().T, **close)
    back = rng.random((3, reports.size)).astype(dtype)
    assert np.allclose(table.adjoint(back), back @ table.dense(), **close)
