"""Does the time of an answer tell its outcome? A classifier sees the times of 20,000 single calls a channel.

Half of the calls train it, the other half judge it: balanced accuracy, 50 % is a coin, the limit is 55 %.
"""

import time

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import balanced_accuracy_score

import sfumato as sf

CALLS = 20_000
LIMIT = 0.55
AGE, COLOURS = sf.Interval(20, 80), sf.Categories(["red", "green", "blue"])
GAUSSIAN = sf.Gaussian(AGE, privacy=1.0)
CHANNELS = {
    "randomized response, γ = 3": sf.RandomizedResponse(COLOURS, gamma=3),
    "randomized response, 1000 categories": sf.RandomizedResponse(sf.Categories(range(1000)), keep=0.5),
    "square wave": sf.SquareWave(AGE, gamma=9),
    "gaussian": GAUSSIAN,
    "laplace": sf.Laplace(AGE, scale=15),
    "uniform": sf.Uniform(AGE, privacy=1.0),
    "tabulated": sf.Tabulated(COLOURS, np.full((3, 3), 0.15) + 0.55 * np.eye(3)),
    "two-phase": sf.TwoPhase(GAUSSIAN, {"normal": 200}).level("normal"),
    "chain": sf.RandomizedResponse(COLOURS, gamma=9) >> sf.RandomizedResponse(COLOURS, gamma=9),
}
BASKETS = sf.SelectASize.design(sf.Items(100), sizes=[3], gamma=19, up_to=2)


def timed(call) -> tuple[int, object]:
    start = time.perf_counter_ns()
    found = call()
    return time.perf_counter_ns() - start, found


def told(times: np.ndarray, outcome: np.ndarray) -> float:
    """Balanced accuracy of the outcome told from the time."""
    half = times.size // 2
    model = HistGradientBoostingClassifier(max_iter=60, class_weight="balanced", random_state=0)
    model.fit(times[:half, None], outcome[:half])
    return balanced_accuracy_score(outcome[half:], model.predict(times[half:, None]))


def of_channel(channel: sf.Channel, rng: np.random.Generator) -> dict[str, float]:
    values = channel.inputs.decode(rng.integers(0, channel.inputs.size, CALLS)).tolist()
    pairs = [timed(lambda value=value: channel.randomize(value)) for value in values]
    times = np.array([pair[0] for pair in pairs], dtype=float)
    if isinstance(channel.domain, sf.Categories):
        kept = np.array([report == value for (_, report), value in zip(pairs, values, strict=True)])
    else:
        off = np.array([abs(report - value) for (_, report), value in zip(pairs, values, strict=True)])
        kept = off <= np.median(off)
    upper = channel.encode(np.array(values)) >= channel.inputs.size // 2
    return {"outcome": told(times, kept), "value": told(times, upper)}


def of_baskets(rng: np.random.Generator, compress: bool) -> dict[str, float]:
    baskets = [sorted(rng.choice(100, 3, replace=False).tolist()) for _ in range(CALLS // 10)]
    pairs = [timed(lambda basket=basket: BASKETS.randomize([basket], compress=compress)) for basket in baskets]
    times = np.array([pair[0] for pair in pairs], dtype=float)
    shown = [BASKETS.expand(report).to_lists()[0] for _, report in pairs]
    kept = np.array([len(set(one) & set(basket)) for one, basket in zip(shown, baskets, strict=True)])
    return {"outcome": told(times, kept >= 2)}


if __name__ == "__main__":
    rng = np.random.default_rng(3)
    print(f"{'balanced accuracy of a guess from the time':44}{'outcome':>10}{'value':>10}{'limit':>8}")
    rows = {name: of_channel(channel, rng) for name, channel in CHANNELS.items()}
    rows |= {f"select-a-size{' as seeds' if seeds else ''}": of_baskets(rng, seeds) for seeds in (False, True)}
    for name, row in rows.items():
        shown = "".join(f"{row[key]:10.3f}" if key in row else f"{'':10}" for key in ("outcome", "value"))
        print(f"{name:44}{shown}{LIMIT:8}")
