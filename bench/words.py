"""Words that no list holds: which are found, by people and γ, beside the smallest share that can be told.

    python bench/words.py             n = 1e5, 1e6, 1e7, γ = e, 3, 19: some minutes
    python bench/words.py --quick     n = 1e5 and 1e6: a minute

Words: English ones with their true shares (package ``wordfreq``), surnames (``names``), or made up by Zipf's law where
neither is installed. Of words whose share is at least 1, 2 and 4 times what n people can show (*least*, that of a word
of the longest length, ``lowest_discoverable_share``): how many there are, and which part is found; precision: of those
found, how many somebody has; z: the standard deviation of (share − truth)/error over words that are always found.
*known list*: the smallest share that stands out as far if the list is known and everybody reports by it.

    --peer      PEM of pure-ldp (and bitstring<5) on the same people: twelve words of twelve bits
"""

from __future__ import annotations

import argparse
import gzip
import importlib.metadata
import time
from collections import Counter
from pathlib import Path

import msgspec
import numpy as np

import sfumato as sf

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def crowds() -> dict[str, dict[str, float]]:
    found = {}
    english, names = held("wordfreq", "wordfreq/data/small_en.msgpack.gz"), held("names", "names/dist.all.last")
    if english:
        _, *by_frequency = msgspec.msgpack.decode(gzip.decompress(english))  # lists of words, .01 decades apart
        words = {word: 10 ** (-place / 100) for place, some in enumerate(by_frequency) for word in some}
        found["English"] = {word: share for word, share in words.items() if set(word) <= set(LETTERS)}
    if names:
        rows = [line.split() for line in names.decode().splitlines()]
        found["surnames"] = {row[0].lower(): float(row[1]) for row in rows}
    if not found:
        rng = np.random.default_rng(1)
        made = ["".join(rng.choice(list(LETTERS), rng.integers(3, 10))) for _ in range(5_000)]
        found["Zipf"] = {word: 1 / (place + 3) for place, word in enumerate(made)}
    return {name: {word[:12]: one / sum(each.values()) for word, one in each.items()} for name, each in found.items()}


def held(package: str, path: str) -> bytes | None:
    try:
        return Path(str(importlib.metadata.distribution(package).locate_file(path))).read_bytes()
    except importlib.metadata.PackageNotFoundError:
        return None


def reports_of(words: sf.Words, shares: dict[str, float], n: int, rng: np.random.Generator) -> list[np.ndarray]:
    """How often each set is reported, by length: the true buckets by a multinomial, then each one's sets."""
    slices, found = words.buckets.slices, []
    people = rng.multinomial(n, np.full(len(words.lengths), 1 / len(words.lengths)))
    for length, count in zip(words.lengths, people.tolist(), strict=True):
        begun: Counter[int] = Counter()
        for word, share in shares.items():
            begun[words.bucket(words.padded(word)[:length])] += share
        mass = np.array(list(begun.values()))
        codes = np.repeat(list(begun), rng.multinomial(count, mass / mass.sum()))
        counts = np.zeros(slices.outputs)
        for block in np.array_split(codes, max(count // 1_000_000, 1)):
            counts += np.bincount(words.buckets.randomize(block, rng), minlength=counts.size)
        found.append(counts)
    return found


class Counted(sf.Words):
    """Words whose reports are counted already."""

    def counted(self, reports: list[np.ndarray]) -> list[np.ndarray]:
        return reports


def table(gamma: float, n: int, surveys: int, shares: dict[str, float], seed: int) -> None:
    words, rng = Counted(LETTERS, longest=12, gamma=gamma), np.random.default_rng([seed, n])
    least = words.lowest_discoverable_share(n)
    known = least / np.sqrt(len(words.lengths))
    hits: Counter[str] = Counter()
    false, scores = 0, []
    start = time.process_time()
    for _ in range(surveys):
        found = sf.frequent_words(reports_of(words, shares, n, rng), words)
        for row in found.itertuples(index=False):
            hits[row.word] += 1
            false += row.word not in shares
            if shares.get(row.word, 0) > 3 * least:
                scores.append((row.share - shares[row.word]) / row.stderr)
    parts = []
    for times in (1, 2, 4):
        there = [word for word, share in shares.items() if share >= times * least]
        recall = np.mean([hits[word] for word in there]) / surveys if there else float("nan")
        parts.append(f"{len(there):4} {recall:5.2f}")
    precision = 1 - false / max(sum(hits.values()), 1)
    z = f"{np.sqrt(np.mean(np.square(scores))):.2f}" if len(scores) > 5 else "–"
    spent = (time.process_time() - start) / surveys
    print(
        f"{n:12,}{gamma:6.2f}{100 * least:9.2f} %{100 * known:8.2f} %   {'   '.join(parts)}"
        f"{sum(hits.values()) / surveys:9.1f}{precision:8.3f}{z:>7}{spent:8.1f} s", flush=True,
    )  # fmt: skip


def beside_pem(n: int, seed: int) -> None:
    from pure_ldp.heavy_hitters.prefix_extending import PEMClient, PEMServer

    rng, gamma, letters = np.random.default_rng(seed), 19.0, "01"
    top = list(dict.fromkeys("".join(rng.choice(list(letters), 12)) for _ in range(30)))[:12]
    people = rng.choice(top, n).tolist()
    words = sf.Words(letters, longest=12, gamma=gamma)
    ours = set(sf.frequent_words(words.randomize(people, rng), words)["word"])
    how = {"epsilon": float(np.log(gamma)), "start_length": 4, "max_string_length": 12, "fragment_length": 4}
    client, server = PEMClient(**how), PEMServer(**how)
    for word in people:
        server.aggregate(client.privatise(word))
    theirs = set(server.find_heavy_hitters(k=len(top))[0])
    print(f"twelve words of {n:,} people: ours {len(ours & set(top))} and {len(ours - set(top))} false, "
          f"PEM {len(theirs & set(top))} and {len(theirs - set(top))} false")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--seed", type=int, default=51_000)
    chosen = parser.parse_args()
    if chosen.peer:
        for n in (1_000, 2_000, 4_000, 8_000):
            beside_pem(n, chosen.seed)
        return
    heads = "there, found from 1 ×      2 ×          4 ×    found  precision   z   CPU"
    print(f"{'n':>12}{'γ':>6}{'least':>11}{'known list':>11}   {heads}")
    for name, shares in crowds().items():
        print(f"{name}: {len(shares):,} words, the most frequent {100 * max(shares.values()):.1f} %")
        for n in [100_000, 1_000_000] if chosen.quick else [100_000, 1_000_000, 10_000_000]:
            for gamma in (float(np.e), 3.0, 19.0):
                table(gamma, n, 2 if chosen.quick else 5, shares, chosen.seed)


if __name__ == "__main__":
    main()
