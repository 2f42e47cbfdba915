"""The table of several attributes at once: a Kronecker product that is applied axis by axis and never built."""

from __future__ import annotations

from itertools import pairwise
from math import prod

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.reconstruction.operators import Table

MANY = 1000  # beginnings from which on all are contracted at once instead of one matrix product each


class ProductTable(Table):
    """P[(s₁, …, s_d), (t₁, …, t_d)] = Π_j P_j[s_j, t_j], over all combinations of report cells."""

    def __init__(self, factors: list[Floats]) -> None:
        self._factors = factors
        self._rows, self._columns = [f.shape[0] for f in factors], [f.shape[1] for f in factors]
        self.shape = (prod(self._rows), prod(self._columns))

    def apply(self, p: Floats) -> Floats:
        return self._contract(p, self._columns, self._factors)

    def adjoint(self, r: Floats) -> Floats:
        return self._contract(r, self._rows, [factor.T for factor in self._factors])

    @staticmethod
    def _contract(values: Floats, sizes: list[int], factors: list[Floats]) -> Floats:
        tensor = values.reshape(-1, *sizes)
        for factor in factors:  # contracting the first axis puts the result last: after all axes the order is back
            tensor = np.tensordot(tensor, factor, axes=([1], [1]))
        return tensor.reshape(*values.shape[:-1], -1)

    def dense(self) -> Floats:
        whole: Floats = np.ones((1, 1))
        for factor in self._factors:
            whole = np.asarray(np.kron(whole, factor), dtype=float)
        return whole


class SparseProductTable(Table):
    """The same for the combinations of report cells that occur, walked as a tree of common beginnings.

    ``rows[i]`` holds the report cells of combination i, in lexicographic order. Contracting axis j costs (different
    beginnings of length j) × (true cells of axes j..d), instead of all combinations × all true cells.
    """

    def __init__(self, factors: list[Floats], rows: Codes) -> None:
        self._factors = factors
        self._columns = [factor.shape[1] for factor in factors]
        self.shape = (rows.shape[0], prod(self._columns))
        starts = np.ones(rows.shape[0], dtype=bool)
        self._levels: list[tuple[Floats, Codes, Codes]] = []
        parent_of_row = np.zeros(rows.shape[0], dtype=np.int64)
        new = np.zeros(rows.shape[0], dtype=bool)
        new[:1] = True
        for axis, factor in enumerate(factors):
            new = new | np.concatenate([[True], rows[1:, axis] != rows[:-1, axis]])
            starts = np.flatnonzero(new)
            parents = parent_of_row[starts]
            self._levels.append((factor[rows[starts, axis]], parents, _first_children(parents)))
            parent_of_row = np.cumsum(new) - 1

    def apply(self, p: Floats) -> Floats:
        return np.stack([self._apply_one(one) for one in p]) if p.ndim == 2 else self._apply_one(p)

    def adjoint(self, r: Floats) -> Floats:
        return np.stack([self._adjoint_one(one) for one in r]) if r.ndim == 2 else self._adjoint_one(r)

    def _apply_one(self, p: Floats) -> Floats:
        partial: Floats = p.reshape(1, -1)
        for weights, parents, first in self._levels:
            partial = partial.reshape(partial.shape[0], weights.shape[1], -1)
            if first.size > MANY:
                partial = np.einsum("uk,ukr->ur", weights, partial[parents])
            else:
                runs = _runs(first, parents.size)
                partial = np.concatenate([weights[a:b] @ partial[i] for i, (a, b) in enumerate(runs)])
        return partial.reshape(-1)

    def _adjoint_one(self, r: Floats) -> Floats:
        partial: Floats = r.reshape(-1, 1)
        for weights, parents, first in reversed(self._levels):
            if first.size > MANY:
                spread = weights[:, :, None] * partial[:, None, :]
                partial = np.add.reduceat(spread.reshape(parents.size, -1), first, axis=0)
            else:
                pieces = [weights[a:b].T @ partial[a:b] for a, b in _runs(first, parents.size)]
                partial = np.stack(pieces).reshape(first.size, -1)
        return partial.reshape(-1)

    def dense(self) -> Floats:
        return np.stack([self._apply_one(unit) for unit in np.eye(self.shape[1])], axis=1)


def _first_children(parents: Codes) -> Codes:
    """Where each parent's children begin; children of a parent stand together."""
    return np.flatnonzero(np.concatenate([[True], parents[1:] != parents[:-1]]))


def _runs(first: Codes, size: int) -> list[tuple[int, int]]:
    """(start, end) of each parent's children."""
    return list(pairwise([*first.tolist(), size]))
