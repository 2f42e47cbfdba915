"""Many categories: error of their shares beside the best that is known, errors of sums, time and memory.

    python bench/categories.py            d = 16 … 10,000, n = 1e5 and 1e6, γ = e, 3, 19: some minutes
    python bench/categories.py --quick    n = 1e5, fewer surveys: a minute

People are spread by Zipf's law. The channel is the one that ``advise`` proposes: randomized response below 3γ + 2
categories, sets from there on. Mean squared error of the unbiased shares, relative to the formula of subset selection
at its best size k for the same people, n·Var p̂_x = h_x(1 − h_x)/(p − q)², h_x = f_x·p + (1 − f_x)·q. Peers that are
installed (pure-ldp) run on the same people. z: (estimated sum of the k largest − the truth)/its stated error, whose
standard deviation is 1 where errors are calibrated.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable

import numpy as np

import sfumato as sf
from sfumato.channels.bounded.subsets import sets_serve_better

E = float(np.e)
TOPS = (1, 5, 20)


def zipf(categories: int) -> np.ndarray:
    weights = 1.0 / np.arange(1, categories + 1) ** 1.1
    return weights / weights.sum()


def channel_of(categories: int, gamma: float) -> sf.Channel:
    kind = sf.SubsetResponse if sets_serve_better(categories, gamma) else sf.RandomizedResponse
    return kind(sf.Categories(range(categories)), gamma=gamma)


def best_known(shares: np.ndarray, gamma: float) -> float:
    """n times the mean variance of subset selection, at the size of set that makes it smallest."""
    d, found = shares.size, []
    for k in np.unique(np.clip(np.rint(d / (gamma + 1) * np.geomspace(0.3, 3, 60)), 1, d - 1)):
        p = gamma * k / (gamma * k + d - k)
        q = (p * (k - 1) + (1 - p) * k) / (d - 1)
        h = shares * p + (1 - shares) * q
        found.append(np.mean(h * (1 - h)) / (p - q) ** 2)
    return min(found)


def survey(channel: sf.Channel, shares: np.ndarray, n: int, rng: np.random.Generator) -> tuple[float, list[float]]:
    """Mean squared error, and z of the sums of the largest."""
    people = rng.choice(shares.size, n, p=shares)
    estimate = sf.reconstruct(channel.randomize(people, rng), channel, method="inverse")
    off = []
    for top in (top for top in TOPS if top < shares.size):
        chosen = np.arange(shares.size) < top
        error = float(np.sqrt(chosen.astype(float) @ estimate.covariance @ chosen.astype(float)))
        off.append((float(estimate.probabilities[chosen].sum()) - shares[:top].sum()) / error)
    return float(np.mean((estimate.probabilities - shares) ** 2)), off


def peers(categories: int, gamma: float) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    try:
        from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
        from pure_ldp.frequency_oracles.optimal_unary_encoding import UEClient, UEServer
    except ImportError:
        return {}
    epsilon = float(np.log(gamma))

    def run(client: object, server: object) -> Callable[[np.ndarray], np.ndarray]:
        def estimate(people: np.ndarray) -> np.ndarray:
            for value in people:
                server.aggregate(client.privatise(int(value) + 1))
            return np.asarray(server.estimate_all(range(1, categories + 1))) / people.size

        return estimate

    unary = {"epsilon": epsilon, "d": categories, "use_oue": True}
    hashing = {"epsilon": epsilon, "d": categories, "use_olh": True}
    return {"OUE": run(UEClient(**unary), UEServer(**unary)), "OLH": run(LHClient(**hashing), LHServer(**hashing))}


def accuracy(sizes: list[int], people: list[int], surveys: int, seed: int) -> None:
    print(f"{'d':>7}{'n':>9}{'γ':>6}  {'channel':20}{'error ÷ best known':>19}   z of sums of the largest {TOPS}: sd")
    for d in sizes:
        shares = zipf(d)
        for gamma in (E, 3.0, 19.0):
            channel = channel_of(d, gamma)
            for n in people:
                rng = np.random.default_rng([seed, d, n])
                runs = [survey(channel, shares, n, rng) for _ in range(surveys if d > 128 else 5 * surveys)]
                error = np.mean([one for one, _ in runs]) * n / best_known(shares, gamma)
                spread = np.sqrt(np.mean(np.square([off for _, off in runs]), axis=0))
                line = "  ".join(f"{each:.2f}" for each in spread)
                print(f"{d:7,}{n:9,}{gamma:6.2f}  {channel.kind:20}{error:19.3f}   {line}", flush=True)
                for name, estimate in peers(d, gamma).items() if n <= 100_000 and d <= 1_024 else ():
                    crowd = np.random.default_rng([seed, d, n]).choice(d, n, p=shares)
                    theirs = np.mean((estimate(crowd) - shares) ** 2) * n / best_known(shares, gamma)
                    print(f"{'':24}{name:20}{theirs:17.3f}", flush=True)


def cost(categories: int, n: int) -> None:
    """Reconstruction beside counting, and decoding beside a loop over blocks in NumPy."""
    channel = sf.SubsetResponse(sf.Categories(range(categories)), gamma=19)
    reports = channel.randomize(np.random.default_rng(1).choice(categories, n, p=zipf(categories)), 1)
    counts = sf.Counts.of(reports, channel)
    start = time.process_time()
    sf.reconstruct(counts)
    ours = time.process_time() - start
    if categories > 1_024:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{categories:,} categories: reconstruct {ours:.3f} s of CPU, peak of this process {peak:,.0f} MiB")
        return
    start = time.process_time()
    by_codes = sf.Counts.of(reports, channel).levels[None].histogram[0]
    channel.slices.held_by(by_codes)
    ours = time.process_time() - start
    held, codes = np.zeros(categories), channel.encode_reports(reports)
    start = time.process_time()
    for block in np.array_split(codes, -(-n // 4_096)):
        own = channel.slices.slice_of(np.arange(categories), (block // channel.slices.prime)[:, None])
        held += (own == (block % channel.slices.prime)[:, None]).sum(axis=0)
    theirs = time.process_time() - start
    same = np.allclose(held, channel.slices.held_by(by_codes))
    print(f"decoding {n:,} reports of {categories:,} categories ÷ NumPy by blocks: {ours / theirs:.4f}, equal: {same}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seed", type=int, default=31_000)
    chosen = parser.parse_args()
    people, surveys = ([100_000], 6) if chosen.quick else ([100_000, 1_000_000], 30)
    accuracy([16, 128, 1_024, 10_000], people, surveys, chosen.seed)
    for categories in (1_024, 10_000, 100_000):
        cost(categories, 100_000 if chosen.quick else 1_000_000)


if __name__ == "__main__":
    main()
