"""Reports of people whose answers are in memory: of one person, of a table of them, or of people with secrets."""

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
    """Blur a table of people, or a mapping of one person's answers; the result is of the same kind."""

    def convert(columns: Mapping[str, Any]) -> dict[str, Any]:
        _check_no_baskets(plan)
        if isinstance(key, str):
            reports = _by_person(plan, columns, key, levels)
        else:
            _check_one_person(columns, None if isinstance(key, RecordWords) else key)
            reports = _reports(plan, columns, rng, key, levels)
        return _in_one_type(plan, reports) if kind_of(table) in ONE_TYPE else reports

    return map_table(table, convert)


def chosen(words: Any, each: int) -> NDArray[np.bool_]:
    """Say which questions are asked, by random words [person, question]: the ``each`` with the smallest."""
    return np.asarray(np.argsort(np.argsort(words, axis=1), axis=1) < each)


def _in_one_type(plan: Plan, reports: dict[str, Any]) -> dict[str, Any]:
    """Write reports of labels of several kinds as texts, whatever labels were drawn."""
    texts = dict[str, Any]()
    for name, each in plan.columns.items():
        if each.channel and isinstance(each.domain, Categories) and each.domain.mixed:
            about_attribute(name, texts_of, each.domain.label_array)
            texts[name] = texts_of(reports[name])
    return {**reports, **texts}


def _check_no_baskets(plan: Plan) -> None:
    for name, each in plan.attributes.items():
        try:
            each.check_fits_a_column()
        except ValueError as error:
            raise ValueError(f"column {name!r}: {error}") from None


def _check_one_person(columns: Mapping[str, Any], key: bytes | None) -> None:
    people = max((as_array(column).size for column in columns.values()), default=0) if key is not None else 1
    if people > 1:
        raise ValueError(
            f"one key for {people:,} people would give equal answers equal reports; give a mapping of one person's "
            "answers with that person's key, or name a column of secrets, one a person, with key='<column>'"
        )


def _by_person(plan: Plan, columns: Mapping[str, Any], key: str, levels: Mapping[str, Any]) -> dict[str, Any]:
    """Blur everybody's answers under their own secret, one person after the other."""
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
    return {name: as_array([each[name] for each in reports]) for name in reports[0]}


def _reports(
    plan: Plan, columns: Mapping[str, Any], rng: np.random.Generator | None, key: Key, levels: Mapping[str, Any]
) -> dict[str, Any]:
    plan.check_columns(list(columns))
    was_asked: dict[str, NDArray[np.bool_]] = {}
    if plan.questions_each is not None:
        columns, was_asked = _of_those_asked(plan, plan.questions_each, columns, rng, key)
    reports = dict[str, Any]()
    for column in columns:
        each = plan.columns.get(column)
        if each is None or column in reports:
            continue
        several = each.columns != (each.name,)
        values = {name: columns[name] for name in each.columns} if several else columns[column]
        try:
            level = _level(each, columns, levels, rng)
            if level is not None and each.name in was_asked:  # who is not asked chooses nothing
                unasked = ~was_asked[each.name].reshape(level.shape)
                level = np.where(unasked, each.channel.levels_of(None, level.shape), level)  # type: ignore[union-attr]
            found = each.randomize(values, rng, key=key, question=question_of(plan.name, each.name), level=level)
        except (ValueError, TypeError) as error:
            raise type(error)(f"column {column!r}: {error}") from None
        reports |= found if several else {column: found}
        if level is not None:
            reports[column + LEVEL_SUFFIX] = level if level.ndim else level.item()
    return reports


def _level(
    each: Attribute, columns: Mapping[str, Any], levels: Mapping[str, Any], rng: np.random.Generator | None
) -> NDArray[Any] | None:
    """Return the level of every person for an attribute with a choice; None where there is nothing to choose."""
    if each.channel is None or not each.channel.has_levels:
        return None
    wanted = columns.get(each.name + LEVEL_SUFFIX, levels.get(each.name))
    shape = as_array(columns[each.name]).shape
    if isinstance(wanted, Mapping):
        return each.channel.draw_levels(wanted, math.prod(shape), rng).reshape(shape)
    return each.channel.levels_of(wanted, shape)


def _of_those_asked(
    plan: Plan, questions_each: int, columns: Mapping[str, Any], rng: np.random.Generator | None, key: Key
) -> tuple[dict[str, Any], dict[str, NDArray[np.bool_]]]:
    """Keep the answers to the questions that each person is asked (the others are missing, before any noise is drawn);
    and say by question who was asked."""
    first = as_array(next(iter(columns.values())))
    places = np.zeros(first.shape[0] if first.ndim else 1, dtype=np.int64)
    words = source_for(rng, key, question_of(plan.identity, "asked")).rows(places, len(plan.drawn))
    asked = dict(zip(plan.drawn, chosen(words, questions_each).T, strict=True))
    kept = dict(columns)
    for name, people in asked.items():
        for column in plan.attributes[name].columns:
            kept[column] = _kept(columns[column], people)
    return kept, asked


def _kept(values: Any, asked: NDArray[np.bool_]) -> Any:
    """The values of those who are asked, else missing."""
    if isinstance(values, (str, int, float)) or values is None or not as_array(values).ndim:
        return values if asked.all() else None
    return with_gaps(as_array(values), ~asked)
