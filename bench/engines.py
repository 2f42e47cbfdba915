"""Counting where the reports are: as many blurred records as the disk should hold, read with bounded memory.

    python bench/engines.py                      3·10⁷ records of 9 attributes as codes, about 3 GB for a while
    python bench/engines.py --rows 100000000     more of them
    python bench/engines.py --spark              also two workers of a cluster against one
    python bench/engines.py --plot linear.png    also the cost over three decades

Against SQL written by hand for the same counts under DuckDB (a union of one group-by a column, the best way that was
found), in the same run, with one thread and 512 MiB each. Every measurement is a process of its own, so that its
peak memory is its own.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import sfumato as sf
from sfumato.counts import as_codes
from sfumato.examples import agrawal

FUNCTION, SEED, AT_ONCE = 2, 20261116, 1_000_000
MEMORY = "512MB"


def plan() -> sf.Plan:
    """AS00's nine attributes at 100 % privacy, categories at γ = 19, the class in the clear."""
    attributes = {
        "salary": {"low": 20_000, "high": 150_000}, "commission": {"low": 0, "high": 75_000},
        "age": {"low": 20, "high": 80}, "hvalue": {"low": 0, "high": 1_350_000},
        "hyears": {"low": 1, "high": 30}, "loan": {"low": 0, "high": 500_000},
    }  # fmt: skip
    attributes = {name: {**each, "channel": "gaussian", "privacy": 1.0} for name, each in attributes.items()}
    for name, labels in {"elevel": range(5), "car": range(1, 21), "zipcode": range(1, 10)}.items():
        attributes[name] = {"categories": list(labels), "channel": "randomized-response", "gamma": 19}
    attributes["group"] = {"categories": ["A", "B"], "role": "class"}
    return sf.Plan.from_dict({"name": "engines", "attributes": attributes})


def write_reports(path: Path, rows: int) -> None:
    """Reports as codes in one Parquet file, a million records at a time."""
    survey, rng, writer = plan(), np.random.default_rng(SEED), None
    for done in range(0, rows, AT_ONCE):
        records, group = agrawal.generate(min(AT_ONCE, rows - done), FUNCTION, rng)
        people = {name: records[name] for name in survey.attributes if name != "group"}
        table = as_codes(survey.randomize({**people, "group": group.astype(object)}, rng), survey)
        narrow = [pa.field(f.name, pa.int16() if f.name.endswith(".code") else pa.string()) for f in table.schema]
        table = table.cast(pa.schema(narrow))
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


# --- one measurement, in a process of its own ---------------------------------------------------------------------


def by_hand(path: Path) -> None:
    """The marginals by class in SQL."""
    import duckdb

    connection = duckdb.connect(config={"memory_limit": MEMORY, "threads": 1})
    names = [name for name in parquet.read_schema(path).names if name.endswith(".code")]
    parts = [
        f"""select {place} which, "group", "{name}" code, count(*) n from '{path}' group by "group", "{name}" """
        for place, name in enumerate(names)
    ]
    connection.execute(" union all ".join(parts)).fetchnumpy()


def marginals(path: Path, engine: str) -> sf.Reports:
    reports = sf.Reports(path, plan(), engine=engine)
    reports.tallies(reports.names, by_class=True)
    return reports


def fitted(path: Path, engine: str, reconstruction: str) -> sf.Reports:
    reports = sf.Reports(path, plan(), engine=engine)
    sf.TreeClassifier(reconstruction=reconstruction, random_state=1).fit(reports)
    return reports


WORK = {
    "by hand": lambda path, engine: by_hand(path),
    "marginals": marginals,
    "byclass": lambda path, engine: fitted(path, engine, "byclass"),
    "joint": lambda path, engine: fitted(path, engine, "joint"),
}


def measured(what: str, path: Path, engine: str = "arrow") -> dict[str, float]:
    """Seconds, passes and peak memory (MiB) of a fresh process."""
    command = [sys.executable, __file__, "--work", what, "--file", str(path), "--engine", engine]
    found = subprocess.run(command, capture_output=True, text=True)
    if found.returncode:
        raise SystemExit(found.stderr)
    return json.loads(found.stdout.splitlines()[-1])


def work(what: str, path: Path, engine: str) -> None:
    start = time.perf_counter()
    reports = WORK[what](path, engine)
    found = {"seconds": time.perf_counter() - start, "passes": getattr(reports, "passes", 1)}
    print(json.dumps({**found, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


# --- tables -------------------------------------------------------------------------------------------------------


def compare(path: Path, rounds: int) -> None:
    print(f"{'':28}{'× SQL by hand':>14}{'passes':>8}{'× marginals a pass':>20}{'peak MiB':>10}")
    cases = [("by hand", ""), ("marginals", "arrow"), ("marginals", "duckdb"), ("marginals", "polars")]
    cases += [("byclass", "arrow"), ("byclass", "duckdb"), ("joint", "duckdb")]
    found = {case: [] for case in cases}
    for _ in range(rounds):
        for case in cases:
            found[case].append(measured(case[0], path, case[1] or "arrow"))
    middle = {case: statistics.median(each["seconds"] for each in runs) for case, runs in found.items()}
    for case, runs in found.items():
        passes, peak = runs[0]["passes"], max(each["peak"] for each in runs)
        pass_cost = middle[case] / (middle["marginals", case[1] or "arrow"] / 2) / passes
        print(f"{' '.join(case):28}{middle[case] / middle['by hand', '']:14.2f}{passes:8}{pass_cost:20.2f}{peak:10.0f}")


def linear(folder: Path, plot: Path | None, rows: int) -> None:
    sizes = [rows // 1000, rows // 100, rows // 10, rows]
    print(f"\n{'records':>12}{'ns a record':>14}{'peak MiB':>10}")
    points = []
    for size in sizes:
        path = folder / f"{size}.parquet"
        if not path.exists():
            write_reports(path, size)
        found = measured("marginals", path)
        points.append((size, found["seconds"]))
        print(f"{size:12,}{1e9 * found['seconds'] / size:14.0f}{found['peak']:10.0f}")
    if plot is not None:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(5, 3.4), layout="constrained", dpi=130)
        panel = figure.subplots()
        panel.loglog(*zip(*points, strict=True), "o-")
        panel.set(xlabel="reports", ylabel="seconds", title="All marginals by class, one process")
        figure.savefig(plot)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=30_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="keep the files here")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--work", choices=WORK, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--engine", default="arrow", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.work:
        work(chosen.work, chosen.file, chosen.engine)
        return
    with tempfile.TemporaryDirectory() as made:
        folder = chosen.folder or Path(made)
        path = folder / f"{chosen.rows}.parquet"
        if not path.exists():
            write_reports(path, chosen.rows)
        compare(path, chosen.rounds)
        linear(folder, chosen.plot, chosen.rows)


if __name__ == "__main__":
    main()
