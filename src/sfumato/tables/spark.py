"""Read rows on a Spark cluster: work is sent to the workers, and its results come back.

A row's *place* is its number in the Parquet files, one after the other by their paths, as for every other reader of the
same files; or the number in the column that ``place`` names. Rows from anywhere else have no number that stays: they
get Spark's own, partition · 2³³ + position, and a warning.

Spark runs a task again when a worker is lost. The same rows have the same places then, so the same result is made.
"""

from __future__ import annotations

import logging
import os
import pickle
import re
import shutil
import socket
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import accumulate, chain
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sfumato.domain import as_array
from sfumato.tables.frames import BATCH_ROWS, PLAN_COLUMN, Result, RowBatch, Source
from sfumato.tables.inputs import Files

PLACE = "sfumato.place"  # the column that is added to a frame: the place of each row
FILE = "sfumato.file"  # the column of the path of each row's file
FIRST = "sfumato.first"  # the column of the place of the first row of each row's file
ROW = "sfumato.row"  # the column of each row's number within its file
SECONDS_TO_ANSWER = 5.0
"""How long a cluster's address may take to accept a connection. By judgement: on a network it takes milliseconds; Spark
itself would try for minutes before it says that nobody answers."""
# Settings of a session that leave the terminal to sfumato: no page of Spark's own, no progress bars, errors only.
QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
# The warning, and for written files the error, for rows whose places may change.
UNSTEADY = (
    "the rows of this Spark frame have no numbers that stay, so that a record may change its fold or its noise when "
    "Spark runs a task again; read Parquet files directly, or name a column of whole numbers: place="
)


