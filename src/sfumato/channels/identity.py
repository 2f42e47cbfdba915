"""Plain data for the ``read`` and ``write`` parts of programs, and the canonical text whose hash is an identity."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from sfumato.domain import Categories, Cells, Domain, Grid

CodeSpace = Grid | Cells | Categories
_as_text = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


def identity_of(document: Any) -> str:
    """Return the SHA-256 of plain data in hexadecimal digits, which names it: equal data have the same one."""
    return hashlib.sha256(canonical_text(document).encode()).hexdigest()


def canonical_text(document: Any) -> str:
    """Return plain data as the one JSON text that all equal data share, so that its hash names it.

    Keys are sorted, there are no spaces, whole numbers are integers and other numbers text.
    """
    plain = _canonical(document)
    return str(plain) if type(plain) is int else _as_text(plain)


def noise_part(program: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a program (plain data) on which the noise depends that a device draws with its secret key.

    Programs with the same part give the same draw. Channels with different laws must draw independently, so that their
    γ multiply: two laws that shared one draw could together give the answer away. Two kinds share a draw on purpose:
    programs that begin with the same permanent steps (``Longitudinal``); and randomized response, and square waves of
    one width, at every γ. There one word decides whether the report is near the answer and the other word which report
    it is, so that many plans of nearly the same γ reveal no more than one of them.
    """
    steps = program["steps"][: program.get("permanent", len(program["steps"]))]
    if len(steps) == 1 and steps[0]["step"] == "window":
        steps = [{name: part for name, part in steps[0].items() if name != "inside"}]
    return {"read": program["read"], "steps": steps}


def _canonical(value: Any) -> Any:
    """Return plain data, however nested, with whole numbers as integers, other numbers as text, and keys as text."""
    if type(value) in (str, int, bool):
        return value
    if isinstance(value, (float, np.floating)):
        return int(value) if float(value).is_integer() else repr(float(value))
    if isinstance(value, Mapping):
        return {str(key): _canonical(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_canonical(part) for part in value]
    plain = value.item() if isinstance(value, np.generic) else value
    return plain if isinstance(plain, (bool, int, str)) or plain is None else str(plain)


def read_space(space: CodeSpace) -> dict[str, Any]:
    """Return how a device turns a value into a code, the whole number that its drawing program starts from.

    As plain data: how many codes there are and, for numbers, the grid or edges that give each its code (the ``read``
    part of a program in docs/programs.md).
    """
    if isinstance(space, Grid):
        return {"size": space.size, **_grid(space)}
    if isinstance(space, Cells):
        return {"size": space.size, "edges": space.whole[0], "per": space.whole[1]}
    return {"size": space.size}


def write_space(space: CodeSpace, domain: Domain) -> dict[str, Any]:
    """Return how a device turns the code that a drawing program ends with into a report.

    As plain data: how many codes there are and the grid, edges or labels that they stand for (the ``write`` part of a
    program in docs/programs.md). ``domain``: that of the true values. The labels of categories are listed only where
    they differ from those of the domain.
    """
    if isinstance(space, Categories):
        own = {} if space == domain else {"labels": list(space.labels)}
        return {"size": space.size, **own}
    return read_space(space)


def _grid(grid: Grid) -> dict[str, int]:
    """Return first, stride and per of a grid by name, whole numbers with value = (first + stride · code)/per."""
    first, stride, per = grid.whole
    return {"first": first, "stride": stride, "per": per}
