import numpy as np
import pytest

from sfumato.mining.joint.grid import Tables, em_step, report_likelihood, start


def random_tables(rng, label=False):
    attributes = tuple(rng.dirichlet(np.ones(s), t).T.astype(np.float32) for s, t in ((5, 3), (4, 2), (6, 4)))
    return Tables(attributes, rng.dirichlet(np.ones(2), 2).T.astype(np.float32) if label else None)


@pytest.mark.parametrize("label", [False, True])
def test_forward_is_the_kronecker_product_of_the_tables(label):
    rng = np.random.default_rng(1)
    tables = random_tables(rng, label)
    joint = rng.random((2, 3, 2, 4)).astype(np.float32)
    a, b, c = tables.attributes
    expected = np.einsum("ix,jy,kz,gxyz->ijkg", a, b, c, joint)
    if label:
        expected = np.einsum("ijkg,hg->ijkh", expected, tables.label)
    np.testing.assert_allclose(tables.forward(joint), expected, rtol=1e-4)


@pytest.mark.parametrize("label", [False, True])
def test_backward_is_the_transpose_of_forward(label):
    rng = np.random.default_rng(2)
    tables = random_tables(rng, label)
    joint, reports = rng.random((2, 3, 2, 4)).astype(np.float32), rng.random((5, 4, 6, 2)).astype(np.float32)
    there = np.sum(tables.forward(joint) * reports)
    back = np.sum(joint * tables.backward(reports))
    assert there == pytest.approx(back, rel=1e-4)


def test_the_likelihood_never_falls():
    rng = np.random.default_rng(3)
    tables = random_tables(rng)
    counts = rng.integers(0, 50, (5, 4, 6, 2)).astype(np.float32)
    joint, total = start(tables, 2), float(counts.sum())
    found = [report_likelihood(tables, joint, counts)]
    for _ in range(30):
        joint = em_step(tables, joint, counts, total)
        found.append(report_likelihood(tables, joint, counts))
    assert np.all(np.diff(found) > -1e-6)


def test_without_noise_one_step_gives_the_histogram():
    tables = Tables((np.eye(4, dtype=np.float32), np.eye(3, dtype=np.float32)))
    counts = np.arange(24, dtype=np.float32).reshape(4, 3, 2)
    joint = em_step(tables, start(tables, 2), counts, float(counts.sum()))
    np.testing.assert_allclose(joint, np.moveaxis(counts, 2, 0) / counts.sum(), atol=1e-6)


def test_exact_expected_counts_are_a_fixed_point():
    rng = np.random.default_rng(4)
    tables = random_tables(rng)
    truth = rng.dirichlet(np.ones(48)).reshape(2, 3, 2, 4).astype(np.float32)
    counts = tables.forward(truth)
    np.testing.assert_allclose(em_step(tables, truth, counts, 1.0), truth, atol=1e-5)
