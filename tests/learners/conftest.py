"""Reports of AGI92's people, shared by the tests of learners."""

import numpy as np
import pytest

import sfumato as sf
from reproductions.agrawal import ATTRIBUTES, DOMAINS, as_matrix, generate


class Survey:
    """Clean training and test records of one function, and the training records' reports."""

    def __init__(self, function, n, privacy, seed, noise=sf.Gaussian):
        rng = np.random.default_rng(seed)
        self.records, self.y = generate(n, function, rng)
        test, self.y_test = generate(4_000, function, rng)
        self.X, self.X_test = as_matrix(self.records), as_matrix(test)
        self.channels = [noise(domain, privacy=privacy) for domain in DOMAINS.values()]
        pairs = zip(ATTRIBUTES, self.channels, strict=True)
        self.columns = {name: channel.randomize(self.records[name], rng) for name, channel in pairs}
        self.reports = np.column_stack(list(self.columns.values())).astype(float)


@pytest.fixture(scope="session")
def survey():
    """Function 2, blurred by half of every attribute's range."""
    return Survey(2, 20_000, 0.5, seed=5)
