"""Baskets: pair counts against pyfim and BLAS, seeds against plain reports, accuracy and memory on a million people.

1. All pair counts of 100,000 dense randomized baskets over 1,000 items: at most 0.12 times pyfim's apriori on the same
   rows and at most 0.15 times a BLAS product (single precision).
2. Expanding seeds into bitmaps: at most 3 times the time of drawing the plain bitmaps of the same baskets.
3. A million Quest-like baskets (sizes 5 to 10, gamma 19): F1 of frequent 1-, 2-, 3-itemsets at 4 %, at least
   .97 / .95 / .94 (mean of three), and less than 1 GiB.
4. A million bitmaps and seeds in a Parquet file, itemsets of one and two: counted in batches at most 1.3 (bitmaps)
   and 1.5 (seeds) times the time of reading them into memory and counting there, on one thread; and sixteen million
   in at most 1.1 times the memory.
5. Clean sparse baskets, as lists, itemsets of up to three: at most 1.5 times the fastest of pyfim's apriori, eclat and
   fpgrowth (CPU time, all on the same lists, the median of interleaved runs), with the same itemsets.
6. Below the lowest discoverable support: precision at least .95.

Parts: pairs, seeds, accuracy, batches, clean, below; with --quick the first two.
"""

import re
import resource
import statistics
import tempfile
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from harness import Bench, main
from pyarrow import parquet

import sfumato as sf
from reproductions.quest import Quest
from sfumato.channels.baskets import BasketReports, Goal, design_law, unpack_bits
from sfumato.channels.baskets.program import within
from sfumato.cli.itemsets import report_table
from sfumato.itemsets.supports import ColumnBitmaps


