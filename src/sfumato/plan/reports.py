"""Blurring of answers in memory: of one person, of a table of people, or of people with a secret each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.program.random_words import Key, RecordWords, question_of, source_for
from sfumato.domain import Categories, as_array, texts_of, with_gaps
from sfumato.plan.attribute import Attribute, about_attribute
from sfumato.tables import LEVEL_SUFFIX, ONE_TYPE, kind_of, map_table

if TYPE_CHECKING:
    from sfumato.plan.document import Plan


def reports_in_memory(
    plan: Plan, table: Any, rng: np.random.Generator | None, key: Key | str, levels: Mapping[str, Any]
) -> Any:
    """Blur a table of people's answers, or a mapping of one person's; the result is of the same kind.

    Parameters as in `Plan.randomize`; ``key`` may also be the words of a cluster job's records.
    """

    def convert(columns: Mapping[str, Any]) -> dict[str, Any]:
        _check_no_baskets(plan)
        if isinstance(key, str):
            reports = _by_person(plan, columns, key, levels)
        else:
            _check_one_person(columns, None if isinstance(key, RecordWords) else key)
            reports = _reports(plan, columns, rng, key, levels)
        return _in_one_type(plan, reports) if kind_of(table) in ONE_TYPE else reports

    return map_table(table, convert)


def chosen(words: Any, questions_each: int) -> NDArray[np.bool_]:
    """Choose at random the ``questions_each`` questions that each person is asked: those with the smallest words.

    ``words[person, question]`` are the random words; returns truth values of the same shape.
    """
    return np.asarray(np.argsort(np.argsort(words, axis=1), axis=1) < questions_each)


def _in_one_type(plan: Plan, reports: dict[str, Any]) -> dict[str, Any]:
    """Return reports, by column, with texts in place of categories of several types (such as 1 and "none").

    For tables whose columns hold one type only.
    """
    texts = dict[str, Any]()
    for name, attribute in plan.columns.items():
        if attribute.channel and isinstance(attribute.domain, Categories) and attribute.domain.mixed:
            about_attribute(name, texts_of, attribute.domain.label_array)
            texts[name] = texts_of(reports[name])
    return {**reports, **texts}


def _check_no_baskets(plan: Plan) -> None:
    """Raise ValueError if the plan asks for baskets, whose reports do not fit in a column of a table."""
    for name, attribute in plan.attributes.items():
        try:
            attribute.check_fits_a_column()
        except ValueError as error:
            raise ValueError(f"column {name!r}: {error}") from None


def _check_one_person(columns: Mapping[str, Any], key: bytes | None) -> None:
    """Raise ValueError if one secret is given for the answers of several people."""
    people = max((as_array(column).size for column in columns.values()), default=0) if key is not None else 1
    if people > 1:
        raise ValueError(
            f"one key for {people:,} people would give equal answers equal reports; give a mapping of one person's "
            "answers with that person's key, or name a column of secrets, one a person, with key='<column>'"
        )


def _by_person(plan: Plan, columns: Mapping[str, Any], key: str, levels: Mapping[str, Any]) -> dict[str, Any]:
    """Blur every person's answers with their own secret, one person after the other; return reports by column.

    ``key``: the name of the column of secrets, which is not among the reports.
    """
    if key not in columns:
        raise ValueError(f"column {key!r} of secrets is not in the table; give each person's secret as bytes in it")
    answers = {name: np.atleast_1d(as_array(column)).tolist() for name, column in columns.items()}
    secrets = answers.pop(key)
    if not secrets:
        raise ValueError("the table is empty; there is nobody to report")
    if len(set(secrets)) < len(secrets):
        raise ValueError(f"two people have the same secret in column {key!r}; give each their own")
    reports = []
    for row, person in enumerate(zip(*answers.values(), strict=True)):
        try:
            reports.append(_reports(plan, dict(zip(answers, person, strict=True)), None, secrets[row], levels))
        except (ValueError, TypeError) as error:
            raise type(error)(f"row {row + 1:,}: {error}") from None
    return {name: as_array([report[name] for report in reports]) for name in reports[0]}


def _reports(
    plan: Plan, columns: Mapping[str, Any], rng: np.random.Generator | None, key: Key, levels: Mapping[str, Any]
) -> dict[str, Any]:
    """Blur columns of answers; return a dict of columns of reports, with the levels that people chose.

    A level is a strength of blurring, in the column ``<name>.level``. The parameters are those of `Plan.randomize`.
    """
    plan.check_columns(list(columns))
    was_asked: dict[str, NDArray[np.bool_]] = {}
    if plan.questions_each is not None:
        columns, was_asked = _of_those_asked(plan, plan.questions_each, columns, rng, key)
    reports = dict[str, Any]()
    for column in columns:
        attribute = plan.columns.get(column)
        if attribute is None or column in reports:
            continue
        several = attribute.columns != (attribute.name,)
        values = {name: columns[name] for name in attribute.columns} if several else columns[column]
        question = question_of(plan.name, attribute.name)
        try:
            level = _level(attribute, columns, levels, rng)
            if level is not None and attribute.name in was_asked:  # who is not asked chooses nothing
                assert attribute.channel is not None
                unasked = ~was_asked[attribute.name].reshape(level.shape)
                level = np.where(unasked, attribute.channel.levels_of(None, level.shape), level)
            blurred = attribute.randomize(values, rng, key=key, question=question, level=level)
        except (ValueError, TypeError) as error:
            raise type(error)(f"column {column!r}: {error}") from None
        reports |= blurred if several else {column: blurred}
        if level is not None:
            reports[column + LEVEL_SUFFIX] = level if level.ndim else level.item()
    return reports


def _level(
    attribute: Attribute, columns: Mapping[str, Any], levels: Mapping[str, Any], rng: np.random.Generator | None
) -> NDArray[Any] | None:
    """Return the name of the level (strength of blurring) that every person chose for a question, as an array.

    None for a question without levels. ``levels``: by question one name, or shares of people to simulate.
    """
    if attribute.channel is None or not attribute.channel.has_levels:
        return None
    wanted = columns.get(attribute.name + LEVEL_SUFFIX, levels.get(attribute.name))
    shape = as_array(columns[attribute.name]).shape
    if isinstance(wanted, Mapping):
        return attribute.channel.draw_levels(wanted, math.prod(shape), rng).reshape(shape)
    return attribute.channel.levels_of(wanted, shape)


def _of_those_asked(
    plan: Plan, questions_each: int, columns: Mapping[str, Any], rng: np.random.Generator | None, key: Key
) -> tuple[dict[str, Any], dict[str, NDArray[np.bool_]]]:
    """Draw which questions each person is asked and make all other answers missing, before any noise is drawn.

    Returns the columns, and by question whether each person was asked it.
    """
    first = as_array(next(iter(columns.values())))
    zeros = np.zeros(first.shape[0] if first.ndim else 1, dtype=np.int64)
    words = source_for(rng, key, question_of(plan.identity, "asked")).rows(zeros, len(plan.drawn))
    is_asked = dict(zip(plan.drawn, chosen(words, questions_each).T, strict=True))
    kept = dict(columns)
    for name, people in is_asked.items():
        for column in plan.attributes[name].columns:
            kept[column] = _kept(columns[column], people)
    return kept, is_asked


def _kept(values: Any, is_asked: NDArray[np.bool_]) -> Any:
    """Return a column of answers in which those of people who are not asked are missing."""
    if isinstance(values, (str, int, float)) or values is None or not as_array(values).ndim:
        return values if is_asked.all() else None
    return with_gaps(as_array(values), ~is_asked)
