"""CPU time to release a table against what scikit-learn needs to grow its pattern tree: at most 10 ×.

1,000,000 × 15 records, with --quick 100,000.
"""

import time

import numpy as np
from harness import Bench, main

import sfumato as sf
from sfumato.microdata.patterns.pattern import grow_c45, grow_tree


def people(n: int, seed: int) -> dict[str, np.ndarray]:
    """Fifteen attributes, a third of them integers; the class depends on four."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 15)), 3)
    X[:, 5:10] = np.rint(10 * X[:, 5:10])
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * X[:, 5] + 0.5 * rng.normal(size=n) > 0
    return {**{f"x{place}": column for place, column in enumerate(X.T)}, "class": y.astype(int)}


def seconds(task) -> float:
    start = time.process_time()
    task()
    return time.process_time() - start


def measure(bench: Bench) -> None:
    n = 100_000 if bench.quick else 1_000_000
    table = people(n, bench.seed)
    X = np.column_stack([table[f"x{place}"] for place in range(15)])
    growth = seconds(lambda: grow_tree(X, table["class"]))
    bench.table(f"{n:,} × 15 records", {"× growing the tree": ".1f", "limit": "g"})
    bench.row("C4.5's tree", seconds(lambda: grow_c45(X, table["class"])) / growth, None)
    for method in (sf.microdata.Donors(), sf.microdata.Gadp()):
        ratio = seconds(lambda method=method: sf.release(table, "class", method)) / growth
        bench.row(f"release, {method.name}", ratio, 10)


if __name__ == "__main__":
    main(measure, seed=0)