def seconds(call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def pair_counts(bench: Bench, people: int = 100_000) -> None:
    channel = sf.SelectASize.design(sf.Items(1000), sizes=[5], gamma=19)
    reports = channel.randomize(five_items(people, 1), rng=1)
    columns = ColumnBitmaps.of_reports(reports, channel)
    dense = unpack_bits(reports.words, 1000).astype(np.float32)
    pairs = np.column_stack(np.triu_indices(1000, 1))
    columns.counts(pairs[:9]), dense[:64].T @ dense[:64]

    def ours() -> None:
        ColumnBitmaps.of_reports(reports, channel).counts(pairs)

    ratios = [seconds(partial(columns.counts, pairs)) / seconds(lambda: dense.T @ dense) for _ in range(7)]
    bench.row("all pair counts / BLAS product", statistics.median(ratios), 0.15)
    bench.row("from row bitmaps, transposed first", seconds(ours) / seconds(lambda: dense.T @ dense), None)
    try:
        import fim
    except ImportError:
        print("pyfim is not installed: its ratio is left out")
        return
    rows = [np.flatnonzero(row).tolist() for row in dense]
    peer = seconds(lambda: fim.apriori(rows, supp=0, zmax=2))
    bench.row("all pair counts / pyfim apriori", seconds(ours) / peer, 0.12)


def clean_baskets(bench: Bench, rounds: int = 7) -> None:
    try:
        import fim
    except ImportError:
        print("pyfim is not installed: clean baskets are left out")
        return
    quest = Quest().baskets(100_000, 11).to_lists()
    crowded = Quest(patterns=500, per_basket=3, largest=15).baskets(100_000, 12).to_lists()
    shop, shelf = zipf_baskets(88_000, 16_000, 10, 1.0, 13), zipf_baskets(500_000, 2_000, 5, 0.8, 14)
    named = [[f"item {code}" for code in row] for row in zipf_baskets(50_000, 5_000, 8, 1.0, 15)]
    cases = {
        "100,000 of 5-10 out of 1,000": (quest, (0.01, 0.001)),
        "100,000 of 5-15 out of 1,000, 500 patterns": (crowded, (0.01, 0.002)),
        "88,000 of about 10 out of 16,000, Zipf": (shop, (0.01, 0.001)),
        "500,000 of about 5 out of 2,000, Zipf": (shelf, (0.005, 0.0005)),
        "50,000 of about 8 out of 5,000 texts, Zipf": (named, (0.01, 0.002)),
        "20,000 of about 20 out of 300 (denser)": (zipf_baskets(20_000, 300, 20, 0.6, 16), (0.05, 0.02)),
    }
    for name, (baskets, supports) in cases.items():
        for support in supports:
            ways = [partial(sf.frequent_itemsets, baskets, None, support)]
            ways += [
                partial(way, baskets, supp=100 * support, zmin=1, zmax=3, report="a")
                for way in (fim.apriori, fim.eclat, fim.fpgrowth)
            ]
            found = ways[0]()
            theirs = {frozenset(items): count / len(baskets) for items, count in ways[1]()}
            assert theirs == dict(zip(found["itemsets"], found["support"], strict=True))
            taken = np.median([[cpu_seconds(way) for way in ways] for _ in range(rounds)], axis=0)
            bench.row(f"{name}, {support:.2%}: {len(theirs):,} found", taken[0] / taken[1:].min(), 1.5)


def below_the_limit(bench: Bench, people: int = 100_000, runs: int = 5) -> None:
    """A minimum support far below the lowest discoverable one: is what is shown true, is what can be found shown?"""
    channel = sf.SelectASize.design(sf.Items(1000), sizes=range(5, 11), gamma=19, n=people, prevalence=0.1)
    lowest = channel.lowest_discoverable_support(people, prevalence=0.1)
    shown = right = strong = found_strong = 0
    took = 0.0
    for run in range(runs):
        baskets = Quest().baskets(people, rng=200 + run)
        truth = sf.frequent_itemsets(baskets, None, 0.005)
        true = dict(zip(truth["itemsets"], truth["support"], strict=True))
        reports = channel.randomize(baskets, rng=run)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.process_time()
            found = set(sf.frequent_itemsets(reports, channel, 0.005)["itemsets"])
            took += time.process_time() - start
        shown, right = shown + len(found), right + sum(itemset in true for itemset in found)
        seen = [itemset in found for itemset, support in true.items() if support >= 1.5 * lowest[len(itemset)]]
        strong, found_strong = strong + len(seen), found_strong + sum(seen)
    limits = ", ".join(f"{support:.1%}" for support in lowest.values())
    bench.row(f"precision at 0.5 %, limits {limits}", right / max(shown, 1), "≥ .95")
    bench.row("recall of supports from 1.5 times the limit on", found_strong / max(strong, 1), None)
    bench.row("CPU seconds a run", took / runs, None)


def zipf_baskets(people: int, items: int, mean: float, power: float, seed: int) -> list[list[int]]:
    """Baskets of 1 + Poisson(mean) draws, item i with weight 1/i^power, repeats dropped."""
    rng = np.random.default_rng(seed)
    weights = np.cumsum(np.arange(1.0, items + 1) ** -power)
    ends = np.cumsum(1 + rng.poisson(mean, people))
    drawn = np.searchsorted(weights / weights[-1], rng.random(ends[-1]))
    return [sorted(set(row.tolist())) for row in np.split(drawn, ends[:-1])]


def cpu_seconds(call) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def five_items(people: int, seed: int) -> sf.channels.baskets.Baskets:
    return Quest(smallest=5, largest=5).baskets(people, seed)


def seed_expansion(bench: Bench, people: int = 200_000) -> None:
    for sizes in ([5], [10]):
        for form in ("best", "two-level"):
            law = within(design_law(sizes[0], Goal(19.0, 3, 5e6), form=form), Fraction(19))
            channel = sf.SelectASize(sf.Items(1000), [law])
            baskets = Quest(smallest=sizes[0], largest=sizes[0]).baskets(people, 2)
            seeds = channel.randomize(baskets, compress=True)
            channel.expand(seeds[:10])
            ratios = [
                seconds(partial(channel.expand, seeds)) / seconds(partial(channel.randomize, baskets)) for _ in range(3)
            ]
            name = f"seeds / plain reports (m = {sizes[0]}, {form}, {channel.seed_bits[sizes[0]]} bits)"
            bench.row(name, statistics.median(ratios), 3)


def accuracy(bench: Bench, people: int = 1_000_000, runs: int = 3) -> None:
    channel = sf.SelectASize.design(sf.Items(1000), sizes=range(5, 11), gamma=19, n=people, prevalence=0.1)
    scores = []
    for run in range(runs):
        baskets = Quest().baskets(people, rng=100 + run)
        reports = channel.randomize(baskets, rng=run)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = sf.frequent_itemsets(reports, channel, 0.04)["itemsets"]
        del reports
        truth = sf.frequent_itemsets(baskets, None, 0.04)["itemsets"]
        scores.append([f1({s for s in found if len(s) == k}, {s for s in truth if len(s) == k}) for k in (1, 2, 3)])
    for k, (score, limit) in enumerate(zip(np.mean(scores, axis=0), (0.97, 0.95, 0.94), strict=True), 1):
        bench.row(f"F1 of frequent {k}-itemsets, {people:,} people", score, f"≥ {limit}")
    bench.row("memory, GiB", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 1)


def in_batches(bench: Bench, people: int = 1_000_000) -> None:
    channel = sf.SelectASize.design(sf.Items(1000), sizes=range(5, 11), gamma=19, n=people, prevalence=0.1)
    baskets = Quest().baskets(people, rng=100)
    with tempfile.TemporaryDirectory() as folder:
        for form, limit in (("bitmap", 1.3), ("seed", 1.5)):
            path = Path(folder) / f"{form}.parquet"
            parquet.write_table(report_table(channel.randomize(baskets, rng=1, compress=form == "seed"), channel), path)
            ways = [partial(way, channel, path, form) for way in (mined_in_batches, mined_in_memory)]
            assert ways[0]().equals(ways[1]())
            ratios = [seconds(ways[0]) / seconds(ways[1]) for _ in range(5)]
            bench.row(f"{form}s in a file, in batches / in memory", statistics.median(ratios), limit)
            one, many = (alone(peak_memory, channel, [path] * files, form) for files in (1, 16))
            bench.row(f"memory for {16 * people:,} {form}s / for {people:,}", many / one, 1.1)


def mined_in_memory(channel: sf.SelectASize, path: Path, form: str):
    table = parquet.read_table(path, use_threads=False)
    reports = BasketReports.of_arrow(channel.items, table["size"], table[form], form == "seed")
    return mined(reports, channel)


def mined_in_batches(channel: sf.SelectASize, path: Path | list[Path], form: str):
    return mined(sf.Reports(path), channel)


def mined(reports: BasketReports | sf.Reports, channel: sf.SelectASize):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sf.frequent_itemsets(reports, channel, 0.04, max_len=2)


def peak_memory(*arguments) -> int:
    mined_in_batches(*arguments)
    peak = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())  # ru_maxrss begins with the parent's
    return int(peak[1])


def alone(call, *arguments):
    """In a process of its own, so that the peak is its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(call, *arguments).result()


def f1(found: set, truth: set) -> float:
    return 2 * len(found & truth) / max(len(found) + len(truth), 1)


PARTS = {
    "pairs": pair_counts, "seeds": seed_expansion, "accuracy": accuracy, "batches": in_batches,
    "clean": clean_baskets, "below": below_the_limit,
}  # fmt: skip


def measure(bench: Bench) -> None:
    for name in ("pairs", "seeds") if bench.quick and not bench.only else PARTS:
        if bench.wants(name):
            bench.table(name.capitalize(), {"figure": ".3f", "limit": "g"})
            PARTS[name](bench)


if __name__ == "__main__":
    main(measure)