class SparkSource(Source):
    """A table in a Spark frame (rows spread over a cluster's workers), which is read where the rows are.

    Each row has a number (its place) by which it stays the same when Spark runs a task again. ``frame``: the Spark
    frame. ``place``: the column of whole numbers that holds the places; None: rows are numbered as in the Parquet
    files. ``files``: the Parquet files that the frame reads, in the order in which their rows are numbered; None: by
    name.
    """

    kind = "spark"

    def __init__(self, frame: Any, place: str | None = None, files: Sequence[Path] | None = None) -> None:
        self.names, self.origins, self._unsteady = list(frame.columns), [], False
        with in_one_line():
            if place is not None:
                self._placed = self._by_column(frame, place)
            elif _has_row_numbers(frame):
                self._placed = self._by_files(frame, files)
            else:
                warnings.warn(UNSTEADY, stacklevel=2)
                self._placed, self._unsteady = self._as_they_come(frame), True

    @classmethod
    def of_paths(cls, session: Any, data: Any, place: str | None = None) -> SparkSource:
        """Open Parquet files as a table that a Spark cluster reads.

        ``session``: the Spark session; ``place``: the column that numbers the rows (None: their order in the files).
        ``data``: paths, folders and patterns on this machine, which the workers must see as well; or addresses of files
        elsewhere, as Spark takes them.
        """
        given = [data] if isinstance(data, (str, Path)) else list(data)
        if any(re.match(r"\w+:/", str(name)) for name in given):
            files, names = None, [str(name) for name in given]
        else:
            files = [Path(os.path.abspath(path)) for path in Files.named(data)]
            names = [re.sub(r"([][{}*?\\])", r"\\\1", str(path)) for path in files]  # no pattern any more
        with in_one_line():
            frame = session.read.parquet(*names)
        return cls(frame, place, files)

    def gather(self, work: Callable[[Iterator[RowBatch]], Result], columns: Sequence[str]) -> list[Result]:
        chosen, names = self._chosen(columns)
        with in_one_line():
            shares = chosen.mapInArrow(ReduceShare(work, names), "result binary").collect()
        results = [pickle.loads(share.result) for share in shares]
        for result in results:
            if isinstance(result, RefusedShare):
                raise result.error
        return results

    def mapped(self, make: Callable[[Any, Any], Any], columns: Sequence[str], schema: Any) -> Any:
        """Return a Spark frame of new rows, which ``make`` makes on the workers from each batch of rows.

        ``make``: a function from (the rows' numbers, an Arrow table of them) to an Arrow table; ``columns``: which
        columns it gets; ``schema``: the Arrow schema of what it returns. Spark makes the rows anew whenever the frame
        is read, so every row needs a number (its place) that stays and that no other row has.
        """
        if self._unsteady:
            raise ValueError(UNSTEADY)
        chosen, names = self._chosen(columns)
        with in_one_line():
            twice = self._placed.groupBy(_column(PLACE)).count().filter("count > 1").first()
            if twice is not None:
                raise ValueError(f"several rows have the place {twice[0]}; give each row its own, in a column: place=")
            form = self._placed.sparkSession.createDataFrame(schema.empty_table()).schema
            return chosen.mapInArrow(MapShare(make, names), form)

    def _chosen(self, columns: Sequence[str]) -> tuple[Any, list[str]]:
        """Return (a frame with only these columns and the numbers of the rows, the list of its columns' names).

        In the frame they are called c0, c1, …, because Spark splits names at dots.
        """
        for name in columns:
            self._check(name)
        names = [*dict.fromkeys(columns), PLACE]
        return self._placed.select(*(_column(name).alias(f"c{number}") for number, name in enumerate(names))), names

    def _check(self, name: str) -> None:
        """Raise ValueError unless the table has a column of this name."""
        if name not in self.names:
            raise ValueError(f"column {name!r} is not in the table; it has {', '.join(self.names)}")

    # --- the frame with one more column, the place of each row ------------------------------------------------------

    def _by_column(self, frame: Any, place: str) -> Any:
        """Return the frame with one more column, the number of each row, copied from the column ``place``."""
        self._check(place)
        kind = dict(frame.dtypes)[place]
        if kind not in ("tinyint", "smallint", "int", "bigint"):
            raise ValueError(f"column {place!r} is of type {kind}; place= names a column of whole numbers")
        return frame.withColumn(PLACE, _column(place).cast("long"))

    def _by_files(self, frame: Any, files: Sequence[Path] | None) -> Any:
        """Return the frame with one more column, the number of each row, which runs on from Parquet file to file.

        ``files``: their order; None: by name. The number of each file's first row comes from a join with the small
        table of files, which every worker gets.
        """
        import pyarrow
        from pyspark.sql.functions import broadcast, col

        read = {Path(_path(file)): file for file in frame.inputFiles()}
        if skipped := sorted(set(files or ()) - set(read)):
            raise ValueError(f"{skipped[0]}: Spark reads no file whose name begins with '_' or '.'; rename it")
        ordered = [read[path] for path in files or sorted(read)]
        footers = _footers(frame.sparkSession, ordered)
        self.origins = [origin for _, origin in footers]
        first = pyarrow.table({
            FILE: [re.sub("^file:/+", "file:/", file) for file in ordered],
            FIRST: [0, *accumulate(rows for rows, _ in footers)][:-1],
        })  # fmt: skip
        numbered = frame.select("*", col("_metadata.file_path").alias(FILE), col("_metadata.row_index").alias(ROW))
        joined_frame = numbered.join(broadcast(frame.sparkSession.createDataFrame(first)), [FILE], "left")
        return joined_frame.withColumn(PLACE, _column(FIRST) + _column(ROW))

    def _as_they_come(self, frame: Any) -> Any:
        """Return the frame with one more column, Spark's own row numbers, which may change when a task runs again."""
        from pyspark.sql.functions import monotonically_increasing_id

        return frame.withColumn(PLACE, monotonically_increasing_id())


def _column(name: str) -> Any:
    """Return a Spark column by its name, quoted, so that dots in the name do no harm."""
    from pyspark.sql.functions import col

    return col("`" + name.replace("`", "``") + "`")


def _has_row_numbers(frame: Any) -> bool:
    """Return whether Spark knows each row's file and its number in the file, as it does for Parquet files."""
    from pyspark.errors import AnalysisException

    try:
        frame.select("_metadata.file_path", "_metadata.row_index")
    except AnalysisException:
        return False
    return True


