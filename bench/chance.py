"""Random plans and tables through the whole system, for as long as wanted: what breaks, as a script of a few lines.

    python bench/chance.py --minutes 20 --seed 1
    python bench/chance.py --minutes 20 --spark            also on a Spark cluster of its own, beside DuckDB and Polars

Prints how many cases of each law held, were refused in one clear line (and with which), or broke; and for everything
that broke the shortest script found. Exits 1 if anything broke.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.engines.cluster import cluster
from tests.laws import chance_laws
from tests.laws.chance import outcome_of, random_case, seconds_allowed, smallest

from sfumato.tables.spark import session_at


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5, help="how long to look (default 5)")
    parser.add_argument("--seed", type=int, default=0, help="other seeds draw other cases")
    parser.add_argument("--case", type=int, help="this case alone")
    parser.add_argument("--laws", default="", help="only laws whose name holds this text")
    parser.add_argument("--people", type=int, default=20_000, help="at most so many people")
    parser.add_argument("--spark", action="store_true", help="hold reports on a cluster too, two workers on this machine")
    wanted = parser.parse_args()
    with on_spark() if wanted.spark else nullcontext():
        return look(wanted)


@contextmanager
def on_spark() -> Iterator[None]:
    """A session with a cluster of its own, for as long as it is wanted."""
    with tempfile.TemporaryDirectory() as folder, cluster(Path(folder)) as started:
        os.environ["SPARK_CONF_DIR"] = str(started.folder)
        session = session_at(started.address)
        yield
        session.stop()


def look(wanted: argparse.Namespace) -> bool:
    """Draw cases until the time is over, and print what breaks as soon as it does."""
    until, number = time.monotonic() + 60 * wanted.minutes, wanted.case or 0
    kinds: Counter[tuple[str, str]] = Counter()
    refused: dict[str, list[int]] = defaultdict(list)
    broken: dict[str, tuple[int, str]] = {}
    times: dict[str, list[tuple[float, int]]] = {}
    while time.monotonic() < until:
        rng = np.random.default_rng([wanted.seed, number])
        case = random_case(rng, most_people=wanted.people)
        for law in chance_laws.laws_for(case, rng):
            if wanted.laws not in law.__name__:
                continue
            found = outcome_of(law, case, seconds_allowed(case))
            kinds[law.__name__, found.kind] += 1
            times.setdefault(law.__name__, []).append((found.seconds, number))
            if found.kind == "refused":
                refused[f"{law.__name__}: {found.said}"].append(number)
            if found.kind == "broken" and (mark := f"{law.__name__} {found.where}") not in broken:
                broken[mark] = (number, found.said)
                print(f"\n--- case {number}: {law.__name__}, {found.where}: {found.said[:300]}")
                slow = found.said.startswith("TimeoutError")
                print((case if slow else smallest(law, case, found)).script(law), flush=True)
        number += 1
        if wanted.case is not None:
            break
    report(number, kinds, refused, broken, times)
    return bool(broken)


def report(number, kinds, refused, broken, times) -> None:
    """What was tried and what came of it."""
    print(f"\n{number} cases\n{'law':52}{'held':>7}{'refused':>9}{'broken':>8}{'median s':>10}{'most s':>8}  case")
    for law in sorted(times):
        held, no, bad = (kinds[law, kind] for kind in ("held", "refused", "broken"))
        most, place = max(times[law])
        print(f"{law:52}{held:7}{no:9}{bad:8}{np.median([s for s, _ in times[law]]):10.2f}{most:8.1f}  {place}")
    print("\nrefused with")
    for said, cases in sorted(refused.items(), key=lambda each: -len(each[1]))[:60]:
        print(f"{len(cases):5}  {said[:180]}  (case {cases[0]})")


if __name__ == "__main__":
    sys.exit(main())
