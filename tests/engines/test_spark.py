"""Rows on a real cluster: each comes once, with its number, and what goes wrong is said in one line."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from decimal import Decimal
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from sfumato.tables import BATCH_ROWS, PLAN_COLUMN
from sfumato.tables.sources import ParquetSource
from sfumato.tables.spark import SparkSource, joined, session_at
from tests.engines import works
from tests.engines.cluster import Cluster

SIZES = {"day 1/part-10.parquet": 900, "day 1/part-2.parquet": 5, "day-0.parquet": 1_200, "day 2/part-0.parquet": 0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Files of several sizes and row groups, whose values are the numbers of their rows in the files by path."""
    folder = tmp_path_factory.mktemp("table")
    start = 0
    for name in sorted(SIZES):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        values = np.arange(start, start + SIZES[name])
        start += SIZES[name]
        table = pa.table({"value": values, "x.code": values % 7}).replace_schema_metadata({PLAN_COLUMN: "p1"})
        parquet.write_table(table, path, row_group_size=400)
    return folder


def read(spark, folder: Path):
    return spark.read.option("recursiveFileLookup", "true").parquet(str(folder))


def few(spark):
    """Two rows in one partition."""
    return spark.range(0, 2, numPartitions=1)


def gathered(source: SparkSource, work, columns) -> list:
    return [row for share in source.gather(work, columns) for row in share]


def test_every_row_comes_once_with_its_number_in_the_files_by_path(spark, folder):
    source = SparkSource(read(spark, folder))
    rows = gathered(source, works.rows, ["value", "x.code"])
    assert sorted(place for place, _ in rows) == list(range(sum(SIZES.values())))
    assert all(values == (place, place % 7) for place, values in rows)
    assert source.names == ["value", "x.code"]
    assert source.origins == ["p1"] * len(SIZES)


def test_paths_are_numbered_in_the_order_in_which_they_are_named(spark, folder, tmp_path):
    (tmp_path / "[a]*").mkdir()
    paths = [shutil.copy(folder / name, tmp_path / "[a]*") for name in ("day-0.parquet", "day 1/part-2.parquet")]
    rows = sorted(gathered(SparkSource.of_paths(spark, paths), works.rows, ["value"]))
    local = ParquetSource([Path(path) for path in paths])
    assert rows == local.gather(works.rows, ["value"])[0]
    assert [place for place, _ in rows] == list(range(1_205))


def test_rows_that_are_left_out_do_not_change_the_numbers_of_others(spark, folder):
    frame = read(spark, folder).filter("value % 3 = 0").withColumnRenamed("value", "other")
    rows = gathered(SparkSource(frame), works.rows, ["other"])
    assert sorted(rows) == [(value, (value,)) for value in range(0, sum(SIZES.values()), 3)]


def test_a_column_can_say_which_row_is_which(spark, folder):
    frame = read(spark, folder).repartition(3).selectExpr("value * 10 as id", "value")
    rows = gathered(SparkSource(frame, place="id"), works.rows, ["value"])
    assert sorted(rows) == [(value * 10, (value,)) for value in range(sum(SIZES.values()))]


def test_rows_without_numbers_are_told_apart_and_said_to_be_unsteady(spark):
    frame = spark.range(1_000).repartition(4)
    with pytest.warns(UserWarning, match="place="):
        source = SparkSource(frame)
    rows = gathered(source, works.rows, ["id"])
    assert len({place for place, _ in rows}) == 1_000
    assert sorted(values for _, values in rows) == [(value,) for value in range(1_000)]


def test_where_there_are_no_rows_nothing_is_asked(spark, folder):
    nobody = read(spark, folder).filter("value < 0")
    assert SparkSource(nobody).gather(works.counted, ["value"]) == []
    assert SparkSource(spark.range(0, 2, numPartitions=3), place="id").gather(works.counted, []) == [1, 1]


def test_columns_arrive_as_they_were(spark, tmp_path):
    table = pa.table({
        "number": pa.array([1.5, float("nan"), None]),
        "decimal": pa.array([Decimal("1.50"), None, Decimal("-2")], pa.decimal128(9, 2)),
        "label": pa.array(["a", None, "a"]).dictionary_encode(),
        "short": pa.array([1, None, -3], pa.int8()),
    })  # fmt: skip
    parquet.write_table(table, tmp_path / "kinds.parquet")
    source = SparkSource(spark.read.parquet(str(tmp_path / "kinds.parquet")))
    [[number, decimal, label, short]] = source.gather(works.read, table.column_names)
    np.testing.assert_array_equal(number, [1.5, np.nan, np.nan])
    np.testing.assert_array_equal(decimal, [1.5, np.nan, -2])
    assert label == ["a", None, "a"]
    np.testing.assert_array_equal(short, [1, np.nan, -3])


def test_small_batches_are_joined():
    small = pa.RecordBatch.from_pydict({"c0": list(range(1_000)), "c1": list(range(1_000))})
    sizes = [len(batch.places) for batch in joined(iter([small] * 600), ["value", "sfumato.place"])]
    assert sum(sizes) == 600_000
    assert all(BATCH_ROWS <= size < BATCH_ROWS + 1_000 for size in sizes[:-1])
    assert list(joined(iter([small.slice(0, 0)]), ["value", "sfumato.place"])) == []


def test_a_job_outlives_a_worker(spark, spark_cluster: Cluster, folder, tmp_path):
    source = SparkSource(read(spark, folder).repartition(6))
    with works.a_worker_dies(spark_cluster, tmp_path):
        rows = gathered(source, partial(works.held_up, tmp_path), ["value"])
    assert sorted(rows) == [(value, (value,)) for value in range(sum(SIZES.values()))]
    assert len(list(tmp_path.glob("begun-*"))) > 6  # a share was begun again


