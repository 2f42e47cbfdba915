import numpy as np

from sfumato.mining.tree.association import by_rank, by_share, counts_by_code, reconstruct_groups


def test_the_lowest_reports_go_to_the_first_interval():
    codes = np.array([3, 1, 2, 0, 1, -1], np.int32)
    group, weight = np.zeros(6, np.int64), np.ones(6)
    by_code = counts_by_code(codes, group, weight, 1, 4)
    np.testing.assert_array_equal(by_code, [[1, 2, 1, 1]])
    found = by_rank(codes, group, weight, by_code, np.array([[2.0, 4.0, 5.0]]), 3)
    np.testing.assert_array_equal(found, [2, 0, 1, 0, 1, 3])


def test_intervals_receive_as_many_records_as_were_reconstructed_within_each_group():
    rng = np.random.default_rng(0)
    codes, group = rng.integers(0, 50, 1000).astype(np.int32), rng.integers(0, 2, 1000)
    by_code = counts_by_code(codes, group, np.ones(1000), 2, 50)
    shares = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]])
    bounds = np.cumsum(shares, axis=1) * by_code.sum(axis=1, keepdims=True)
    found = by_rank(codes, group, np.ones(1000), by_code, bounds, 3)
    for g in (0, 1):
        np.testing.assert_allclose(np.bincount(found[group == g], minlength=3), shares[g] * np.sum(group == g), atol=1)


def test_categories_are_shared_out_by_their_posteriors():
    codes, group = np.zeros(1000, np.int32), np.zeros(1000, np.int64)
    found = by_share(codes, group, np.cumsum([[[0.5, 0.3, 0.2]]], axis=2), 3)
    np.testing.assert_allclose(np.bincount(found), [500, 300, 200], atol=3)


def test_reconstruction_recovers_a_distribution_from_its_expected_reports():
    rng = np.random.default_rng(1)
    table = rng.dirichlet(np.full(8, 0.3), 4).T.astype(np.float32)
    truth = np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.4, 0.1, 0.1]])
    found = reconstruct_groups(table, truth @ table.T * 1e7)
    np.testing.assert_allclose(found, truth, atol=0.01)
