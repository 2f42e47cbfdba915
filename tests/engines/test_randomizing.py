"""Reports made on a cluster: each record once, the same report whenever it is run, and no two with the same noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import sfumato as sf
from sfumato.channels.program.random_words import noise_generator
from sfumato.cli import run
from sfumato.plan import ReportMaker
from sfumato.plan.batches import Reporting
from sfumato.tables import PLAN_COLUMN
from sfumato.tables.spark import SparkSource
from tests.engines import makers, works
from tests.engines.cluster import Cluster

DOCUMENT = """
[attributes]
age = {low = 20, high = 80, integer = true, channel = "gaussian", privacy = 0.5}
colour = {categories = ["red", "green"], channel = "randomized-response", keep = 0.7}
"""
PLAN = sf.Plan.loads(DOCUMENT)
ROWS = 3_000


@pytest.fixture
def people(tmp_path) -> Path:
    rng = np.random.default_rng(1)
    colours = rng.choice(["red", "green"], ROWS).astype(object)
    table = makers.arrow({"age": rng.integers(20, 81, ROWS), "colour": colours})
    makers.written(table, tmp_path / "people")
    return tmp_path / "people"


def test_a_frame_gives_the_same_reports_whenever_it_is_asked(spark, people):
    frame = spark.read.parquet(str(people)).orderBy("age")
    reports = PLAN.randomize(frame, codes=True)
    first, again = reports.toArrow(), reports.toArrow()
    assert first.column_names == ["age.code", "colour.code"]
    assert first.num_rows == ROWS
    assert first.equals(again)
    assert not first.equals(PLAN.randomize(frame, codes=True).toArrow())  # another job, another secret


def test_reports_are_those_of_each_record_s_own_place(spark, people):
    frame = spark.read.parquet(str(people))
    made = PLAN.randomize(frame.repartition(5), rng=7).toArrow()
    known = parquet.read_table(people)
    secret = noise_generator(7).bytes(32)
    here = ReportMaker(PLAN, ("age", "colour"), secret=secret)(np.arange(ROWS), known)
    assert sorted(made.to_pylist(), key=str) == sorted(here.to_pylist(), key=str)


def test_files_become_a_folder_that_says_its_plan(spark, spark_cluster, people, tmp_path, capsys):
    plan = tmp_path / "plan.toml"
    plan.write_text(DOCUMENT)
    command = ["randomize", str(plan), *map(str, sorted(people.iterdir())), "-o", str(tmp_path / "reports"), "--engine"]
    assert run([*command, spark_cluster.address]) == 0
    assert "3,000 reports written" in capsys.readouterr().out
    reports = sf.Reports(tmp_path / "reports", PLAN)
    assert len(reports) == ROWS
    told = parquet.read_table(tmp_path / "reports")
    assert set(told.column(PLAN_COLUMN).to_pylist()) == {PLAN.origin}
    assert run([*command, spark_cluster.address]) == 2
    assert "is there already; name a folder that is not" in capsys.readouterr().err


def test_a_worker_that_dies_changes_no_report(spark, spark_cluster: Cluster, people, tmp_path):
    source = SparkSource(spark.read.parquet(str(people)).repartition(6))
    maker = ReportMaker(PLAN, ("age", "colour"), secret=b"s" * 32)
    schema = maker.schema.append(pa.field("place", pa.int64()))
    marks = tmp_path / "begun"
    marks.mkdir()
    expected = source.mapped(works.Placed(Reporting(maker, None)), ("age", "colour"), schema).toArrow()
    slow = source.mapped(works.Placed(Reporting(maker, None), marks), ("age", "colour"), schema)
    with works.a_worker_dies(spark_cluster, marks):
        slow.write.parquet(str(tmp_path / "reports"))
    found = parquet.read_table(tmp_path / "reports").sort_by("place")
    assert found.column("place").to_pylist() == list(range(ROWS))
    assert found.equals(expected.sort_by("place"))
    assert len(list(marks.glob("begun-*"))) > 6  # a share was begun again


# --- bad input ----------------------------------------------------------------------------------------------------


def test_records_that_cannot_be_told_apart_are_refused(spark, people):
    frame = spark.read.parquet(str(people))
    with pytest.raises(ValueError, match=r"^several rows have the place \d+; give each row its own"):
        PLAN.randomize(frame.selectExpr("explode(array(1, 2)) as twice", "*").drop("twice"))
    with pytest.warns(UserWarning), pytest.raises(ValueError, match=r"^the rows of this Spark frame have no numbers"):
        PLAN.randomize(frame.union(frame))


def test_an_answer_that_is_none_is_named_by_its_row(spark, tmp_path):
    table = pa.table({"age": [30] * 7 + [99], "colour": ["red"] * 8})
    makers.written(table, tmp_path / "people")
    with pytest.raises(ValueError, match=r"^row 8, column 'age': "):
        PLAN.randomize(spark.read.parquet(str(tmp_path / "people")), to=tmp_path / "reports")


def test_what_a_job_cannot_do_is_refused(spark, people):
    frame = spark.read.parquet(str(people))
    with pytest.raises(ValueError, match=r"^key is for tables in memory"):
        PLAN.randomize(frame, key="age")
    with pytest.raises(ValueError, match=r"^column 'colour' of the plan is not in the table"):
        PLAN.randomize(frame.drop("colour"))
    with pytest.raises(ValueError, match=r"are drawn by shares, anew whenever a task runs; name one level"):
        PLAN.randomize(frame, levels={"age": {"a": 1.0}})
