"""Files of people become files of reports: the peak of memory from 10⁵ to 10⁷ rows of the credit example (9 columns),
and the time against copying the same Parquet file block by block with PyArrow. The peak must not grow.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from harness import Bench, main
from pyarrow import parquet

from sfumato.demo import credit
from sfumato.tables.inputs import BLOCK_ROWS

SIZES = (100_000, 1_000_000, 10_000_000)
CHILD = """
import sys, time
from sfumato.demo import credit
plan = credit.plan()
start = time.perf_counter()
plan.randomize(sys.argv[1], to=sys.argv[2], codes=sys.argv[3] == "codes")
took = time.perf_counter() - start
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(took, int(status["VmHWM"].split()[0]) // 1024)
"""


def write_people(path: Path, rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    writer = None
    for start in range(0, rows, 100_000):
        people = credit.people(min(100_000, rows - start), rng)
        table = pa.table({name: np.asarray(column) for name, column in people.items()})
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


def copied(source: Path, target: Path) -> float:
    start = time.perf_counter()
    file = parquet.ParquetFile(source, pre_buffer=False)
    with parquet.ParquetWriter(target, file.schema_arrow) as writer:
        for batch in file.iter_batches(BLOCK_ROWS, use_threads=False):
            writer.write_batch(batch)
    return time.perf_counter() - start


def measure(bench: Bench) -> None:
    with tempfile.TemporaryDirectory() as folder:
        people, reports = Path(folder, "people.parquet"), Path(folder, "reports.parquet")
        bench.table("Rows, and reports as", {"peak, MB": "d", "× copying": ".1f", "µs a row": ".2f"})
        for rows in SIZES[:1] if bench.quick else SIZES:
            write_people(people, rows, bench.seed)
            for form in ("values", "codes"):
                command = [sys.executable, "-c", CHILD, str(people), str(reports), form]
                took, peak = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
                ratio = float(took) / copied(people, reports)
                bench.row(f"{rows:,}, {form}", int(peak), ratio, 1e6 * float(took) / rows)


if __name__ == "__main__":
    main(measure)
