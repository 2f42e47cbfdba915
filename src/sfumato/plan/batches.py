"""Blurring of tables that need not fit in memory: files block by block, and Spark frames on a cluster."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.mechanism import Mechanism
from sfumato.channels.program.random_words import RecordWords, has_cipher
from sfumato.domain import Categories, Items, texts_of
from sfumato.plan.analysis import as_codes
from sfumato.plan.attribute import Attribute, as_meant, text_columns, with_origin, without_origin
from sfumato.tables import (
    CODE_SUFFIX,
    LEVEL_SUFFIX,
    PLAN_COLUMN,
    Files,
    check_alike,
    check_target,
    name_of,
    naming,
    table_file,
    write_tables,
)
from sfumato.tables.inputs import TableFile

if TYPE_CHECKING:
    from sfumato.plan.document import Plan

Progress = Callable[[int, int], None]
"""A function that is called with (rows done, rows in all)."""


@dataclass(frozen=True)
class ReportMaker:
    """A function that blurs a batch of answers; it can be pickled and sent to the workers of a cluster.

    ``maker(places, answers)`` blurs an Arrow table of answers, whose records have these places in the whole table, and
    returns an Arrow table with the types of ``maker.schema``. ``plan``: how answers are blurred. ``names``: the columns
    of the answers. ``codes``: whether reports are written as codes. ``levels``: by attribute the level of people who
    chose. ``secret``: the secret of one job (see ``RecordWords``), from which and from a record's place its noise
    follows, so that a record that is blurred again gives the same report (None: fresh noise). ``ciphered``: whether
    the package cryptography was there where the job began; all workers must agree.
    """

    plan: Plan
    names: tuple[str, ...]
    codes: bool = False
    levels: Mapping[str, Any] | None = None
    secret: bytes | None = field(default=None, repr=False)
    ciphered: bool = field(default_factory=has_cipher)

    @cached_property
    def schema(self) -> Any:
        """The names and types of the columns of reports, as an Arrow schema, known before the first row is read."""
        import pyarrow as pa

        self.plan.check_columns(list(self.names))
        fields: dict[str, Any] = {}
        for column in self.names:
            attribute = self.plan.columns.get(column)
            if attribute is None or column in fields or column + CODE_SUFFIX in fields:
                continue
            if self.codes and attribute.columns == (column,) and attribute.channel is not None:
                fields[column + CODE_SUFFIX] = pa.from_numpy_dtype(_code_type(attribute))
            else:
                fields |= {name: _report_type(attribute) for name in attribute.columns}
            if attribute.has_levels:
                fields[column + LEVEL_SUFFIX] = pa.string()
        return pa.schema(list(fields.items()))

    def __call__(self, places: NDArray[Any], answers: Any, rng: Any = None) -> Any:
        key = None if self.secret is None else RecordWords(self.secret, places)
        if key is not None and self.ciphered != has_cipher():
            raise ImportError(
                "the package cryptography is on some machines of this job only, so that a record that is run again "
                "would get other noise; install sfumato[fast] on all of them"
            )
        reports = self.plan.randomize(_plain(answers.select(list(self.names))), rng, key=key, levels=self.levels)
        if self.codes:
            reports = as_codes(reports, self.plan)
        return _typed(reports, self.schema)


def randomize_files(
    plan: Plan, sources: Any, to: str | Path, *, rng: np.random.Generator | None = None,
    levels: Mapping[str, Any] | None = None, codes: bool = False, progress: Progress | None = None,
) -> int:
    """Blur the answers in files, block by block, and write the reports to one file; return how many reports.

    ``sources``: paths, patterns or folders. ``to``: the file. The others are those of `Plan.randomize`.
    """
    paths, target = Files.named(sources), Path(to)
    check_target(target, apart=paths)
    files = _opened(plan, paths)
    maker = ReportMaker(plan, tuple(files[0].names), codes, levels)
    with naming(name_of(paths[0])):
        schema = with_origin(maker.schema.empty_table(), plan, target.suffix.lower()).schema
    total, done = sum(file.rows for file in files), 0

    def reports() -> Iterator[Any]:
        nonlocal done
        for file, first_row, block in _blocks(plan, files):
            with file.refusing(), naming_answers(plan, block, first_row):
                made = maker(np.arange(done, done + block.num_rows), block, rng)
            done += block.num_rows
            yield with_origin(made, plan, target.suffix.lower())
            if progress is not None:
                progress(done, total)

    if total == 0:
        raise ValueError(f"{paths}: no rows; the table needs at least one person")
    write_tables(reports(), schema, target)
    return done


def _opened(plan: Plan, paths: Sequence[Path]) -> list[TableFile]:
    """Open files of answers for reading in blocks; raise ValueError if their columns differ from those of the first."""
    files = [table_file(path, text=text_columns(plan), empty=plan.empty) for path in paths]
    names = {}
    for file in files:
        with file.refusing():
            names[file.path] = file.names
    check_alike(names)
    return files


def _blocks(plan: Plan, files: Sequence[TableFile]) -> Iterator[tuple[TableFile, int, Any]]:
    """Yield (file, row of the block's first record in it, block of answers as an Arrow table), file after file."""
    for file in files:
        first_row = 0
        with file.refusing():
            for block in file.blocks():
                answers = without_origin(block, plan, False)
                if block.num_rows:
                    yield file, first_row, answers if file.typed else as_meant(answers, plan, first_row)
                first_row += block.num_rows


@contextmanager
def naming_answers(plan: Plan, answers: Any, first_row: int = 0) -> Iterator[None]:
    """Run the block that blurs ``answers``; where it fails because of a true answer, the error names its row.

    ``answers``: an Arrow table. ``first_row``: the number of its first row, from 0.
    """
    try:
        yield
    except (ValueError, TypeError):
        check_answers(plan, answers, first_row + np.arange(answers.num_rows))
        raise


def check_answers(plan: Plan, answers: Any, places: NDArray[Any] | None = None) -> None:
    """Raise an error that names the row of the first answer that the plan does not allow.

    ``answers``: an Arrow table. ``places``: the records' row numbers in the whole table (None: from 0).
    """
    for name, attribute in plan.attributes.items():
        if name in answers.column_names and not isinstance(attribute.domain, Items):
            attribute.check_values(answers.column(name), places)


# --- on a cluster --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClusterJob:
    """A job that blurs people's answers, in a Spark frame or in files, on a cluster, with a secret of its own.

    A record's noise follows from the secret and its number, so that one that is run again gives the same report.

    Fields as the parameters of `Plan.randomize`; ``rng`` makes the secret in simulations.
    """

    plan: Plan
    codes: bool = False
    levels: Mapping[str, Any] = field(default_factory=dict)
    place: str | None = None
    rng: np.random.Generator | None = None

    def of_frame(self, frame: Any) -> Any:
        """Blur a Spark frame of answers; return a Spark frame of their reports.

        It computes the reports whenever it is read, always the same.
        """
        spark = import_module("sfumato.tables.spark")
        return self._reports(spark.SparkSource(frame, self.place), None)

    def of_files(self, sources: Any, engine: str | None, to: str | Path) -> int:
        """Blur the answers in files and write their reports to a new folder of Parquet files; return how many reports.

        ``sources``: the files of answers (paths or patterns), or a Spark frame if ``engine`` is None. ``engine``: the
        address of the cluster. ``to``: the new folder; its files name the plan in a column.
        """
        spark = import_module("sfumato.tables.spark")
        if engine is None:
            source = spark.SparkSource(sources, self.place)
        else:
            source = spark.SparkSource.of_paths(spark.session_at(engine), sources, self.place)
        return int(spark.write_parquet(self._reports(source, self.plan.origin), str(to)))

    def _reports(self, source: Any, origin: str | None) -> Any:
        """Return the Spark frame of the reports of ``source``, the answers.

        ``origin``: the text that names the plan in a column (None: no such column).
        """
        import pyarrow as pa

        if any(origin_named is not None for origin_named in source.origins):
            raise ValueError(f"{PLAN_COLUMN!r} says that these are reports; true answers are needed here")
        for name, level in self.levels.items():
            if isinstance(level, Mapping):
                raise ValueError(f"levels of {name!r} are drawn by shares, anew whenever a task runs; name one level")
        names = tuple(name for name in source.names if name != self.place)
        secret = secrets.token_bytes(32) if self.rng is None else self.rng.bytes(32)
        maker = ReportMaker(self.plan, names, self.codes, self.levels, secret)
        schema = maker.schema if origin is None else maker.schema.append(pa.field(PLAN_COLUMN, pa.string()))
        return source.mapped(Reporting(maker, origin), names, schema)


@dataclass(frozen=True)
class Reporting:
    """The function that a cluster's worker runs on a batch of answers to blur it; errors name the row.

    ``maker``: what blurs a batch.
    ``origin``: the text that names the plan in a column of the reports (None: no column).
    """

    maker: ReportMaker
    origin: str | None

    def __call__(self, places: NDArray[Any], answers: Any) -> Any:
        import pyarrow as pa

        try:
            reports = self.maker(places, answers)
        except (ValueError, TypeError):
            check_answers(self.maker.plan, answers, places)
            raise
        if self.origin is None:
            return reports
        return reports.append_column(PLAN_COLUMN, pa.array([self.origin] * reports.num_rows, pa.string()))


# --- types --------------------------------------------------------------------------------------------------------


def _report_type(attribute: Attribute) -> Any:
    """Return the Arrow type of an attribute's column of reports: integers where all reports are whole numbers."""
    import pyarrow as pa

    attribute.check_fits_a_column()
    levels = None if attribute.channel is None else attribute.channel.levels.values()
    spaces: list[Any] = [attribute.domain] if levels is None else [level.outputs for level in levels]
    values = [value for space in spaces for value in _some_values(space)]
    return pa.array(values, from_pandas=True).type if values else pa.float64()


def _some_values(space: Any) -> list[Any]:
    """Return some values that reports may take, among them one of every type (number, text) that occurs.

    ``space``: a grid, categories or a domain.
    """
    if isinstance(space, Categories):
        return list(texts_of(space.label_array) if space.mixed else space.labels)
    if hasattr(space, "decode"):
        return list(np.asarray(space.decode(np.zeros(1, dtype=np.int64))).tolist())
    return [int(space.low) if space.integer else float(space.low)]


def _code_type(attribute: Attribute) -> Any:
    """Return the smallest NumPy integer type that holds every report code of an attribute and −1."""
    assert isinstance(attribute.channel, Mechanism)
    return np.min_scalar_type(-max(level.outputs.size for level in attribute.channel.levels.values()))


def _plain(table: Any) -> Any:
    """Return an Arrow table with plain columns in place of dictionary columns, whose unused entries are no answers."""
    import pyarrow as pa

    for index, entry in enumerate(table.schema):
        if pa.types.is_dictionary(entry.type):
            table = table.set_column(index, entry.name, table.column(index).cast(entry.type.value_type))
    return table


def _typed(table: Any, schema: Any) -> Any:
    """Return an Arrow table with the columns and types of a schema; NaN becomes missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for entry in schema:
        column = table.column(entry.name)
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), None, column)
        columns.append(column.cast(entry.type))
    return pa.table(columns, schema=schema)