def _footers(session: Any, files: Sequence[str]) -> list[tuple[int, str | None]]:
    """Return (the number of rows, the plan that the metadata name or None) of each Parquet file, in a list.

    Only the ends of the files are read, through Spark.
    """
    from py4j.protocol import Py4JJavaError

    jvm, settings = session.sparkContext._jvm, session.sparkContext._jsc.hadoopConfiguration()
    parquet, path_of = jvm.org.apache.parquet.hadoop, jvm.org.apache.hadoop.fs.Path

    def footer(file: str) -> tuple[int, str | None]:
        try:
            opened = parquet.util.HadoopInputFile.fromPath(path_of(jvm.java.net.URI(file)), settings)
            reader = parquet.ParquetFileReader.open(opened)
        except Py4JJavaError:
            raise ValueError(f"{_path(file)}: not a readable Parquet file; write it again, or leave it out") from None
        try:
            return reader.getRecordCount(), reader.getFileMetaData().getKeyValueMetaData().get(PLAN_COLUMN)
        finally:
            reader.close()

    with ThreadPoolExecutor(16) as pool:
        return list(pool.map(footer, files))


def write_parquet(frame: Any, folder: str) -> int:
    """Write a Spark frame to a new folder of Parquet files; return how many rows were written."""
    with in_one_line():
        frame.write.parquet(folder)
        return int(frame.sparkSession.read.parquet(folder).count())


# --- on the workers -----------------------------------------------------------------------------------------------


class RefusedShare:
    """An error about bad rows that a worker sends back as its result, to be raised in the calling process.

    Raised on the worker, it would make Spark run the task again.
    """

    def __init__(self, error: Exception) -> None:
        self.error = error


