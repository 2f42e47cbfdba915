"""Run the measurements whose names hold a word given, all without one; or write the page of their figures.

    python bench/run.py                               all of them: many hours
    python bench/run.py --quick                       the small form of all of them: an hour
    python bench/run.py release --quick               those about releases
    python bench/run.py --quick --output bench/results
    python bench/run.py --page                        docs/measurements.md, from bench/results

Other options go to every script. README.md says which script answers which question.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from harness import RESULTS, ROOT, written

PAGE = ROOT / "docs" / "measurements.md"
NOT_MEASURING = ("run", "harness", "oracles", "chance", "timing")
"""What measures nothing by itself, and what runs for as long as it is told to."""
INTRODUCTION = """# Measurements

What the scripts of `bench/` print, each figure from one run of the command above it, on one thread. Where time is
measured it is a ratio to a named baseline of the same run, because a number of seconds does not travel between
machines. Most are small forms (`--quick`): they show what is measured and about how much it is. Figures that a decision
rests on are on its page.

This page is written by `python bench/run.py --page`.
"""


def scripts(words: list[str]) -> list[Path]:
    known = [path for path in sorted(Path(__file__).parent.glob("*.py")) if path.stem not in NOT_MEASURING]
    return [path for path in known if not words or any(word in path.stem for word in words)]


def page() -> str:
    """The figures of ``results`` as one page of tables."""
    parts = [INTRODUCTION]
    for path in sorted(RESULTS.glob("*.json")):
        figures = json.loads(path.read_text(encoding="utf-8"))
        parts.append(f"## {path.stem.replace('_', ' ').capitalize()}\n\n{figures['question']}\n")
        parts.append(f"```sh\n{figures['command']}\n```\n")
        parts += [table_of(table) for table in figures["tables"]]
    return "\n".join(parts)


def table_of(table: dict) -> str:
    columns = table["columns"]
    lines = [f"| {table['title']} | {' | '.join(columns)} |", "|---" + "|---:" * len(columns) + "|"]
    for name, *cells in table["rows"]:
        shown = [written(cell, form) for cell, form in zip(cells, columns.values(), strict=True)]
        lines.append(f"| {name} | {' | '.join(shown)} |")
    return "\n".join(lines).replace("*", r"\*") + "\n"


def main(arguments: list[str]) -> int:
    if "--page" in arguments:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    start = next((place for place, word in enumerate(arguments) if word.startswith("-")), len(arguments))
    words, options = arguments[:start], arguments[start:]
    if not (chosen := scripts(words)):
        print(f"no script in bench/ is named like {' or '.join(words)}", file=sys.stderr)
        return 2
    failed = []
    for path in chosen:
        print(f"\n== {path.stem.replace('_', ' ')}", flush=True)
        if subprocess.run([sys.executable, path, *options]).returncode:
            failed.append(path.stem)
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
