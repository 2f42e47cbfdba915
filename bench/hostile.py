"""Ten thousand models and three thousand plans, each changed at random: none may crash, hang or fill the memory.

    python bench/hostile.py [models] [plans]
"""

import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.hostile import FOR_PLANS, PLANS, complaint, documents, little_memory, mutated, use_model, use_plan


def models(count: int, folder: Path) -> Counter[str]:
    found: Counter[str] = Counter()
    given, rng = list(documents(folder).items()), np.random.default_rng(1)
    for place in range(count):
        method, (document, table) = given[place % len(given)]
        (folder / "hostile.json").write_text(json.dumps(mutated(document, rng)))
        wrong = complaint(lambda table=table: use_model(folder / "hostile.json", table))
        if wrong:
            found[f"{method}: {wrong}"] += 1
    return found


def plans(count: int) -> Counter[str]:
    found: Counter[str] = Counter()
    rng = np.random.default_rng(2)
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


def main() -> int:
    wanted = [int(word) for word in sys.argv[1:]] or [10_000, 3_000]
    with tempfile.TemporaryDirectory() as folder, little_memory():
        results = {"models": models(wanted[0], Path(folder)), "plans": plans(wanted[1] if len(wanted) > 1 else 3_000)}
    for (what, found), count in zip(results.items(), wanted, strict=False):
        print(f"{count:,} {what} changed at random: {sum(found.values())} not tame")
        for text, times in found.most_common(40):
            print(f"  {times:4d} {text}")
    return int(any(results.values()))


if __name__ == "__main__":
    sys.exit(main())
