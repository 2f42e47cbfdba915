"""AS00's recipe, against a second reading of Equation 3."""

import numpy as np
import pytest
from scipy.stats import chi2, norm

import sfumato as sf

UNIT = sf.Interval(0, 1)


def equation_3(reports: np.ndarray, density, k: int, reach: float) -> np.ndarray:
    """Equation 3 over reports put in intervals, written as the paper has it."""
    width = 1 / k
    more = int(np.ceil(reach / width))
    edges = np.arange(-more, k + more + 1) * width
    counts = np.histogram(reports, edges)[0]
    reported, true = (edges[:-1] + edges[1:]) / 2, (np.arange(k) + 0.5) * width
    kernel = density(reported[:, None] - true)
    p = np.full(k, 1 / k)
    while True:
        new = np.zeros(k)
        for s in np.flatnonzero(counts):
            below = kernel[s] @ p
            if below > 0:
                new += counts[s] * kernel[s] * p / below
        possible = new.sum()  # a report interval that no midpoint reaches says nothing
        new /= possible
        done = possible * ((new - p) ** 2 / p).sum() < 0.01 * chi2.isf(0.05, k - 1)
        p = new
        if done:
            return p


@pytest.mark.parametrize(
    ("channel", "density"),
    [
        (sf.Gaussian(UNIT, scale=0.25), lambda y: norm.pdf(y, scale=0.25)),
        (sf.Uniform(UNIT, halfwidth=0.48), lambda y: np.where(np.abs(y) <= 0.48, 1.0, 0.0)),
    ],
)
def test_it_is_equation_3_with_the_chi_square_stop(channel, density):
    rng = np.random.default_rng(0)
    reports = rng.triangular(0, 0.25, 0.5, 5000) + 0.5 * (rng.random(5000) < 0.5)
    reports = channel.outputs.decode(channel.encode_reports(channel.randomize(np.clip(reports, 0, 1), rng=rng)))
    reports = reports + 1e-9  # a report on an edge belongs to the interval above it
    expected = equation_3(reports, density, 20, 7 * 0.25)
    found = sf.reconstruct(reports, channel, 20, "as00")
    assert np.allclose(found.probabilities, expected, atol=1e-3)


def test_reports_outside_the_domain_are_counted():
    channel = sf.Gaussian(UNIT, scale=0.25)
    reports = np.full(1000, -0.4)
    estimate = sf.reconstruct(reports, channel, 10, "as00")
    assert estimate.diagnostics.reports == 1000
    assert np.argmax(estimate.probabilities) == 0


def test_the_midpoint_kernel_is_biased_under_uniform_noise():
    """The reason why it is not the default (see DESIGN, decision 4)."""
    channel = sf.Uniform(UNIT, halfwidth=0.5)
    rng = np.random.default_rng(1)
    people = rng.uniform(0.25, 0.75, 200_000)
    reports = channel.randomize(people, rng=rng)
    truth = np.histogram(people, 20, (0, 1))[0] / people.size
    error = {m: np.abs(sf.reconstruct(reports, channel, 20, m).probabilities - truth).sum() for m in ("as00", "em")}
    assert error["em"] < 0.3 * error["as00"]
