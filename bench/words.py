"""Words that no list holds: which are found, by people and γ, beside the smallest share that can be told.

n = 1e5, 1e6, 1e7 (with --quick only the first), γ = e, 3, 19. A run is a survey.

Words: English ones with their true shares (package ``wordfreq``), surnames (``names``), or made up by Zipf's law where
neither is installed. Of words whose share is at least 1, 2 and 4 times what n people can show (*least*, that of a word
of the longest length, ``lowest_discoverable_share``): how many there are, and which part is found; precision: of those
found, how many somebody has; z: the standard deviation of (share − truth)/error over words that are always found.
*known list*: the smallest share that stands out as far if the list is known and everybody reports by it.

    --peer      PEM of pure-ldp (and bitstring<5) on the same people: twelve words of twelve bits
"""

from __future__ import annotations

import gzip
import importlib.metadata
import time
from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
from harness import Bench, main

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
            begun[words.bucket(words.pad(word)[:length])] += share
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


def figures(gamma: float, n: int, surveys: int, shares: dict[str, float], seed: int) -> list[float | None]:
    """The cells of one row."""
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
    parts: list[float | None] = []
    for times in (1, 2, 4):
        there = [word for word, share in shares.items() if share >= times * least]
        parts += [len(there), np.mean([hits[word] for word in there]) / surveys if there else None]
    precision = 1 - false / max(sum(hits.values()), 1)
    z = float(np.sqrt(np.mean(np.square(scores)))) if len(scores) > 5 else None
    spent = (time.process_time() - start) / surveys
    return [least, known, *parts, sum(hits.values()) / surveys, precision, z, spent]


def beside_pem(n: int, seed: int) -> list[int]:
    """How many of twelve words are found and how many others, by us and by PEM."""
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
    return [len(ours & set(top)), len(ours - set(top)), len(theirs & set(top)), len(theirs - set(top))]


def measure(bench: Bench) -> None:
    if bench.options.peer:
        bench.table("Twelve words", {"ours": "d", "and false": "d", "PEM": "d", "and false ones": "d"})
        for n in (1_000, 2_000, 4_000, 8_000):
            bench.row(f"{n:,} people", *beside_pem(n, bench.seed))
        return
    steps = {f"{head} {times} ×": form for times in (1, 2, 4) for head, form in (("there", "d"), ("found", ".2f"))}
    heads = {"least": ".2%", "known list": ".2%", **steps}
    heads |= {"all found": ".1f", "precision": ".3f", "z": ".2f", "s of CPU": ".1f"}
    for name, shares in crowds().items():
        if not bench.wants(name):
            continue
        bench.table(f"{name}: {len(shares):,} words, the most frequent {100 * max(shares.values()):.1f} %", heads)
        for n in [100_000] if bench.quick else [100_000, 1_000_000, 10_000_000]:
            for gamma in (float(np.e), 3.0, 19.0):
                bench.row(f"{n:,} people, γ = {gamma:.3g}", *figures(gamma, n, bench.runs, shares, bench.seed))


if __name__ == "__main__":
    main(measure, seed=51_000, runs=5, options=lambda parser: parser.add_argument("--peer", action="store_true"))
