"""Time until something can be done: `import sfumato`, and `sfumato --version` against `import numpy`.

1. import sfumato, beyond numpy and scipy   at most 0.3 s
2. sfumato --version                        at most 2 × the time of python -c "import numpy"
"""

import subprocess
import sys
import time

RUNS = 7
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


def fastest(measure, *words: str) -> float:
    measure(*words)  # the first run writes byte code
    return min(measure(*words) for _ in range(RUNS))


if __name__ == "__main__":
    print(f"import sfumato, beyond numpy and scipy: {fastest(inside):.3f} s (limit 0.3 s)")
    numpy, version = fastest(whole, "-c", "import numpy"), fastest(whole, "-m", "sfumato.cli", "--version")
    print(f"sfumato --version: {version / numpy:.2f} × import numpy (limit 2)")
