"""Accelerated EM against plain EM: table applications to the same likelihood, at most 1/15.

Plain EM runs 1,000 and 10,000 steps; the accelerated one runs until it has reached the same log-likelihood.
"""

from dataclasses import dataclass

import numpy as np

import sfumato as sf
from sfumato.counts import Counts
from sfumato.reconstruction.em import maximise_likelihood
from sfumato.reconstruction.methods import problem_of
from sfumato.reconstruction.rules import Anderson, Done

UNIT = sf.Interval(0, 1)
CHANNELS = {
    "gaussian .25": sf.Gaussian(UNIT, scale=0.25),
    "gaussian .1": sf.Gaussian(UNIT, scale=0.1),
    "uniform .5": sf.Uniform(UNIT, halfwidth=0.5),
    "square wave 19": sf.SquareWave(UNIT, gamma=19),
}
SHAPES = {
    "plateau": lambda rng, n: rng.uniform(0.25, 0.75, n),
    "triangles": lambda rng, n: rng.triangular(0, 0.25, 0.5, n) + 0.5 * (rng.random(n) < 0.5),
    "beta(2, 5)": lambda rng, n: rng.beta(2, 5, n),
}


@dataclass(frozen=True)
class Reaches:
    """Stop at a likelihood."""

    likelihood: float
    limit: int = 20_000

    def reached(self, likelihoods: list[np.ndarray]) -> Done:
        return likelihoods[-1] >= self.likelihood


def applications(problem, stop, acceleration: Anderson) -> tuple[int, float]:
    fit = maximise_likelihood(problem.table, problem.counts, stop=stop, acceleration=acceleration)
    return fit.applications, float(fit.log_likelihood[0])


def main(n: int = 100_000) -> None:
    print(f"{'plain EM / accelerated, applications':40}{'1,000 steps':>14}{'10,000 steps':>14}{'limit':>8}")
    for channel_name, channel in CHANNELS.items():
        for shape_name, draw in SHAPES.items():
            rng = np.random.default_rng(7)
            reports = channel.randomize(draw(rng, n), rng=rng)
            problem = problem_of(Counts.of(reports, channel), 100)
            ratios = []
            for steps in (1_000, 10_000):
                plain, target = applications(problem, Reaches(np.inf, steps), Anderson(memory=0))
                fast, _ = applications(problem, Reaches(target), Anderson())
                ratios.append(plain / fast)
            print(f"{channel_name + ', ' + shape_name:40}{ratios[0]:14.1f}{ratios[1]:14.1f}{'15':>8}", flush=True)


if __name__ == "__main__":
    main()
