"""The role of each column: proposed from its name and its values, and overridden by the owner.

    identifier        names a person (a number of its own, a name, an address): not in the release
    quasi-identifier  others may know it of a person; linkage looks for it, uniques and k-anonymity are counted on it
    sensitive         what nobody should learn of a person; an intruder guesses it, l-diversity is counted on it
    free              no harm and no secret: stays as it is, like a column in ``keep``, with the risk that this has
    constant          the same in every record: stays as it is
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
"""Names that columns of identifiers have; such a column is one only if nearly every record has a value of its own."""


NO_VALUE = "missing in every record"


@dataclass(frozen=True)
class Roles:
    """The role of every column, and why it was proposed where it was."""

    by_column: dict[str, str]
    reasons: dict[str, str]

    def having(self, role: str) -> list[str]:
        return [name for name, own in self.by_column.items() if own == role]

    def notes(self) -> list[str]:
        """What the owner should know: which columns were dropped, and why."""
        left_out = [f"{name} is left out of the release: {self.reasons[name]}" for name in self.having("identifier")]
        empty = [name for name, reason in self.reasons.items() if reason == NO_VALUE]
        return [*left_out, *(f"{name} is {NO_VALUE} and stays so" for name in empty)]


def agree_roles(columns: Mapping[str, Column], target: str | None, given: Mapping[str, str] | None = None) -> Roles:
    """Proposed roles, with those that the owner gave in their place."""
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
    """A role and the reason for it."""
    values = [value for value in column.tolist() if not is_missing(value)] if column.dtype.kind == "O" else column
    known = np.asarray(values)[~np.isnan(values)] if column.dtype.kind == "f" else values
    distinct = len(set(known if isinstance(known, list) else np.unique(known).tolist()))
    if distinct <= 1:
        return "constant", "one value only" if distinct else NO_VALUE
    if column.dtype.kind == "O" and is_almost_unique(distinct, len(known)):
        return "identifier", f"{distinct:,} different texts in {len(known):,} records"
    if column.dtype.kind in "iu" and distinct == len(known) > 20 and int(column.max()) - int(column.min()) < distinct:
        return "identifier", "it numbers the records"
    if NAMING.search(name) and column.dtype.kind in "Oiu" and len(known) > 20 and distinct >= 0.9 * len(known):
        return "identifier", "its name says so, and nearly every record has a value of its own"
    return "quasi-identifier", "others may know it"


def load_roles(path: str | Path) -> dict[str, str]:
    """Roles from a small TOML file: ``[roles]`` with a line ``column = "role"`` each."""
    try:
        document: dict[str, Any] = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not readable TOML ({error}); write [roles] and lines like age = \"free\"") from None
    found = document.get("roles", document)
    if not isinstance(found, dict) or not all(isinstance(role, str) for role in found.values()):
        raise ValueError(f"{path}: roles are not texts; write [roles] and lines like age = \"free\"")
    return dict(found)


# --- what the roles are counted for -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Anonymity:
    """Records that are alike on the quasi-identifiers: how many are alone (uniques), the smallest group (k), and the
    fewest different sensitive values in a group (l)."""

    uniques: float
    k: int
    l: int  # noqa: E741 (its name in the literature)


def anonymity(data: Microdata, quasi: list[str], sensitive: list[str]) -> Anonymity:
    """Counted on the columns that the table has; l is 1 where nothing is sensitive."""
    group = groups(data, quasi)
    size = np.bincount(group)
    fewest = size.max()
    for name in sensitive:
        own = group * (size.size + len(data.y)) + groups(data, [name])
        fewest = min(fewest, np.bincount(np.unique(own) // (size.size + len(data.y))).min())
    return Anonymity(float((size == 1).sum() / group.size), int(size.min()), int(fewest) if sensitive else 1)


def groups(data: Microdata, names: list[str]) -> Codes:
    """The group of each record: those with equal values in all these columns, gaps equal to gaps."""
    code = np.zeros(len(data.y), dtype=np.int64)
    for name in names:
        column = data.X[:, data.index(name)] if name in data.names else data.y
        own = np.unique(column, return_inverse=True)[1]
        code = np.unique(code * (own.max() + 1) + own, return_inverse=True)[1]
    return code
