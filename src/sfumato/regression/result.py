"""`Regression`: the coefficients of a regression with their errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from sfumato.domain import Floats
from sfumato.prose import counted, plain
from sfumato.reconstruction import WithError, two_sided
from sfumato.tables import frame_like


@dataclass(frozen=True, eq=False, repr=False)
class Regression:
    """The coefficients of a regression with their standard errors; ``regression["age"]`` is one of them.

    ``kind``: "linear", or "logistic", whose coefficients are log odds. ``outcome``: the name of the outcome (and its
    category). ``names`` and ``coef``: the coefficients. ``covariance``: that of the coefficients. ``people``: how many
    records were used; ``left_out``: how many were not, because something was missing. ``worth``: how many records of
    equal weight would have the same error. ``reference``: the outcome's category that the log odds are against (None
    for a linear regression). ``log_likelihood``: of a logistic regression at its maximum, else None. ``messages``:
    sentences about coefficients that are less sure than they look.

    >>> import sfumato as sf
    >>> table = {"age": [20, 30, 40, 50], "visits": [1, 2, 4, 4]}
    >>> regression = sf.regress(table, None, "visits", "age")
    >>> regression.names, regression.coef.round(2).tolist()
    (('(constant)', 'age'), [-1.1, 0.11])
    """

    kind: str
    outcome: str
    names: tuple[str, ...]
    coef: Floats
    covariance: Floats
    people: int
    left_out: int
    worth: float
    reference: Any = None
    log_likelihood: float | None = None
    messages: tuple[str, ...] = ()

    @property
    def stderr(self) -> Floats:
        """The standard error of each coefficient, as an array in the order of ``names``."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    @property
    def z(self) -> Floats:
        """Each coefficient divided by its standard error, as an array in the order of ``names``."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.coef / self.stderr)

    @property
    def p(self) -> Floats:
        """The chance of an estimate this far from zero, or further, if the true coefficient were zero (two-sided)."""
        return two_sided(self.z)

    def interval(self, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """Return (low, high), two arrays of the bounds of every coefficient's confidence interval.

        ``confidence``: the chance that an interval holds the true coefficient, between 0 and 1.
        """
        if not 0 < confidence < 1:
            raise ValueError(f"confidence={confidence} is not between 0 and 1; for example 0.95")
        reach = float(ndtri((1 + confidence) / 2)) * self.stderr
        return self.coef - reach, self.coef + reach

    def __getitem__(self, name: str) -> WithError:
        """Return the coefficient of this name with its standard error."""
        if name not in self.names:
            raise KeyError(f"{name!r} is no coefficient; they are {', '.join(self.names)}")
        index = self.names.index(name)
        return WithError(float(self.coef[index]), float(self.stderr[index]))

    def _columns(self) -> dict[str, Any]:
        """Return the table of coefficients as a dict of columns: name, coef, stderr, z, p."""
        return {"name": list(self.names), "coef": self.coef, "stderr": self.stderr, "z": self.z, "p": self.p}

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary a coefficient, with the keys name, coef, stderr, z, p."""
        columns = plain(self._columns())
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame with the columns name, coef, stderr, z, p."""
        return frame_like("pandas", self._columns())

    def to_polars(self) -> Any:
        """Return a Polars DataFrame with the columns name, coef, stderr, z, p."""
        return frame_like("polars", self._columns())

    def to_dict(self) -> dict[str, Any]:
        """Return coefficients, covariance and all other fields as plain data for JSON."""
        facts = {
            "kind": self.kind, "outcome": self.outcome, "reference": self.reference, "people": self.people,
            "left_out": self.left_out, "worth": self.worth, "log_likelihood": self.log_likelihood,
            "covariance": self.covariance, "messages": self.messages,
        }  # fmt: skip
        data: dict[str, Any] = plain({**self._columns(), **facts})
        return data

    def summary(self) -> str:
        """Return the coefficients as a table in text, with the messages below."""
        against = "" if self.reference is None else f" against {self.reference}"
        lost = f", {self.left_out:,} left out because something is missing" if self.left_out else ""
        worth = f" (by their weights worth {self.worth:,.0f})" if self.worth < self.people * (1 - 1e-9) else ""
        head = f"{self.outcome}{against}: {self.kind} regression, {counted(self.people, 'report')}{worth}{lost}"
        cells = [("", "coefficient", "stderr", "z", "p")]
        cells += [
            (name, f"{b:.5g}", f"{error:.3g}", f"{z:.2f}", "<0.0001" if p < 1e-4 else f"{p:.4f}")
            for name, b, error, z, p in zip(*self._columns().values(), strict=True)
        ]
        widths = [max(len(row[column]) for row in cells) for column in range(5)]
        left, *right = widths
        rows = [
            "  ".join([row[0].ljust(left), *(f"{cell:>{width}}" for cell, width in zip(row[1:], right, strict=True))])
            for row in cells
        ]
        return "\n".join([head, *rows, *(f"Note: {message}" for message in self.messages)])

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"<{self.kind} Regression of {self.outcome} on {len(self.names)} coefficients, {self.people:,} reports>"
