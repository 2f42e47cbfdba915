"""Counting where the reports are: as many blurred records as the disk should hold, read with bounded memory.

    python bench/engines.py                      3·10⁷ records of 9 attributes as codes, about 3 GB for a while
    python bench/engines.py --rows 100000000     more of them
    python bench/engines.py --spark              also two workers of a cluster against one
    python bench/engines.py --plot linear.png    also the cost over three decades as a picture

Against SQL written by hand for the same counts under DuckDB (a union of one group-by a column, the best way that was
found), in the same run, with one thread and 512 MiB each. Every measurement is a process of its own, so that its
peak memory is its own.
"""

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from harness import Bench, main
from pyarrow import parquet

import sfumato as sf
from reproductions import agrawal
from sfumato.counts import as_codes

FUNCTION, AT_ONCE = 2, 1_000_000
MEMORY = "512MB"
LEVELS = 6  # of AS00's tree: SQL by hand does not do many more in this memory


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


def write_reports(path: Path, rows: int, seed: int) -> None:
    """Reports as codes in one Parquet file, a million records at a time."""
    survey, rng, writer = plan(), np.random.default_rng(seed), None
    for done in range(0, rows, AT_ONCE):
        records, group = agrawal.generate(min(AT_ONCE, rows - done), FUNCTION, rng)
        people = {name: records[name] for name in survey.attributes if name != "group"}
        table = as_codes(survey.randomize({**people, "group": group}, rng), survey)
        narrow = [pa.field(f.name, pa.int16() if f.name.endswith(".code") else pa.string()) for f in table.schema]
        table = table.cast(pa.schema(narrow))
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


# --- one measurement, in a process of its own ---------------------------------------------------------------------


def by_hand(path: Path) -> None:
    """The marginals by class in SQL."""
    import duckdb

    connection = duckdb.connect(config={"memory_limit": MEMORY, "temp_directory": tempfile.mkdtemp(), "threads": 1})
    names = [name for name in parquet.read_schema(path).names if name.endswith(".code")]
    parts = [
        f"""select {place} which, "group", "{name}" code, count(*) n from '{path}' group by "group", "{name}" """
        for place, name in enumerate(names)
    ]
    connection.execute(" union all ".join(parts)).fetchnumpy()


