"""The role of each column: proposed from its name and its values, unless the owner states one.

    identifier        names a person (a number of its own, a name, an address): it is left out of the release
    quasi-identifier  others may know it about a person: intruders link by it, and k-anonymity is counted on it
    sensitive         nobody should learn it about a person: intruders guess it, and l-diversity is counted on it
    free              neither harmful nor secret: it stays as it is, like a column in ``keep``, with the risk of that
    constant          the same in every record: it stays as it is
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.domain import Codes, is_missing
from sfumato.microdata.table.fields import Microdata, is_almost_unique
from sfumato.microdata.table.forms import Column

ROLES = ("identifier", "quasi-identifier", "sensitive", "free", "constant")
NAMING = re.compile(
    r"(?i)(^|[^a-z])(id|uuid|guid|ssn|iban|e-?mail|phone|mobile|(first|last|full|sur)?_?name|address|passport|account"
    r"|patient|customer|record|row|index)([^a-z]|$)|(?<=[a-z])(Id|ID)$|^unnamed: ?0$"
)
"""Names that suggest identifiers; a column is one only if nearly every record has a value of its own, too."""

NO_VALUE = "missing in every record"  # the reason why a column without values is constant


@dataclass(frozen=True)
class Roles:
    """The role of every column in a release (identifier, sensitive, …), and the reason for it, by name."""

    by_column: dict[str, str]
    reasons: dict[str, str]

    def having(self, role: str) -> list[str]:
        """Return a list of the names of the columns with a role."""
        return [name for name, own in self.by_column.items() if own == role]

    def notes(self) -> list[str]:
        """Return sentences for the owner: which columns are left out of the release and why, and which are empty."""
        left_out = [f"{name} is left out of the release: {self.reasons[name]}" for name in self.having("identifier")]
        empty = [name for name, reason in self.reasons.items() if reason == NO_VALUE]
        return [*left_out, *(f"{name} is {NO_VALUE} and stays so" for name in empty)]


def agree_roles(columns: Mapping[str, Column], target: str | None, given: Mapping[str, str] | None = None) -> Roles:
    """Return a role for every column: proposed from its values, unless the owner has ``given`` one.

    ``columns``: the values by name. ``target``: the column to be explained.
    """
    wanted = dict(given or {})
    for name, role in wanted.items():
        if name not in columns:
            raise ValueError(f"roles names {name!r}, which the table lacks; its columns are {', '.join(columns)}")
        if role not in ROLES:
            raise ValueError(f"role {role!r} of {name!r} is unknown; choose {', '.join(ROLES)}")
    if target is not None and wanted.get(target) == "identifier":
        raise ValueError(f"target {target!r} cannot be an identifier, which is left out; choose another role")
    by_column, reasons = {}, {}
    for name, column in columns.items():
        role, reason = propose_role(name, column) if name != target else ("sensitive", "it is the target")
        if wanted.get(name, role) == "constant" != role and name in wanted:
            raise ValueError(f"column {name!r} is not constant; choose another role")
        by_column[name] = wanted.get(name, role)
        reasons[name] = "the owner said so" if name in wanted else reason
    return Roles(by_column, reasons)


def propose_role(name: str, column: Column) -> tuple[str, str]:
    """Propose a column's role from its name and its values; return it with the reason."""
    values = [value for value in column.tolist() if not is_missing(value)] if column.dtype.kind == "O" else column
    present = np.asarray(values)[~np.isnan(values)] if column.dtype.kind == "f" else values
    distinct = len(set(present if isinstance(present, list) else np.unique(present).tolist()))
    if distinct <= 1:
        return "constant", "one value only" if distinct else NO_VALUE
    if column.dtype.kind == "O" and is_almost_unique(distinct, len(present)):
        return "identifier", f"{distinct:,} different texts in {len(present):,} records"
    if column.dtype.kind in "iu" and distinct == len(present) > 20 and int(column.max()) - int(column.min()) < distinct:
        return "identifier", "it numbers the records"
    if NAMING.search(name) and column.dtype.kind in "Oiu" and len(present) > 20 and distinct >= 0.9 * len(present):
        return "identifier", "its name says so, and nearly every record has a value of its own"
    return "quasi-identifier", "others may know it"


def load_roles(path: str | Path) -> dict[str, str]:
    """Read roles from a TOML file with a table ``[roles]`` of lines ``column = "role"``."""
    try:
        document: dict[str, Any] = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not readable TOML ({error}); write [roles] and lines like age = \"free\"") from None
    roles = document.get("roles", document)
    if not isinstance(roles, dict) or not all(isinstance(role, str) for role in roles.values()):
        raise ValueError(f"{path}: roles are not texts; write [roles] and lines like age = \"free\"")
    return dict(roles)


# --- groups of equal quasi-identifiers --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Anonymity:
    """How well records hide in groups with equal quasi-identifiers, the columns that others may know.

    ``uniques``: the share of records that are alone in their group. ``k``: the size of the smallest group. ``l``: the
    fewest different sensitive values in a group (1 where nothing is sensitive).
    """

    uniques: float
    k: int
    l: int  # noqa: E741 (its name in the literature)


def anonymity(data: Microdata, quasi: list[str], sensitive: list[str]) -> Anonymity:
    """Measure how well records hide in groups with equal values in some columns; return an `Anonymity`.

    ``quasi``: the columns that others may know. ``sensitive``: those that nobody should learn.
    """
    group = groups(data, quasi)
    size = np.bincount(group)
    fewest = size.max()
    for name in sensitive:
        own = group * (size.size + len(data.y)) + groups(data, [name])
        fewest = min(fewest, np.bincount(np.unique(own) // (size.size + len(data.y))).min())
    return Anonymity(float((size == 1).sum() / group.size), int(size.min()), int(fewest) if sensitive else 1)


def groups(data: Microdata, names: list[str]) -> Codes:
    """Return the number of each record's group: records with equal values in all these columns (NaN equals NaN)."""
    code = np.zeros(len(data.y), dtype=np.int64)
    for name in names:
        column = data.X[:, data.index(name)] if name in data.names else data.y
        own = np.unique(column, return_inverse=True)[1]
        code = np.unique(code * (own.max() + 1) + own, return_inverse=True)[1]
    return code
