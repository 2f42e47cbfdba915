"""The collector of an example lives no longer than whoever started it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import sfumato
from sfumato.client.wire import ask

KILLED = """
import os, signal, sys
from pathlib import Path
from sfumato.demo import credit
from sfumato.demo.loop import serving
if __name__ == "__main__":
    with serving(credit.plan(), Path(sys.argv[1])) as analyst:
        print(analyst.address, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_example_leaves_no_service_behind(tmp_path: Path) -> None:
    (tmp_path / "example.py").write_text(KILLED)
    here = {**os.environ, "PYTHONPATH": str(Path(sfumato.__file__).parents[1])}
    command = [sys.executable, str(tmp_path / "example.py"), str(tmp_path / "store.db")]
    address = subprocess.run(command, env=here, stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
    assert address.startswith("http://127.0.0.1:")
    while ask(f"{address}/health").status:  # until nobody answers any more
        pass
