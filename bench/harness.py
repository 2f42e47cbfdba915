"""What every measurement shares: its options, its tables, and the file that its figures go to.

    def measure(bench: Bench) -> None:
        bench.table("What is compared", {"ours": ".2f", "limit": "g"})
        bench.row("a case", 0.93, 1)

    if __name__ == "__main__":
        main(measure, runs=5)

    python bench/<script>.py [--quick] [--seed N] [--runs N] [--only WORD] [--output FOLDER]

Everything runs on one thread, and what the repository holds beside the library can be imported.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping
from numbers import Integral
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
ONE_THREAD = {name: "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")}
LABEL, NUMBER, TEXT = 48, 10, 20
"""Widths of the first column, and of columns of numbers and of texts at least, in letters."""

sys.path.insert(0, str(ROOT))
os.environ |= ONE_THREAD

Cell = float | int | str | None


class Bench:
    """One run of a measurement: the options asked for, and the tables printed so far."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.quick, self.seed, self.runs, self.only = options.quick, options.seed, options.runs, options.only
        self.tables: list[dict[str, Any]] = []
        self.failed: list[str] = []

    def wants(self, name: str) -> bool:
        """Say whether a part or a case of this name is asked for."""
        return not self.only or any(word.strip() in name for word in self.only.split(","))

    def table(self, title: str, columns: Mapping[str, str]) -> None:
        """Begin a table: its columns by name, each with the format of its numbers."""
        self.tables.append({"title": title, "columns": dict(columns), "rows": []})
        heads = "".join(f"{name:>{width(name, form)}}" for name, form in columns.items())
        print(f"\n{title}\n{'':{LABEL}}{heads}", flush=True)

    def row(self, name: str, *cells: Cell) -> None:
        """Print one line of the last table."""
        columns = self.tables[-1]["columns"]
        given = [plain(cell) for cell in cells]
        self.tables[-1]["rows"].append([name, *given])
        shown = zip(columns.items(), given, strict=True)
        line = "".join(f"{written(cell, form):>{width(title, form)}}" for (title, form), cell in shown)
        print(f"{name:{LABEL}}{line}", flush=True)

    def fail(self, why: str) -> None:
        """Note what must not happen: it is printed, and the run ends with exit code 1."""
        self.failed.append(why)
        print(f"  FAILED: {why}", flush=True)


def width(column: str, form: str) -> int:
    return max(TEXT if form == "s" else NUMBER, len(column) + 2)


def plain(cell: Any) -> Cell:
    """The cell as JSON holds it: a number of six digits, a text or nothing."""
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, Integral):
        return int(cell)
    return float(f"{float(cell):.6g}")


def written(cell: Cell, form: str) -> str:
    if cell is None or cell != cell:
        return "–"
    return cell if isinstance(cell, str) else format(cell, form)


def main(
    measure: Callable[[Bench], None], seed: int = 1, runs: int = 1, options: Callable[[Any], None] | None = None
) -> None:
    """Read the options, measure, and write the figures where ``--output`` says.

    seed, runs   what they are unless the options say otherwise (what a run is, the script's text says)
    options      adds the options that this script alone has
    """
    script = Path(measure.__globals__["__file__"])
    text = measure.__globals__["__doc__"]
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small form, in minutes at most")
    parser.add_argument("--seed", type=int, default=seed, help=f"of all that is drawn ({seed})")
    parser.add_argument("--runs", type=int, help=f"repetitions ({runs}; fewer with --quick)")
    parser.add_argument("--only", default="", help="parts or cases whose name holds one of these words (a,b)")
    parser.add_argument("--output", type=Path, help="folder for the figures as JSON, such as bench/results")
    if options:
        options(parser)
    chosen = parser.parse_args()
    chosen.runs = chosen.runs or (max(1, runs // 5) if chosen.quick else runs)
    bench = Bench(chosen)
    with threadpool_limits(1):
        measure(bench)
    if chosen.output:
        words = [word for word in sys.argv[1:] if word != "--output" and Path(word) != chosen.output]
        command = " ".join(["python", f"bench/{script.name}", *words])
        save(chosen.output / f"{script.stem}.json", {"question": text, "command": command, "tables": bench.tables})
    sys.exit(bool(bench.failed))


def save(path: Path, figures: dict[str, Any]) -> None:
    """Write a row of a table a line, so that a change of one figure is a change of one line."""
    figures = {**figures, "question": figures["question"].split("\n\n")[0].replace("\n", " ")}
    rows = [json.dumps(row, ensure_ascii=False) for table in figures["tables"] for row in table["rows"]]
    marks = [f"@{place}@" for place in range(len(rows))]
    left = iter(marks)
    tables = [{**table, "rows": [next(left) for _ in table["rows"]]} for table in figures["tables"]]
    text = json.dumps({**figures, "tables": tables}, indent=1, ensure_ascii=False)
    for mark, row in zip(marks, rows, strict=True):
        text = text.replace(f'"{mark}"', row, 1)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")
