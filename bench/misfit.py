"""Do reports that a channel made look as if it had, and others not? Sound runs, and how often each mistake is seen."""

import numpy as np
from harness import Bench, main

import sfumato as sf
from sfumato.reconstruction.misfit import FALSE_ALARM

RANGE, LABELS = sf.Interval(20, 80), sf.Categories(list("abcdefgh"))
CHANNELS = {
    "gaussian": lambda noise: sf.Gaussian(RANGE, privacy=0.5 * noise),
    "laplace": lambda noise: sf.Laplace(RANGE, privacy=0.5 * noise),
    "uniform": lambda noise: sf.Uniform(RANGE, privacy=0.5 * noise),
    "square wave": lambda noise: sf.SquareWave(RANGE, gamma=19 ** (1 / noise)),
    "randomized response": lambda noise: sf.RandomizedResponse(LABELS, gamma=19 ** (1 / noise)),
}
PEOPLE = {
    "even": lambda n, rng: rng.uniform(20, 80, n),
    "a hump": lambda n, rng: np.clip(rng.normal(45, 8, n), 20, 80),
    "a third at 40": lambda n, rng: np.where(rng.random(n) < 0.33, 40.0, rng.uniform(20, 80, n)),
}


def truth(kind: str, people: str, n: int, rng: np.random.Generator):
    if kind == "randomized response":
        return rng.choice(list("abcdefgh"), n, p=[0.4, 0.3, 0.2, 0.1, 0, 0, 0, 0])
    return PEOPLE[people](n, rng)


def alarm(reports, channel, method: str = "smooth") -> bool:
    return sf.reconstruct(reports, channel, method=method).diagnostics.fit < FALSE_ALARM


def measure(bench: Bench) -> None:
    rng, alarms = np.random.default_rng(bench.seed), 0
    for run in range(bench.runs):
        kind = list(CHANNELS)[run % len(CHANNELS)]
        values = truth(kind, list(PEOPLE)[run % len(PEOPLE)], int(rng.choice([300, 2_000, 20_000])), rng)
        channel = CHANNELS[kind](float(rng.choice([0.5, 1, 2])))
        alarms += alarm(channel.randomize(values, rng), channel, ["smooth", "em"][run % 2])
    bench.table("Sound runs that are said not to fit", {"runs": "d", "alarms": "d", "limit, as a share": "g"})
    bench.row("all channels, people and sizes", bench.runs, alarms, FALSE_ALARM)
    if alarms:
        bench.fail("a sound run raised an alarm")
    bench.table("Mistakes seen in 20,000 reports", {"true answers": "s", "half the noise": "s", "twice the noise": "s"})
    for kind, make in CHANNELS.items():
        for people in PEOPLE if kind != "randomized response" else ["four of eight"]:
            values, channel = truth(kind, people, 20_000, rng), make(1)
            seen = [alarm(values, channel), *(alarm(make(noise).randomize(values, rng), channel) for noise in (0.5, 2))]
            bench.row(f"{kind}, {people}", *("yes" if one else "no" for one in seen))


if __name__ == "__main__":
    main(measure, seed=0, runs=200)
