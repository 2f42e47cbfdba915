"""What a program states of its spaces, and the canonical text whose hash is an identity."""

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
    """SHA-256 of the canonical JSON text."""
    return hashlib.sha256(canonical_text(document).encode()).hexdigest()


def canonical_text(document: Any) -> str:
    """The canonical JSON text: keys sorted, no spaces, whole numbers as integers, others as text."""
    plain = _canonical(document)
    return str(plain) if type(plain) is int else _as_text(plain)


def noise_part(program: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a program that keyed noise depends on.

    Channels with different laws draw independently, so that their γ multiply: from one draw, two laws together could
    tell everything. But whatever blurs a permanent report further shares it, and so do randomized response and square
    waves of one width at every γ: one word decides for all of them whether the report is near, and the other one which
    it is, so that many plans of nearly the same γ teach what one of them does.
    """
    steps = program["steps"][: program.get("permanent", len(program["steps"]))]
    if len(steps) == 1 and steps[0]["step"] == "window":
        steps = [{name: part for name, part in steps[0].items() if name != "inside"}]
    return {"read": program["read"], "steps": steps}


def _canonical(value: Any) -> Any:
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
    """How a device turns a value into the program's first code."""
    if isinstance(space, Grid):
        return {"size": space.size, **_grid(space)}
    if isinstance(space, Cells):
        return {"size": space.size, "edges": space.whole[0], "per": space.whole[1]}
    return {"size": space.size}


def write_space(space: CodeSpace, domain: Domain) -> dict[str, Any]:
    """How a device turns the last code into a report; labels are those of the domain unless listed."""
    if isinstance(space, Categories):
        own = {} if space == domain else {"labels": list(space.labels)}
        return {"size": space.size, **own}
    return read_space(space)


def _grid(grid: Grid) -> dict[str, int]:
    first, stride, per = grid.whole
    return {"first": first, "stride": stride, "per": per}
