"""Random plans and tables through the whole system, for as long as wanted: what breaks, as a script of a few lines.

    python bench/chance.py --minutes 20 --seed 1
    python bench/chance.py --minutes 20 --spark        reports on a Spark cluster of its own too, beside DuckDB, Polars
    python bench/chance.py --seed 1 --case 17          one case again

Prints how many cases of each kind there were, how often each law held, was refused in one clear line (with which) or
broke; and for everything that broke the shortest script found. Exits 1 if anything broke.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import count
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from sfumato.tables.spark import session_at
from tests.engines.cluster import cluster
from tests.laws.chance import Case, Outcome, outcome_of, seconds_allowed, smallest
from tests.laws.chance_cases import random_case
from tests.laws.chance_laws import FITS, laws_for

Asked = tuple[int, str, Outcome]  # the case's number, the law's name, what came of it


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5, help="how long to look (default 5)")
    parser.add_argument("--seed", type=int, default=0, help="other seeds draw other cases")
    parser.add_argument("--case", type=int, help="this case alone")
    parser.add_argument("--laws", default="", help="only laws whose name holds this text")
    parser.add_argument("--people", type=int, default=20_000, help="at most so many people")
    parser.add_argument("--spark", action="store_true", help="hold reports on a cluster too, of two workers here")
    wanted = parser.parse_args()
    with on_spark() if wanted.spark else nullcontext():
        cases, asked = look(wanted)
    report(cases, asked)
    return any(found.kind == "broken" for _, _, found in asked)


@contextmanager
def on_spark() -> Iterator[None]:
    """Open a session with a cluster of its own, for as long as it is wanted."""
    with tempfile.TemporaryDirectory() as folder, cluster(Path(folder)) as started:
        os.environ["SPARK_CONF_DIR"] = str(started.folder)
        session = session_at(started.address)
        yield
        session.stop()


def look(wanted: argparse.Namespace) -> tuple[list[Case], list[Asked]]:
    """Draw cases until the time is over, and print what breaks as soon as it does."""
    until, cases, asked, shown = time.monotonic() + 60 * wanted.minutes, [], [], set[tuple[str, str]]()
    for number in count() if wanted.case is None else [wanted.case]:
        if time.monotonic() > until:
            break
        rng = np.random.default_rng([wanted.seed, number])
        case = random_case(rng, most_people=wanted.people)
        cases.append(case)
        for law in laws_for(case, rng):
            if wanted.laws not in law.__name__:
                continue
            found = outcome_of(law, case, seconds_allowed(case, FITS.get(law, 1)))
            asked.append((number, law.__name__, found))
            if found.kind == "broken" and (law.__name__, found.where) not in shown:
                shown.add((law.__name__, found.where))
                print(f"\n--- case {number}: {law.__name__}, {found.where}: {found.said[:300]}")
                print(smallest(law, case, found).script(law), flush=True)
    return cases, asked


def report(cases: list[Case], asked: list[Asked]) -> None:
    """Print what was tried and what came of it."""
    mechanisms = Counter(each.attribute.get("channel", "none") for case in cases for each in case.columns.values())
    print(f"\n{len(cases)} cases; columns by channel: {', '.join(f'{k} {n}' for k, n in mechanisms.most_common())}")
    print(f"people: {', '.join(f'{k} {n}' for k, n in sorted(Counter(case.people for case in cases).items()))}\n")
    print(f"{'law':52}{'held':>7}{'refused':>9}{'broken':>8}{'median s':>10}{'most s':>8}  case")
    refused: dict[str, list[int]] = defaultdict(list)
    for law in sorted({name for _, name, _ in asked}):
        own = [(found.seconds, number, found) for number, name, found in asked if name == law]
        kinds = Counter(found.kind for *_, found in own)
        slowest, place = max((seconds, number) for seconds, number, _ in own)
        told = f"{law:52}{kinds['held']:7}{kinds['refused']:9}{kinds['broken']:8}"
        print(f"{told}{np.median([seconds for seconds, *_ in own]):10.2f}{slowest:8.1f}  {place}")
        for _, number, found in own:
            if found.kind == "refused":
                refused[re.sub(r"'x?[\w ]*'|[\d,.]*\d", "…", found.said)].append(number)
    print("\nrefused with")
    for said, numbers in sorted(refused.items(), key=lambda each: -len(each[1])):
        print(f"{len(numbers):5}  {said[:180]}  (case {numbers[0]})")


if __name__ == "__main__":
    sys.exit(main())
