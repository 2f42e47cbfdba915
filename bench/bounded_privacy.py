"""Trees from reports with a bounded γ, beside a tree of the central model (diffprivlib at ε = ln 19).

The two privacy models differ and both are stated. diffprivlib's tree trusts its owner with all true records and
protects what the finished model gives away, with ε = ln 19 for a whole record (its accuracies here are ones measured
before, not in this run). Ours trusts nobody with a true record: each of the nine attributes is reported through
SquareWave or RandomizedResponse with its own γ, and one person's nine reports together have the product of them.
The class is sent in the clear, as in AS00; diffprivlib protects it too.

    python bench/bounded_privacy.py [γ of each attribute, 19] [runs, 3]
"""

import math
import sys

import numpy as np
import pandas as pd

import sfumato as sf
from reproductions.agrawal import DOMAINS, generate

CENTRAL = {1: 0.68, 2: 0.62, 3: 0.69, 4: 0.78, 5: 0.77}
CATEGORIES = ("elevel", "car", "zipcode")
RECORDS, TESTED = 100_000, 5_000


def channels(gamma: float) -> dict[str, sf.Channel]:
    found: dict[str, sf.Channel] = {}
    for name, domain in DOMAINS.items():
        if name in CATEGORIES:
            labels = range(int(domain.low), int(domain.high) + 1)
            found[name] = sf.RandomizedResponse(sf.Categories(labels), gamma=gamma)
        else:
            found[name] = sf.SquareWave(domain, gamma=gamma)
    return found


def accuracy(function: int, gamma: float, seed: int) -> float:
    rng = np.random.default_rng(seed)
    chosen = channels(gamma)
    people, group = generate(RECORDS, function, rng)
    reports = pd.DataFrame({name: chosen[name].randomize(values, rng=rng) for name, values in people.items()})
    others, truth = generate(TESTED, function, rng)
    tree = sf.TreeClassifier(chosen, random_state=seed).fit(reports, group)
    return float((tree.predict(pd.DataFrame(others)) == truth).mean())


def main(gamma: float = 19.0, runs: int = 3) -> None:
    total = gamma ** len(DOMAINS)
    print(
        f"each attribute γ = {gamma:g}; one person's nine reports together γ = {total:.3g}, ε = {math.log(total):.1f}"
    )
    print("the class itself is sent in the clear")
    print(f"{'function':10}{'diffprivlib, ε = ln 19, central':>34}{'ours, nobody holds a true record':>36}{'ahead':>8}")
    for function, central in CENTRAL.items():
        ours = float(np.mean([accuracy(function, gamma, 900 + 10 * function + run) for run in range(runs)]))
        print(f"F{function:<9}{central:34.3f}{ours:36.3f}{ours - central:8.3f}", flush=True)


if __name__ == "__main__":
    main(*(kind(word) for kind, word in zip((float, int), sys.argv[1:], strict=False)))
