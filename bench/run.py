"""Run the measurements: every script beside this one, or those whose name contains a word given.

    python bench/run.py                  all of them
    python bench/run.py reconstruction   those about reconstruction

Each script prints a table of ratios: ours against a named baseline, in the same run on the same machine.
"""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ONE_THREAD = {name: "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")}


def scripts(words: list[str]) -> list[Path]:
    found = [path for path in sorted(HERE.glob("*.py")) if path.name != "run.py" and not path.name.startswith("_")]
    return [path for path in found if not words or any(word in path.stem for word in words)]


def main(words: list[str]) -> int:
    chosen = scripts(words)
    if not chosen:
        print(f"no script in bench/ is named like {' or '.join(words)}", file=sys.stderr)
        return 2
    failed = []
    for path in chosen:
        print(f"\n== {path.stem.replace('_', ' ')}", flush=True)
        if subprocess.run([sys.executable, path], env=ONE_THREAD | dict(os.environ)).returncode:
            failed.append(path.stem)
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
