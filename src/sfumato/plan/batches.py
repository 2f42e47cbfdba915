"""Reports of tables that need not fit in memory: files are read, blurred and written block by block."""

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
"""Called with (rows done, rows in all)."""


@dataclass(frozen=True)
class ReportMaker:
    """What makes reports of any part of a table, in this process or on the workers of a cluster: it can be pickled.

    ``maker(places, answers)`` are the reports of an Arrow table of answers as an Arrow table with ``maker.schema``,
    which is known before the first row is. With ``secret``, that of one job (see ``RecordWords``), the noise is a
    function of it and of each record's place in the whole table: whoever makes the reports of a record again makes the
    same. Without, it is fresh. ``names`` are the columns of the answers; ``codes``: reports as their codes.
    """

    plan: Plan
    names: tuple[str, ...]
    codes: bool = False
    levels: Mapping[str, Any] | None = None
    secret: bytes | None = field(default=None, repr=False)
    ciphered: bool = field(default_factory=has_cipher)

    @cached_property
    def schema(self) -> Any:
        """Names and types of what leaves, by the plan alone."""
        import pyarrow as pa

        self.plan.check_columns(list(self.names))
        fields: dict[str, Any] = {}
        for column in self.names:
            each = self.plan.columns.get(column)
            if each is None or column in fields or column + CODE_SUFFIX in fields:
                continue
            if self.codes and each.columns == (column,) and each.channel is not None:
                fields[column + CODE_SUFFIX] = pa.from_numpy_dtype(_code_type(each))
            else:
                fields |= {name: _report_type(each) for name in each.columns}
            if each.has_levels:
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
    """Reports for the people in files (paths, patterns, folders), written to one file; how many there are."""
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
    """Files whose columns are those of the first."""
    files = [table_file(path, text=text_columns(plan), empty=plan.empty) for path in paths]
    names = {}
    for file in files:
        with file.refusing():
            names[file.path] = file.names
    check_alike(names)
    return files


def _blocks(plan: Plan, files: Sequence[TableFile]) -> Iterator[tuple[TableFile, int, Any]]:
    """(file, the block's first row within it, a block of answers), file after file."""
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
    """Errors inside name the row, where one true answer is at fault."""
    try:
        yield
    except (ValueError, TypeError):
        check_answers(plan, answers, first_row + np.arange(answers.num_rows))
        raise


def check_answers(plan: Plan, answers: Any, places: NDArray[Any] | None = None) -> None:
    """Every true answer is one; the first that is not is named by its row (``places``: in the whole table)."""
    for name, each in plan.attributes.items():
        if name in answers.column_names and not isinstance(each.domain, Items):
            each.check_values(answers.column(name), places)


# --- on a cluster --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClusterJob:
    """How the records of a Spark frame become reports; the secret of the noise is the job's own."""

    plan: Plan
    codes: bool = False
    levels: Mapping[str, Any] = field(default_factory=dict)
    place: str | None = None
    rng: np.random.Generator | None = None

    def of_frame(self, frame: Any) -> Any:
        """The reports as a Spark frame, which makes them whenever it is asked: always the same."""
        spark = import_module("sfumato.tables.spark")
        return self._reports(spark.SparkSource(frame, self.place), None)

    def of_files(self, sources: Any, engine: str | None, to: str | Path) -> int:
        """The reports in a new folder of Parquet files, each with the plan in a column; how many there are."""
        spark = import_module("sfumato.tables.spark")
        if engine is None:
            source = spark.SparkSource(sources, self.place)
        else:
            source = spark.SparkSource.of_paths(spark.session_at(engine), sources, self.place)
        return int(spark.write_parquet(self._reports(source, self.plan.origin), str(to)))

    def _reports(self, source: Any, origin: str | None) -> Any:
        import pyarrow as pa

        if any(said is not None for said in source.origins):
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
    """What a worker does with a batch of answers; an answer that is none is named by its row in the whole table."""

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


def _report_type(each: Attribute) -> Any:
    """The Arrow type of an attribute's column: whole numbers where all reports are, and gaps besides."""
    import pyarrow as pa

    each.check_fits_a_column()
    spaces = [each.domain] if each.channel is None else [level.outputs for level in each.channel.levels.values()]
    known = [_some_values(space) for space in spaces]
    return pa.array([value for values in known for value in values], from_pandas=True).type if known else pa.float64()


def _some_values(space: Any) -> list[Any]:
    """Values of every type that a space of codes or a domain has."""
    if isinstance(space, Categories):
        return list(texts_of(space.label_array) if space.mixed else space.labels)
    if hasattr(space, "decode"):
        return list(np.asarray(space.decode(np.zeros(1, dtype=np.int64))).tolist())
    return [int(space.low) if space.integer else float(space.low)]


def _code_type(each: Attribute) -> Any:
    """The smallest type that holds every code and −1."""
    assert isinstance(each.channel, Mechanism)
    return np.min_scalar_type(-max(level.outputs.size for level in each.channel.levels.values()))


def _plain(table: Any) -> Any:
    """Texts instead of dictionaries, whose entries may be nobody's answer."""
    import pyarrow as pa

    for place, each in enumerate(table.schema):
        if pa.types.is_dictionary(each.type):
            table = table.set_column(place, each.name, table.column(place).cast(each.type.value_type))
    return table


def _typed(table: Any, schema: Any) -> Any:
    """The table in a schema; NaN is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for each in schema:
        column = table.column(each.name)
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), None, column)
        columns.append(column.cast(each.type))
    return pa.table(columns, schema=schema)
