"""Each person answers some of the questions, and their device draws which: k of m, whatever the answers are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.words import Key, source_for
from sfumato.domain import as_array, with_gaps
from sfumato.plan.attribute import Attribute


def check_questions_each(attributes: Mapping[str, Attribute], each: Any) -> None:
    """A person can answer so many of the questions, and leave out any of the others."""
    drawn = [name for name, one in attributes.items() if one.role == "attribute"]
    if isinstance(each, bool) or not isinstance(each, int) or not 1 <= each < len(drawn):
        most = f"a number from 1 to {len(drawn) - 1}" if len(drawn) > 1 else "left out where there is one question"
        raise ValueError(f"questions_each = {each!r} is not {most}; each person answers so many of {len(drawn)}")
    needed = [name for name in drawn if getattr(attributes[name].channel, "missing", "pass") == "refuse"]
    if needed:
        raise ValueError(f'attributes.{needed[0]}: missing = "refuse" and questions_each exclude each other; drop one')


def chosen(words: Any, each: int) -> NDArray[np.bool_]:
    """Which questions are asked, by random words [person, question]: the ``each`` with the smallest."""
    return np.asarray(np.argsort(np.argsort(words, axis=1), axis=1) < each)


def of_those_asked(
    columns: Mapping[str, Any], attributes: Mapping[str, Attribute], drawn: tuple[str, ...], each: int,
    rng: np.random.Generator | None, key: Key, context: str,
) -> tuple[dict[str, Any], dict[str, NDArray[np.bool_]]]:
    """The answers to the questions that each person is asked (the others are missing, before any noise is drawn), and
    by question who was asked."""
    one = as_array(next(iter(columns.values())))
    places = np.zeros(one.shape[0] if one.ndim else 1, dtype=np.int64)
    asked = chosen(source_for(rng, key, context).rows(places, len(drawn)), each)
    found = dict(columns)
    for name, people in zip(drawn, asked.T, strict=True):
        for column in attributes[name].columns:
            found[column] = _kept(columns[column], people)
    return found, dict(zip(drawn, asked.T, strict=True))


def _kept(values: Any, asked: NDArray[np.bool_]) -> Any:
    """The values of those who are asked, else missing."""
    if isinstance(values, (str, int, float)) or values is None or not as_array(values).ndim:
        return values if asked.all() else None
    return with_gaps(as_array(values), ~asked)