# --- bad input ----------------------------------------------------------------------------------------------------


def test_what_the_work_refuses_is_said_as_it_is(spark, folder):
    with pytest.raises(ValueError, match=r"^row 6, column 'value': too much$"):
        SparkSource(read(spark, folder)).gather(works.refuse, ["value"])


def test_what_fails_on_a_worker_is_named(spark):
    with pytest.raises(OSError, match=r"^Spark failed: LookupError: nobody knows$"):
        SparkSource(few(spark), place="id").gather(works.fail, ["id"])


def test_a_missing_column_is_named(spark):
    with pytest.raises(ValueError, match=r"^column 'age' is not in the table; it has id$"):
        SparkSource(few(spark), place="id").gather(works.counted, ["age"])
    with pytest.raises(ValueError, match=r"^column 'row' is not in the table; it has id$"):
        SparkSource(few(spark), place="row")


def test_places_are_whole_numbers_of_all_rows(spark):
    frame = few(spark).selectExpr("id", "nullif(id, 1) as gap", "'a' as text")
    with pytest.raises(ValueError, match=r"^column 'text' is of type string; place= names a column of whole numbers$"):
        SparkSource(frame, place="text")
    with pytest.raises(ValueError, match=r"^a row has no place; number all rows"):
        SparkSource(frame, place="gap").gather(works.counted, ["id"])


def test_dates_are_refused(spark):
    frame = few(spark).selectExpr("id", "timestamp_seconds(id) as born")
    with pytest.raises(TypeError, match=r"^column 'born' is of type datetime64\[\w+\]; convert it"):
        SparkSource(frame, place="id").gather(works.read, ["born"])


@pytest.mark.parametrize("damage", ["text", "page"])
def test_an_unreadable_part_is_named(spark, folder, tmp_path, damage):
    broken = tmp_path / "table" / "day 1" / "part-10.parquet"
    shutil.copytree(folder, tmp_path / "table")
    broken.write_bytes(b"age,group\n1,2\n" if damage == "text" else b"\xff" * 300 + broken.read_bytes()[300:])
    with pytest.raises(ValueError, match=rf"^{broken}: not a readable Parquet file; write it again, or leave it out$"):
        SparkSource.of_paths(spark, f"{tmp_path}/table/**/*.parquet").gather(works.rows, ["value"])


def test_a_path_that_is_not_there_is_named(spark, tmp_path):
    with pytest.raises(ValueError, match=rf"^{tmp_path}/nothing: no such file$"):
        SparkSource.of_paths(spark, f"file:{tmp_path}/nothing")
    with pytest.raises(ValueError, match=rf"^{tmp_path}/nothing: no such file$"):
        SparkSource.of_paths(spark, tmp_path / "nothing")


def test_a_file_that_spark_would_pass_over_is_named(spark, folder, tmp_path):
    paths = [shutil.copy(folder / "day-0.parquet", tmp_path / name) for name in ("_old.parquet", "new.parquet")]
    with pytest.raises(ValueError, match=r"_old\.parquet: Spark reads no file whose name begins with '_' or '\.'"):
        SparkSource.of_paths(spark, paths)


def test_workers_without_the_package_are_told_what_they_lack(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(_python_without_sfumato(tmp_path)))
    with pytest.raises(ValueError, match=r"^the workers have no sfumato; send the environment .*use-a-cluster\.md\)$"):
        SparkSource(few(spark), place="id").gather(works.counted, ["id"])


def _python_without_sfumato(folder: Path) -> Path:
    """An environment with everything else: a folder of packages adds no further ones."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "bare")], check=True)
    [packages] = (folder / "bare" / "lib").glob("python*/site-packages")
    (packages / "others.pth").write_text(str(Path(np.__file__).parents[1]))
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nexec {folder}/bare/bin/python -E "$@"\n')
    program.chmod(0o755)
    return program


def test_another_python_on_the_workers_is_named(spark, monkeypatch):
    monkeypatch.setattr(spark.sparkContext, "pythonVer", "3.9")
    with pytest.raises(ValueError, match=r"^the workers run Python 3\.\d+ and this process 3\.9; send the environment"):
        SparkSource(few(spark), place="id").gather(works.counted, ["id"])


def test_no_python_on_the_workers_is_said(spark, monkeypatch):
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/nowhere/python")
    with pytest.raises(ValueError, match=r"^the workers have no Python at /nowhere/python; name theirs in"):
        SparkSource(few(spark), place="id").gather(works.counted, ["id"])


def test_there_is_one_session_at_a_time(spark, spark_cluster):
    assert session_at(spark_cluster.address) is spark
    with pytest.raises(ValueError, match=r"^a session with spark://\S+ runs in this process; stop it before"):
        session_at("local[1]")


def fresh(code: str, **environment: str) -> str:
    """What a process without a session says to the code."""
    script = f"from sfumato.tables.spark import session_at\ntry: {code}\nexcept ValueError as error: print(error)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60,
        env={**os.environ, **environment},
    )  # fmt: skip
    return done.stdout.strip()


def test_a_cluster_that_is_not_there_is_waited_for_a_few_seconds_only():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"spark://127.0.0.1:{free.getsockname()[1]}"
        said = fresh(f"session_at({address!r})")
    assert said == f"no Spark cluster answers at {address}; start it, or correct the address (spark://host:7077)"


def test_without_java_it_is_said_what_to_install():
    said = fresh("session_at('local[1]')", PATH="/nowhere", JAVA_HOME="")
    assert said == "Spark needs Java 17 or later; install it (Debian: apt-get install default-jre-headless)"
