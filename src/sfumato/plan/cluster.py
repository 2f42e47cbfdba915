"""Reports made by a job on a cluster: one for each record, however often the cluster runs it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.plan.batches import ReportMaker, check_answers
from sfumato.tables import PLAN_COLUMN

if TYPE_CHECKING:
    from sfumato.plan.document import Plan


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
