"""Property tests look for new examples at home and repeat the same ones in CI; no example is a matter of time."""

from __future__ import annotations

import atexit
import os
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("home", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("home"), derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "home")


SLOW = Path(__file__).parent / "slow.txt"
"""The tests that take long, as file::function; the marker ``slow`` is theirs."""
TAKEN: Counter[str] = Counter()


def pytest_addoption(parser: pytest.Parser) -> None:
    told = "write the tests that take more than so many seconds, all their cases together, into tests/slow.txt"
    parser.addoption("--note-slow", type=float, metavar="SECONDS", help=told)


@pytest.hookimpl(tryfirst=True)  # before -m looks at markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark slow tests, and put those of engines first: what is taken over from another process is the last that waits
    there, so that one session with the cluster is enough."""
    slow = set(SLOW.read_text(encoding="utf-8").split())
    for item in items:
        if function_of(item.nodeid) in slow:
            item.add_marker("slow")
    engines = Path(__file__).parent / "engines"
    items.sort(key=lambda item: engines not in item.path.parents)


def function_of(nodeid: str) -> str:
    """The file's name and the function's, without folders and cases, so that files may move."""
    path, *names = nodeid.split("[")[0].split("::")
    return f"{Path(path).stem}::{names[-1]}" if names else path


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    TAKEN[function_of(report.nodeid)] += report.duration


def is_there(name: str) -> bool:
    """Say whether there is a test of this name, file::function."""
    file, _, function = name.partition("::")
    return any(f"def {function}(" in path.read_text("utf-8") for path in SLOW.parent.rglob(f"{file}.py"))


def pytest_sessionfinish(session: pytest.Session) -> None:
    seconds = session.config.getoption("--note-slow")
    if seconds is not None and not hasattr(session.config, "workerinput"):
        known = {name for name in SLOW.read_text(encoding="utf-8").split() if name not in TAKEN and is_there(name)}
        slow = sorted(known | {name for name, taken in TAKEN.items() if taken > seconds})
        SLOW.write_text("\n".join(slow) + "\n", encoding="utf-8")


@atexit.register
def silence() -> None:
    """pytest's closing line is the last one: DuckDB's binding lists its leftovers when the interpreter ends."""
    sys.stderr.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
