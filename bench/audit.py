"""The audit itself: is every broken implementation caught at default settings, how fast, and does a sound one pass?

    python bench/audit.py              the broken ones, and each sound mechanism once
    python bench/audit.py --runs 200   the broken ones, and 200 sound runs in turn
    python bench/audit.py --only bits  only those with this word in their name
"""

import argparse
import sys
import time
from itertools import cycle, islice
from pathlib import Path

import sfumato as sf

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.privacy.audit.broken import cases, known, sound


def timed(subject: object, implementation: object = None, **more: int) -> tuple[sf.Audit, float]:
    start = time.perf_counter()
    return sf.audit(subject, implementation=implementation, **more), time.perf_counter() - start


def caught(word: str) -> None:
    print(f"{'broken implementation':48}{'found by':44}{'seconds':>8}")
    for name, (subject, implementation) in {**known(), **cases()}.items():
        if word in name:
            told, seconds = timed(subject, implementation)
            by = ", ".join(dict.fromkeys(check.name for check in told.broken)) or "MISSED"
            print(f"{name:48}{by[:42]:44}{seconds:8.1f}", flush=True)


def alarms(runs: int, word: str, samples: int) -> int:
    mechanisms = {name: each for name, each in sound().items() if word in name}
    count, slowest = 0, 0.0
    for done, (name, each) in enumerate(islice(cycle(mechanisms.items()), runs)):
        told, seconds = timed(each, samples=samples)
        count, slowest = count + bool(told.broken), max(slowest, seconds)
        for check in told.broken:
            print(f"  alarm: {name}: {check}", flush=True)
        if sys.stderr.isatty():
            print(f"\r{done + 1} of {runs}", end="", file=sys.stderr)
    print(f"{count} of {runs} sound runs raised an alarm; the slowest took {slowest:.1f} seconds")
    return count


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=len(sound()), help="sound runs")
    parser.add_argument("--only", default="", help="a word in the names to run")
    parser.add_argument("--samples", type=int, default=25_000_000, help="reports of each attribute in sound runs")
    asked = parser.parse_args()
    caught(asked.only)
    sys.exit(bool(alarms(asked.runs, asked.only, asked.samples)))
