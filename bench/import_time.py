"""Time of `import sfumato` beyond numpy and scipy: at most 0.3 s."""

import subprocess
import sys

PROGRAM = """
import time
import numpy, scipy.special
start = time.perf_counter()
import sfumato
print(time.perf_counter() - start)
"""


def seconds() -> float:
    return float(subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout)


if __name__ == "__main__":
    seconds()  # the first run writes byte code
    print(f"import sfumato, beyond numpy and scipy: {min(seconds() for _ in range(5)):.3f} s (limit 0.3 s)")
