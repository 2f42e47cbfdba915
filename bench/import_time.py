"""Time until something can be done: `import sfumato`, and `sfumato --version` against `import numpy`.

1. import sfumato, beyond numpy and scipy   at most 0.3 s
2. sfumato --version                        at most 2 × the time of python -c "import numpy"
"""

import subprocess
import sys
import time

from harness import Bench, main

FEWEST = 7
INSIDE = """
import time
import numpy, scipy.special
start = time.perf_counter()
import sfumato
sfumato.Gaussian
print(time.perf_counter() - start)
"""


def inside() -> float:
    """Seconds that `import sfumato` and a channel take after numpy and scipy."""
    return float(subprocess.run([sys.executable, "-c", INSIDE], capture_output=True, text=True, check=True).stdout)


def whole(*words: str) -> float:
    """Seconds of a whole process."""
    start = time.perf_counter()
    subprocess.run([sys.executable, *words], capture_output=True, check=True)
    return time.perf_counter() - start


def fastest(timed, runs: int, *words: str) -> float:
    timed(*words)  # the first run writes byte code
    return min(timed(*words) for _ in range(runs))


def measure(bench: Bench) -> None:
    runs = max(bench.runs, FEWEST)
    bench.table("Time to begin", {"measured": ".3f", "limit": "g"})
    bench.row("import sfumato, beyond numpy and scipy, s", fastest(inside, runs), 0.3)
    numpy = fastest(whole, runs, "-c", "import numpy")
    version = fastest(whole, runs, "-m", "sfumato.cli", "--version")
    bench.row("sfumato --version / import numpy", version / numpy, 2)


if __name__ == "__main__":
    main(measure, runs=7)
