"""A command on more reports than its engine may hold: the same tree as in memory."""

import json

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import sfumato as sf
from sfumato import shipping
from sfumato.cli import run
from sfumato.tables import sources

LIMIT = 4 << 20
NAMES = [f"answer {number}" for number in range(9)]
SPEC = {name: {"low": 0, "high": 10, "channel": "gaussian", "privacy": 0.5} for name in NAMES}
PLAN = sf.Plan.from_dict({"name": "long", "attributes": {**SPEC, "group": {"categories": ["A", "B"], "role": "class"}}})


def test_a_tree_from_four_times_the_memory(tmp_path, monkeypatch):
    rng, n = np.random.default_rng(4), 240_000
    people = {name: rng.uniform(0, 10, n) for name in NAMES}
    group = np.where(people[NAMES[0]] + people[NAMES[1]] < 10, "A", "B")
    reports = pa.table(PLAN.randomize({**people, "group": group}, rng))
    assert reports.nbytes > 4 * LIMIT
    parquet.write_table(reports, tmp_path / "reports.parquet", row_group_size=20_000)
    (tmp_path / "plan.json").write_text(PLAN.to_json())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sources, "DUCKDB_MEMORY", f"{LIMIT >> 20}MB")
    monkeypatch.setattr(sources, "BATCH_ROWS", 1 << 13)
    train = "train plan.json reports.parquet --method byclass --holdout 0"
    for engine in ("memory", "duckdb"):
        assert run(f"{train} -o {engine}.json --engine {engine}".split()) == 0
    memory, duckdb = (json.loads((tmp_path / f"{engine}.json").read_text()) for engine in ("memory", "duckdb"))
    assert memory == duckdb
    assert len(shipping.load(tmp_path / "memory.json").model.rules()) > 2
