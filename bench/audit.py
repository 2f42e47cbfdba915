"""The audit itself: is every broken implementation caught at default settings, how fast, and does a sound one pass?

A run is one of a sound mechanism; they take turns. With --quick every sixth broken one is tried, and reports of sound
runs are fewer. Also:

    python bench/audit.py --javascript    the shipped JavaScript, and copies of it with one line changed
"""

import tempfile
import time
from argparse import ArgumentParser
from itertools import cycle, islice
from pathlib import Path

from harness import Bench, main

import sfumato as sf
from tests.privacy.audit.broken import cases, known, sound
from tests.privacy.audit.javascript import CHANGES, plan_of

SAMPLES = 25_000_000


def timed(subject: object, **more: object) -> tuple[sf.Audit, float]:
    start = time.perf_counter()
    return sf.audit(subject, **more), time.perf_counter() - start


def tell(bench: Bench, name: str, audit: sf.Audit, seconds: float) -> None:
    if not audit.broken:
        bench.fail(f"{name} was missed")
    bench.row(name, ", ".join(dict.fromkeys(check.name for check in audit.broken)) or "missed", seconds)


def caught(bench: Bench) -> None:
    broken = {name: case for name, case in {**known(), **cases()}.items() if bench.wants(name)}
    for name in list(broken)[:: 6 if bench.quick and not bench.only else 1]:
        subject, implementation = broken[name]
        tell(bench, name, *timed(subject, implementation=implementation))


def caught_in_javascript(bench: Bench, samples: int) -> None:
    """Every change, in a plan that has every kind of mechanism."""
    for name, change in CHANGES.items():
        if bench.wants(name):
            with tempfile.TemporaryDirectory() as folder:
                program = change.into(Path(folder) / "copy")
                tell(bench, name, *timed(plan_of(), implementation=program, samples=samples))


def alarms(bench: Bench, mechanisms: dict[str, object], samples: int, **more: str) -> None:
    count, slowest = 0, 0.0
    for name, each in islice(cycle(mechanisms.items()), bench.runs):
        audit, seconds = timed(each, samples=samples, **more)
        count, slowest = count + bool(audit.broken), max(slowest, seconds)
        for check in audit.broken:
            bench.fail(f"{name}: {check}")
    bench.table("Sound runs", {"runs": "d", "alarms": "d", "slowest, s": ".1f"})
    bench.row("all mechanisms", bench.runs, count, slowest)


def measure(bench: Bench) -> None:
    samples = SAMPLES // 25 if bench.quick else SAMPLES
    bench.table("Broken implementations", {"found by": "s", "s": ".1f"})
    if bench.options.javascript:
        caught_in_javascript(bench, samples)
        alarms(bench, {"javascript": plan_of()}, samples, implementation="javascript")
    else:
        caught(bench)
        alarms(bench, {name: each for name, each in sound().items() if bench.wants(name)}, samples)


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--javascript", action="store_true", help="the shipped JavaScript and copies of it")


if __name__ == "__main__":
    main(measure, runs=len(sound()), options=options)
