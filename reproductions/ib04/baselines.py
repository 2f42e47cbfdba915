"""Whole-table methods that IB04's framework is compared with: they know nothing of the tree and leave classes alone.

    "sadp"        y = x + amount·sd(x)·N(0, 1), each field alone (Kim 1986)
    "correlated"  y = μ + (x − μ + e)/√(1 + amount²), e ~ N(0, amount²·Σ) (Tendick and Matloff 1994)
    "gadp-table"  GADP with S the class and the fields kept, κ² = 1 − amount
    "random"      IB04's noise on the records as they come: "additive", the whole domain as the interval
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from sfumato.domain import Floats
from sfumato.microdata import Donors, Gadp, Method, Swap
from sfumato.microdata.draws import Draws
from sfumato.microdata.methods.gadp import gadp, root
from sfumato.microdata.methods.method import Terms, WholeTable, check_amount
from sfumato.microdata.methods.noise import additive_noise
from sfumato.microdata.table.fields import Microdata


@dataclass(frozen=True)
class Baseline(WholeTable):
    """A method with one amount for all fields."""

    amount: float
    amounts_tried: ClassVar[tuple[float, ...]]

    def __post_init__(self) -> None:
        check_amount("amount", self.amount)

    def amounts(self, data: Microdata) -> Floats:
        return np.full(len(data.fields), self.amount, dtype=float)

    def varied(self) -> tuple[Self, ...]:
        return tuple(replace(self, amount=amount) for amount in self.amounts_tried)


@dataclass(frozen=True)
class Sadp(Baseline):
    """Independent normal noise on each field."""

    name: ClassVar[str] = "sadp"
    amount: float = 0.5
    amounts_tried = (0.25, 0.5, 1.0, 2.0, 4.0)

    def blurred(self, data: Microdata, terms: Terms, draws: Draws) -> Floats:
        deviation = np.sqrt(np.diag(moments(data.X)[1]))
        return np.asarray(data.X + self.amount * deviation * draws.normal(data.X.shape))


@dataclass(frozen=True)
class Correlated(Baseline):
    """Normal noise with the fields' own covariance, shrunk so that it stays."""

    name: ClassVar[str] = "correlated"
    amount: float = 0.5
    amounts_tried = (0.25, 0.5, 1.0, 2.0, 4.0)

    def blurred(self, data: Microdata, terms: Terms, draws: Draws) -> Floats:
        mean, covariance = moments(data.X)
        noise = self.amount * (draws.normal(data.X.shape) @ root(covariance).T)
        return np.asarray(mean + (data.X - mean + noise) / np.sqrt(1 + self.amount**2))


@dataclass(frozen=True)
class GadpTable(Baseline):
    """GADP on the table as it is."""

    name: ClassVar[str] = "gadp-table"
    amount: float = 0.75
    amounts_tried = (0.25, 0.5, 0.75, 0.9, 1.0)

    def blurred(self, data: Microdata, terms: Terms, draws: Draws) -> Floats:
        classes = np.eye(len(data.classes))[data.y][:, 1:]
        both = np.column_stack([data.X, classes])
        mean, covariance = moments(both)
        kept = np.concatenate([terms.kept, np.ones(classes.shape[1], bool)])
        return gadp(both, kept, float(np.sqrt(1 - self.amount)), mean, covariance, draws)[:, : data.X.shape[1]]


@dataclass(frozen=True)
class Random(Baseline):
    """IB04's noise without a tree: the interval is the whole domain."""

    name: ClassVar[str] = "random"
    amount: float = 0.276
    amounts_tried = (0.05, 0.1, 0.276, 0.5)

    def blurred(self, data: Microdata, terms: Terms, draws: Draws) -> Floats:
        n = len(data.y)
        columns = [
            additive_noise(column, np.full(n, field.low), np.full(n, field.high), self.amount, field, draws)
            for column, field in zip(data.X.T, data.fields, strict=True)
        ]
        return np.column_stack(columns)


OURS: tuple[Method, ...] = (Donors(), Gadp())
BASELINES: tuple[Method, ...] = (Sadp(), Correlated(), GadpTable(), Swap(), Random())


def moments(X: Floats) -> tuple[Floats, Floats]:
    """Mean and covariance, missing values replaced by the mean."""
    known = ~np.isnan(X)
    mean = np.where(known, X, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, X - mean, 0)
    return mean, np.asarray(centred.T @ centred / max(len(X) - 1, 1))
