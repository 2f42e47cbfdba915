"""Ten thousand models and three thousand plans, each changed at random: none may crash, hang or fill the memory.
"""

import json
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from harness import Bench, main

from tests.hostile import FOR_PLANS, PLANS, complaint, documents, little_memory, mutated, use_model, use_plan


def models(count: int, folder: Path, seed: int) -> Counter[str]:
    found: Counter[str] = Counter()
    given, rng = list(documents(folder).items()), np.random.default_rng(seed)
    for place in range(count):
        method, (document, table) = given[place % len(given)]
        (folder / "hostile.json").write_text(json.dumps(mutated(document, rng)))
        wrong = complaint(lambda table=table: use_model(folder / "hostile.json", table))
        if wrong:
            found[f"{method}: {wrong}"] += 1
    return found


def plans(count: int, seed: int) -> Counter[str]:
    found: Counter[str] = Counter()
    rng = np.random.default_rng(seed + 1)
    for place in range(count):
        spec = mutated(PLANS[place % len(PLANS)], rng)
        started = time.perf_counter()
        wrong = complaint(lambda spec=spec: use_plan(spec), FOR_PLANS)
        if wrong:
            found[wrong] += 1
            print(f"  {wrong}\n    {json.dumps(spec)[:400]}", flush=True)
        if time.perf_counter() - started > 10:
            print(f"  slow {time.perf_counter() - started:.1f} s: {json.dumps(spec)[:400]}", flush=True)
    return found


def measure(bench: Bench) -> None:
    counts = {"models": bench.runs, "plans": max(1, 3 * bench.runs // 10)}
    with tempfile.TemporaryDirectory() as folder, little_memory():
        found = {"models": models(counts["models"], Path(folder), bench.seed)}
        found["plans"] = plans(counts["plans"], bench.seed)
    bench.table("Changed at random", {"tried": "d", "not tame": "d"})
    for what, complaints in found.items():
        bench.row(what, counts[what], sum(complaints.values()))
        for text, times in complaints.most_common(40):
            bench.fail(f"{times} {what}: {text}")


if __name__ == "__main__":
    main(measure, runs=10_000)