def tree_by_hand(path: Path) -> None:
    """The histograms of every level of a tree, in SQL: nodes by nested CASE, made once a level for all columns.

    The tree is that of 100,000 of the records; where its cuts lie does not matter for the time.
    """
    import duckdb

    survey = plan()
    some = next(parquet.ParquetFile(path).iter_batches(100_000))
    reports = sf.Reports(pa.Table.from_batches([some]), survey)
    tree = sf.TreeClassifier(reconstruction="byclass", prune=False, max_depth=LEVELS).fit(reports).tree_
    names = [name for name in survey.attributes if name != "group"]
    connection = duckdb.connect(config={"memory_limit": MEMORY, "temp_directory": tempfile.mkdtemp(), "threads": 1})

    def node_in_sql(node: int, depth: int) -> str:
        if depth == 0 or tree.left[node] < 0:
            return str(node)
        name, channel = names[tree.column[node]], survey.channels[names[tree.column[node]]]
        if np.isnan(tree.cut[node]):
            test = f'"{name}.code" in ({", ".join(map(str, np.flatnonzero(tree.bins[node])))})'
        else:
            test = f'"{name}.code" < {int(np.searchsorted(channel.outputs.values, tree.cut[node]))}'
        left, right = (node_in_sql(int(side[node]), depth - 1) for side in (tree.left, tree.right))
        return f"case when {test} then {left} else {right} end"

    for depth in range(tree.depth() + 1):
        cells = {name: max(survey.channels[name].outputs.size // 100, 1) for name in names}
        node = node_in_sql(0, depth)
        connection.execute(f"create or replace temp table placed as select {node} node, * from '{path}'")
        parts = [
            f"""select {place}, node, "group", "{name}.code" // {width} bin, count(*) from placed group by all"""
            for place, (name, width) in enumerate(cells.items())
        ]
        connection.execute(" union all ".join(parts)).fetchnumpy()


def marginals(path: Path, engine: str) -> sf.Reports:
    reports = sf.Reports(path, plan(), engine=engine)
    reports.tallies(reports.names, by_class=True)
    return reports


def fitted(path: Path, engine: str, reconstruction: str, **options) -> sf.Reports:
    reports = sf.Reports(path, plan(), engine=engine)
    sf.TreeClassifier(reconstruction=reconstruction, random_state=1, **options).fit(reports)
    return reports


WORK = {
    "by hand": lambda path, engine: by_hand(path),
    "tree by hand": lambda path, engine: tree_by_hand(path),
    "marginals": marginals,
    "byclass": lambda path, engine: fitted(path, engine, "byclass", max_depth=LEVELS),
    "joint": lambda path, engine: fitted(path, engine, "joint"),
    "likelihood": lambda path, engine: fitted(path, engine, "likelihood"),
}


def measured(what: str, path: Path, engine: str = "arrow") -> dict[str, float]:
    """Seconds, passes and peak memory (MiB) of a fresh process."""
    command = [sys.executable, __file__, "--work", what, "--file", str(path), "--engine", engine]
    found = subprocess.run(command, capture_output=True, text=True)
    if found.returncode:
        raise SystemExit(found.stderr)
    return json.loads(found.stdout.splitlines()[-1])


def work(what: str, path: Path, engine: str) -> None:
    start, cpu = time.perf_counter(), time.process_time()
    reports = WORK[what](path, engine)
    found = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}
    print(json.dumps({**found, "passes": getattr(reports, "passes", 1), "peak": peak()}))


def peak() -> float:
    """MiB of this process at most; what the system counts for its parent before it began is left out."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024


# --- tables -------------------------------------------------------------------------------------------------------

CASES = [
    ("by hand", "duckdb"), ("tree by hand", "duckdb"),
    ("marginals", "arrow"), ("marginals", "duckdb"), ("marginals", "polars"),
    ("byclass", "arrow"), ("byclass", "duckdb"), ("joint", "arrow"), ("joint", "duckdb"),
    ("likelihood", "arrow"), ("likelihood", "duckdb"),
]  # fmt: skip


def compare(bench: Bench, path: Path) -> dict[tuple[str, str], dict[str, float]]:
    """Medians of several rounds, in turn; as ratios to the SQL by hand, and a pass of a tree to the marginals."""
    found = {case: [] for case in CASES}
    for _ in range(bench.runs):
        for case in CASES:
            found[case].append(measured(case[0], path, case[1]))
    middle = {
        case: {key: statistics.median(each[key] for each in runs) for key in runs[0]} for case, runs in found.items()
    }
    hand = middle["by hand", "duckdb"]
    heads = {"× SQL by hand": ".2f", "CPU": ".2f", "passes": ".0f", "a pass × marginals": ".2f", "peak, MiB": ".0f"}
    bench.table("Work and engine", heads)
    for case, each in middle.items():
        a_pass = each["seconds"] / each["passes"] / middle["marginals", case[1]]["seconds"]
        ratios = each["seconds"] / hand["seconds"], each["cpu"] / hand["cpu"]
        bench.row(", ".join(case), *ratios, each["passes"], a_pass, each["peak"])
    return middle


def capacity(bench: Bench, path: Path, rows: int, middle: dict[tuple[str, str], dict[str, float]]) -> None:
    """What the measured rates come to for more reports, on so many cores that each read a share of them."""
    size = path.stat().st_size / rows
    heads = {"TB read": ".2g", "minutes": ".2g"}
    bench.table(f"Capacity; {size:.1f} bytes a report of nine attributes and a class, as codes", heads)
    for work in ("marginals", "byclass", "joint"):
        each = middle[work, "arrow"]
        for reports, cores in ((1e9, 2), (1e9, 16), (1e12, 1000)):
            read, minutes = each["passes"] * size * reports, each["seconds"] / rows * reports / cores / 60
            bench.row(f"{work}, {reports:.0e} reports, {cores} cores", read / 1e12, minutes)


def linear(bench: Bench, folder: Path, plot: Path | None, rows: int) -> None:
    sizes = [rows // 1000, rows // 100, rows // 10, rows]
    bench.table("Marginals, by the number of records", {"ns a record": ".0f", "peak, MiB": ".0f"})
    points = []
    for size in sizes:
        path = folder / f"{size}.parquet"
        if not path.exists():
            write_reports(path, size, bench.seed)
        found, again = measured("marginals", path), measured("twice", path)["second"]
        points.append((size, again))
        bench.row(f"{size:,}", 1e9 * again / size, found["peak"])
    if plot is not None:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(5, 3.4), layout="constrained", dpi=130)
        panel = figure.subplots()
        panel.loglog(*zip(*points, strict=True), "o-")
        panel.set(xlabel="reports", ylabel="seconds", title="All marginals by class, after starting")
        figure.savefig(plot)


def cluster(bench: Bench, path: Path) -> None:
    """The marginals on one worker that has one core of this machine, and on two; the second run, when Spark is warm."""
    from tests.engines.cluster import daemon

    settings = "spark.executor.cores 1\nspark.executor.memory 1g\nspark.sql.files.maxPartitionBytes 16m\n"
    seconds = {}
    for workers in (1, 2):
        with tempfile.TemporaryDirectory() as made:
            folder, address = Path(made), f"spark://127.0.0.1:{7177 + workers}"
            (folder / "spark-defaults.conf").write_text(f"{settings}spark.cores.max {workers}\n")
            parts = [daemon(folder, "master", "--port", str(7177 + workers))]
            for core in range(workers):
                parts.append(daemon(folder, "worker", address, "--cores", "1", "--memory", "1g"))
                os.sched_setaffinity(parts[-1].pid, {core})  # and with it whatever the worker starts
            try:
                time.sleep(15)
                environment = {**os.environ, "SPARK_CONF_DIR": str(folder)}
                command = [sys.executable, __file__, "--work", "twice", "--file", str(path), "--engine", address]
                told = subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout
                seconds[workers] = json.loads(told.splitlines()[-1])["second"]
            finally:
                for part in parts:
                    os.killpg(part.pid, signal.SIGKILL)
    bench.table("Spark", {"× as fast": ".2f"})
    bench.row("two workers beside one", seconds[1] / seconds[2])


def twice(path: Path, engine: str) -> None:
    marginals(path, engine)
    start = time.perf_counter()
    marginals(path, engine)
    print(json.dumps({"second": time.perf_counter() - start}))


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, help="30,000,000; with --quick 1,000,000")
    parser.add_argument("--folder", type=Path, help="keep the files here")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--spark", action="store_true", help="two workers against one")
    parser.add_argument("--work", choices=[*WORK, "twice"], help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--engine", default="arrow", help=argparse.SUPPRESS)


def measure(bench: Bench) -> None:
    chosen = bench.options
    if chosen.work == "twice":
        twice(chosen.file, chosen.engine)
        return
    if chosen.work:
        work(chosen.work, chosen.file, chosen.engine)
        return
    with tempfile.TemporaryDirectory() as made:
        folder = chosen.folder or Path(made)
        rows = chosen.rows or (1_000_000 if bench.quick else 30_000_000)
        path = folder / f"{rows}.parquet"
        if not path.exists():
            write_reports(path, rows, bench.seed)
        middle = compare(bench, path)
        if not bench.quick:  # a process takes longer to begin than to read so few
            capacity(bench, path, rows, middle)
        linear(bench, folder, chosen.plot, rows)
        if chosen.spark:
            cluster(bench, path)


if __name__ == "__main__":
    main(measure, seed=20261116, runs=3, options=options)