class ReduceShare:
    """A function that a Spark worker runs on its part of the rows: it yields a row with the pickled result of ``work``.

    ``work``: a function from an iterator of batches of rows to a result; ``names``: of their columns. A part without
    rows yields nothing.
    """

    def __init__(self, work: Callable[[Iterator[RowBatch]], Any], names: Sequence[str]) -> None:
        self.work, self.names = work, list(names)

    def __call__(self, arrived: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        batches = joined(arrived, self.names)
        try:
            first = next(batches, None)
            if first is None:
                return
            result = self.work(chain([first], batches))
        except (ValueError, TypeError) as error:
            result = RefusedShare(error)
        yield pyarrow.RecordBatch.from_pydict({"result": [pickle.dumps(result)]})


class MapShare:
    """A function that a Spark worker runs on its part of the rows: it yields what ``make`` makes of each batch.

    ``make``: a function from (the rows' numbers, an Arrow table of them) to an Arrow table; ``names``: of the columns.
    """

    def __init__(self, make: Callable[[Any, Any], Any], names: Sequence[str]) -> None:
        self.make, self.names = make, list(names)

    def __call__(self, arrived: Iterator[Any]) -> Iterator[Any]:
        for batch in joined(arrived, self.names):
            yield from self.make(batch.places, batch.table).to_batches()


def joined(arrived: Iterator[Any], names: list[str]) -> Iterator[RowBatch]:
    """Join the small batches of rows that Spark sends to batches of about BATCH_ROWS rows, and yield these.

    ``arrived``: Spark's batches; ``names``: the columns' own names, which Spark's batches lack.
    """
    waiting: list[Any] = []
    for batch in arrived:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= BATCH_ROWS:
            yield _batch(waiting, names)
            waiting = []
    if any(one.num_rows for one in waiting):
        yield _batch(waiting, names)


def _batch(parts: list[Any], names: list[str]) -> RowBatch:
    """Join Arrow batches of rows to one ``RowBatch``, with the number of each row; a row without a number is an error.

    ``names``: the columns' own names.
    """
    import pyarrow

    table = pyarrow.Table.from_batches(parts).rename_columns(names)
    places = table.column(PLACE)
    if places.null_count:
        raise ValueError("a row has no place; number all rows in the column that place= names")
    return RowBatch(as_array(places), table.drop_columns([PLACE]))


# --- where Spark is -----------------------------------------------------------------------------------------------


def session_at(master: str) -> Any:
    """Return a Spark session, the connection to the cluster at an address: "spark://host:7077", "local[2]", "yarn".

    It is the session that runs already, if there is one. Everything else is as Spark's own settings say
    (``spark-defaults.conf``).
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise ImportError("a Spark cluster needs PySpark; install sfumato[spark]") from None
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        raise ValueError("Spark needs Java 17 or later; install it (Debian: apt-get install default-jre-headless)")
    settings = {**QUIET, **_near(master), "spark.master": master}
    session = SparkSession.getActiveSession()
    with in_one_line():
        session = session or SparkSession.builder.appName("sfumato").config(map=settings).getOrCreate()
    if session.sparkContext.master != master:
        other = session.sparkContext.master
        raise ValueError(f"a session with {other} runs in this process; stop it before one with {master} begins")
    return session


def _near(master: str) -> dict[str, str]:
    """Return the Spark settings, as a dict, for a cluster on this machine: the loopback address; others need none.

    The workers of a cluster on this machine are told to run the same Python. ``master``: the cluster's address.
    """
    hosts = re.findall(r"([^/,\s]+):(\d+)", master) if master.startswith("spark://") else []
    if master.startswith("spark://"):
        _check_answers(master, hosts)
    if not master.startswith("local") and not any(host in ("127.0.0.1", "localhost") for host, _ in hosts):
        return {}
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def _check_answers(master: str, hosts: Sequence[tuple[str, str]]) -> None:
    """Raise ValueError if none of a cluster's hosts accepts a connection; Spark itself would try for minutes.

    ``master``: the cluster's address, for the error; ``hosts``: (host, port) of each.
    """
    for host, port in hosts:
        try:
            socket.create_connection((host, int(port)), SECONDS_TO_ANSWER).close()
            return
        except OSError:
            continue
    raise ValueError(f"no Spark cluster answers at {master}; start it, or correct the address (spark://host:7077)")


# --- what went wrong ----------------------------------------------------------------------------------------------

BRING_ALONG = "send the environment along with the job (docs/how-to/use-a-cluster.md)"
EXPLANATIONS = (
    (r"No module named '([\w.]+)'", f"the workers have no {{0}}; {BRING_ALONG}"),
    (
        r"PYTHON_VERSION_MISMATCH.*?(\d+\.\d+)\D.*?(\d+\.\d+)",
        f"the workers run Python {{0}} and this process {{1}}; {BRING_ALONG}",
    ),
    (
        r'Cannot run program "([^"]*)"',
        f"the workers have no Python at {{0}}; name theirs in PYSPARK_PYTHON, or {BRING_ALONG}",
    ),
    (r"PATH_NOT_FOUND\].*?: (.*?)\. SQLSTATE", "{0}: no such file"),
    (r"PATH_ALREADY_EXISTS\].*?(\w+:\S+) already", "{0}: is there already; name a folder that is not"),
    (r"FAILED_READ_FILE.*?reading file (.*?)\.\s", "{0}: not a readable Parquet file; write it again, or leave it out"),
    (r"JAVA_GATEWAY_EXITED|UnsupportedClassVersionError", "Java did not start Spark; Spark needs Java 17 or later"),
)
"""(a pattern in Spark's error, the line that says what is wrong and what to do), tried in this order."""


@contextmanager
def in_one_line() -> Iterator[None]:
    """Turn Spark's errors raised inside this context, of a hundred lines each, into errors in one line."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    logging.getLogger("DataFrameQueryContextLogger").setLevel(logging.CRITICAL)  # says the same once more
    try:
        yield
    except (PySparkException, Py4JError) as error:
        words = str(error)
        for pattern, line in EXPLANATIONS:
            if found := re.search(pattern, words, re.DOTALL):
                raise ValueError(line.format(*map(_path, found.groups()))) from None
        if refused := re.search(r"^(ValueError|TypeError): (.*)$", words, re.MULTILINE):
            raise {"ValueError": ValueError, "TypeError": TypeError}[refused[1]](refused[2]) from None
        named = re.search(r"^\S*(?:Error|Exception): .*$", words, re.MULTILINE)
        raise OSError(f"Spark failed: {named[0] if named else words.splitlines()[0]}") from error


def _path(file: str) -> str:
    """Return the path in an address of a file as Spark writes it: without ``file:/``, and with %20 as a space."""
    return unquote(re.sub("^file:/*", "/", file))
