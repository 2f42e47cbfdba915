"""Every measurement takes the same options and has a line in the README; the page of figures is that of the results."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BENCH = ROOT / "bench"
SCRIPTS = [path for path in sorted(BENCH.glob("*.py")) if "\n    main(measure" in path.read_text("utf-8")]


def test_the_page_of_figures_is_that_of_the_results() -> None:
    code = "import run, sys; sys.stdout.reconfigure(encoding='utf-8'); print(run.page(), end='')"
    made = subprocess.run([sys.executable, "-c", code], cwd=BENCH, capture_output=True, check=True)
    assert made.stdout.decode() == (ROOT / "docs" / "measurements.md").read_text(encoding="utf-8")


def test_every_script_has_a_line_in_the_readme_and_every_result_a_script() -> None:
    told = set(re.findall(r"^\| `(\w+)\.py`", (BENCH / "README.md").read_text(encoding="utf-8"), re.MULTILINE))
    assert told == {path.stem for path in SCRIPTS}
    assert {path.stem for path in (BENCH / "results").glob("*.json")} <= told


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_script_uses_the_harness_alone_for_options_and_tables(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    assert not re.search(r"parse_args|ArgumentParser\(", text)
