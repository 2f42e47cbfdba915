"""The page about clusters says what the code does: its blocks run, in order, on the tests' own cluster."""

import re
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from tests.engines import makers

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "use-a-cluster.md"
PLAN = """
name = "town"
[attributes.age]
low = 20
high = 80
channel = "gaussian"
privacy = 0.5
[attributes.group]
categories = ["A", "B"]
role = "class"
"""


@pytest.mark.filterwarnings("error:the rows of this Spark frame")
def test_the_page_about_clusters_runs(spark, spark_cluster, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN)
    rng = np.random.default_rng(1)
    age = rng.uniform(20, 80, 2_000)
    people = {"age": age, "group": np.where(age < 50, "A", "B").astype(object)}
    reports = sf.Plan.loads(PLAN).randomize(people, rng)
    region = rng.choice(["north", "south"], 2_000).astype(object)
    table = makers.arrow({**reports, "region": region, "number": np.arange(2_000)})
    makers.written(table.slice(0, 1_500), tmp_path / "reports")
    makers.written(table.slice(1_500), tmp_path / "late")
    makers.written(makers.arrow(people), tmp_path / "people")
    names: dict[str, object] = {}
    for block in re.findall(r"^```py\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        exec(block.replace("/data/", f"{tmp_path}/").replace("spark://host:7077", spark_cluster.address), names)
    told = capsys.readouterr().out
    assert "age" in told
    assert "2,000 reports" in told
    assert "2,000 answers blurred" in told
