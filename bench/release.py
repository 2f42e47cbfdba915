"""CPU time to release a table against what scikit-learn needs to grow its pattern tree: at most 10 ×.

python bench/release.py             1,000,000 × 15 records; takes minutes
python bench/release.py 100000      fewer records
"""

import sys
import time

import numpy as np

import sfumato as sf
from sfumato.microdata.patterns.pattern import grow_c45, grow_tree


def people(n: int) -> dict[str, np.ndarray]:
    """Fifteen attributes, a third of them integers; the class depends on four."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(n, 15)), 3)
    X[:, 5:10] = np.rint(10 * X[:, 5:10])
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * X[:, 5] + 0.5 * rng.normal(size=n) > 0
    return {**{f"x{place}": column for place, column in enumerate(X.T)}, "class": y.astype(int)}


def seconds(task) -> float:
    start = time.process_time()
    task()
    return time.process_time() - start


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    table = people(n)
    X = np.column_stack([table[f"x{place}"] for place in range(15)])
    growth = seconds(lambda: grow_tree(X, table["class"]))
    print(f"{n:,} × 15 records; growing the pattern tree takes 1 ×")
    print(f"  C4.5's tree        {seconds(lambda: grow_c45(X, table['class'])) / growth:5.1f} ×")
    for method in (sf.microdata.Donors(), sf.microdata.Gadp()):
        ratio = seconds(lambda method=method: sf.release(table, "class", method)) / growth
        print(f"  release, {method.name:9} {ratio:5.1f} × (limit 10 ×)")
