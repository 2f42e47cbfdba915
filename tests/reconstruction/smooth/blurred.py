"""Small problems with gaussian noise for the parts of the smooth reconstruction."""

import numpy as np
from scipy.stats import norm

from sfumato.reconstruction.smooth.penalised import Seen

CELLS = 40


def blurred(sd: float, cells: int = CELLS) -> np.ndarray:
    middle = (np.arange(cells) + 0.5) / cells
    edges = np.arange(-cells, 2 * cells + 1) / cells
    cumulative = norm.cdf((edges[:, None] - middle) / sd)
    cumulative[0], cumulative[-1] = 0, 1
    return np.diff(cumulative, axis=0)


def reports_of(truth: np.ndarray, total: int, sd: float = 0.1, seed: int = 3) -> Seen:
    table = blurred(sd, truth.size)
    counts = np.random.default_rng(seed).multinomial(total, table @ truth).astype(float)
    return Seen(counts, table, np.full(truth.size, 1 / truth.size), np.zeros((len(table), 0)))


def bump(cells: int = CELLS) -> np.ndarray:
    density = np.exp(-0.5 * ((np.arange(cells) / cells - 0.4) / 0.1) ** 2)
    return density / density.sum()
