"""The collector of an example lives no longer than whoever started it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sfumato
from sfumato.client.wire import ask
from sfumato.demo import credit
from sfumato.demo.loop import serving

KILLED = """
import os, signal, sys
from pathlib import Path
from sfumato.demo.loop import serving
with serving(Path(sys.argv[1]), Path(sys.argv[2])) as analyst:
    print(analyst.address, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    (tmp_path / "plan.toml").write_text(credit.PLAN.read_text(encoding="utf-8"))
    return tmp_path / "plan.toml"


def test_a_killed_example_leaves_no_service_behind(plan: Path, tmp_path: Path) -> None:
    here = {**os.environ, "PYTHONPATH": str(Path(sfumato.__file__).parents[1])}
    command = [sys.executable, "-c", KILLED, str(plan), str(tmp_path / "store.db")]
    address = subprocess.run(command, env=here, stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
    assert address.startswith("http://127.0.0.1:")
    while ask(f"{address}/health").status:  # until nobody answers any more
        pass


def test_a_collector_that_cannot_start_is_said(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("name = 1")
    said = r"the collector did not start: .*no attributes"
    with pytest.raises(ValueError, match=said), serving(tmp_path / "bad.toml", tmp_path / "store.db"):
        raise AssertionError
