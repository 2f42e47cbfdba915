"""Property tests look for new examples at home and repeat the same ones in CI; no example is a matter of time."""

from __future__ import annotations

import atexit
import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("home", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("home"), derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "home")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of engines come first: what is taken over from another process is the last that waits there, so that one
    session with the cluster is enough."""
    engines = Path(__file__).parent / "engines"
    items.sort(key=lambda item: engines not in item.path.parents)


@atexit.register
def silence() -> None:
    """pytest's closing line is the last one: DuckDB's binding lists its leftovers when the interpreter ends."""
    sys.stderr.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
