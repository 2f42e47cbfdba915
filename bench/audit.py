"""The audit itself: is every broken implementation caught at default settings, how fast, and does a sound one pass?

    python bench/audit.py              the broken ones, and each sound mechanism once
    python bench/audit.py --runs 200   the broken ones, and 200 sound runs in turn
    python bench/audit.py --only bits  only those with this word in their name
    python bench/audit.py --javascript the shipped JavaScript, and copies of it with one line changed
"""

import argparse
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path

import sfumato as sf

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.privacy.audit.broken import cases, known, sound
from tests.privacy.audit.javascript import CHANGES, plan_of

HEAD = f"{'broken implementation':48}{'found by':44}{'seconds':>8}"


def timed(subject: object, **more: object) -> tuple[sf.Audit, float]:
    start = time.perf_counter()
    return sf.audit(subject, **more), time.perf_counter() - start


def tell(name: str, told: sf.Audit, seconds: float) -> None:
    by = ", ".join(dict.fromkeys(check.name for check in told.broken)) or "MISSED"
    print(f"{name:48}{by[:42]:44}{seconds:8.1f}", flush=True)


def caught(word: str) -> None:
    for name, (subject, implementation) in {**known(), **cases()}.items():
        if word in name:
            tell(name, *timed(subject, implementation=implementation))


def caught_in_javascript(word: str, samples: int) -> None:
    """Every change, in a plan that has every kind of mechanism."""
    for name, change in CHANGES.items():
        if word in name:
            with tempfile.TemporaryDirectory() as folder:
                tell(name, *timed(plan_of(), implementation=change.into(Path(folder) / "copy"), samples=samples))


def alarms(mechanisms: dict[str, object], runs: int, samples: int, **more: str) -> int:
    count, slowest = 0, 0.0
    for done, (name, each) in enumerate(islice(cycle(mechanisms.items()), runs)):
        told, seconds = timed(each, samples=samples, **more)
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
    parser.add_argument("--javascript", action="store_true", help="the shipped JavaScript and copies of it")
    asked = parser.parse_args()
    print(HEAD)
    if asked.javascript:
        caught_in_javascript(asked.only, asked.samples)
        sys.exit(bool(alarms({"javascript": plan_of()}, asked.runs, asked.samples, implementation="javascript")))
    caught(asked.only)
    mechanisms = {name: each for name, each in sound().items() if asked.only in name}
    sys.exit(bool(alarms(mechanisms, asked.runs, asked.samples)))
