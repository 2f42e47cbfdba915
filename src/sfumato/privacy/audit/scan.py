"""Are the places of reports uniform, and independent of everything else? Records, calls, attributes, keys.

Under the law the places u (``probe.py``) of n people are n·d independent uniform numbers that have nothing to do with
any true value. Counted, and compared by exact binomial tests, are cells of

    u_j;   (u_j, u_k);   (u_j of i, u_j of i + lag) over pairs without overlap;   u_j given x_k of i, i − 1, i + 1,

so that noise shared by neighbours, calls or attributes, and another person's value, show without a hunch of where.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.privacy.audit.check import FAILED, Check, Randomize, exact_tests, p_value, takes
from sfumato.privacy.audit.probe import Effort, Probe
from sfumato.privacy.audit.program import Part, People
from sfumato.prose import counted

CELLS, PAIR_CELLS = 32, 6
MOST_ROWS, ROWS_A_CALL = 1 << 20, 1 << 14
CALLS, KEYS, KEYS_A_CALL = (400, 20_000), (600, 3000), 64  # at least, at most
BATCHES = (2, 7, 40, 300)
QUESTIONS = ("one survey/answer", "one survey/another", "two surveys/answer")
Record = Mapping[str, Any]
Keyed = Callable[[Record, Sequence[bytes], Sequence[str]], Record]
Named = tuple[str, Floats]  # what was counted, and its p-values


@dataclass(frozen=True)
class Implementation:
    """An implementation: columns of many people to columns of reports, one person's answers to theirs, and columns with
    a device's key and a question for each (None: it takes none); ``repeats``: asked again it answers alike."""

    probe: Probe
    many: Callable[[Record], Record]
    one: Callable[[Record], Record]
    keyed: Keyed | None
    questions: tuple[str, ...] = QUESTIONS
    repeats: bool = True


# --- checks -------------------------------------------------------------------------------------------------------


def check_batches(
    asked: Implementation, name: str, attribute: str, alpha: float, effort: Effort, most: int = MOST_ROWS,
    a_call: int = ROWS_A_CALL, share: float = 0.1,
) -> Check:
    """Many people in one call, and several such calls of one size, a power of two, as lags are."""
    rng, rows = np.random.default_rng(), min(effort.samples, most)
    parts = []
    for size in effort.sizes(rows, share, min(a_call, 1 << max(rows // 4, 1).bit_length() - 1)):
        true = asked.probe.people(rng, size)
        parts.append((true, asked.probe.places(true, asked.many(asked.probe.values(true)), rng)))
    return judge(asked.probe, *_stacked(parts), name, attribute, alpha, "people in large calls")


def check_small_calls(asked: Implementation, name: str, attribute: str, alpha: float, effort: Effort) -> Check:
    """People who answer one by one, and in small batches of different true values."""
    rng, probe, parts = np.random.default_rng(), asked.probe, []
    calls = min(max(effort.samples // 1000, CALLS[0]), CALLS[1])
    true = probe.people(rng, calls)
    records = rows_of(probe.values(true))
    reports = [asked.one(record) for record, _ in zip(records, effort.sizes(calls, 0.1, 1), strict=False)]
    true = true[: len(reports)]
    parts.append((true, probe.places(true, columns_of(reports), rng)))
    for place in range(max(len(reports) // 100, len(BATCHES))):
        few = probe.people(rng, BATCHES[place % len(BATCHES)])
        parts.append((few, probe.places(few, asked.many(probe.values(few)), rng)))
    return judge(probe, *_stacked(parts), name, attribute, alpha, "people in small calls")


def check_key(
    asked: Implementation, name: str, attribute: str, alpha: float, effort: Effort, share: float = 0.1
) -> list[Check]:
    """A device's key: the same question is answered alike, and every other key and every other question afresh.

    Four true values are asked in turn, so that a key or a question that does not count shows as few reports over and
    over, and two of them are the same for all attributes, so that shared noise shows.
    """
    if asked.keyed is None:
        return []
    ask, probe, rng = asked.keyed, asked.probe, np.random.default_rng()
    count = min(max(effort.samples // 5000, KEYS[0]), KEYS[1])
    few = np.vstack([probe.corners(), probe.people(rng, 2)])
    parts = list[tuple[Codes, Floats]]()
    for size in effort.sizes(count, share, KEYS_A_CALL):
        true, keys = np.resize(few, (size, few.shape[1])), [secrets.token_bytes(32) for _ in range(size)]
        table = probe.values(true)
        reports = [ask(table, keys, [question] * size) for question in asked.questions]
        parts.append((true, np.hstack([probe.places(true, each, rng) for each in reports])))
        again = len(parts) == 1 and asked.repeats and ask(table, keys, [asked.questions[0]] * size)
        if again and not _same(again, reports[0]):
            text = "the same key, question and answer gave two different reports; asking again wears the noise off."
            return [Check(name, attribute, FAILED, text, 0.0)]
    true, places = _stacked(parts)
    by_key = judge(probe, true, places, name, attribute, alpha / 2, "keys", asked.questions)
    if len(asked.questions) == 1 or not by_key.passed:
        return [by_key]
    key, questions = secrets.token_bytes(32), [f"question {place}" for place in range(len(true))]
    places = probe.places(true, ask(probe.values(true), [key] * len(true), questions), rng)
    return [by_key, judge(probe, true, places, name, attribute, alpha / 2, "questions to one key")]


def keyed_by(
    randomize: Randomize, many: Callable[..., Record], one: Callable[..., Record], *names: str
) -> Keyed | None:
    """With keys: a program is asked for many people at once, a function that takes these names for one after the other;
    None where there are no keys."""
    if not takes(randomize, *names):
        return None
    if isinstance(randomize, Part | People):
        return lambda table, keys, questions: many(table, keys=keys, questions=questions)

    def keyed(table: Record, keys: Sequence[bytes], questions: Sequence[str]) -> Record:
        asked = (dict(zip(names, both, strict=False)) for both in zip(keys, questions, strict=True))
        return columns_of([one(record, **more) for record, more in zip(rows_of(table), asked, strict=True)])

    return keyed


def judge(
    probe: Probe, true: Codes, places: Floats, name: str, attribute: str, alpha: float, who: str,
    questions: tuple[str, ...] = ("",),
) -> Check:
    """One check of everything that is counted."""
    strange = int(np.isnan(places).any(axis=1).sum())
    if strange:
        text = f"{counted(strange, 'report')} of {len(places):,} {who} cannot come from the channel."
        return Check(name, attribute, FAILED, text, 0.0, {"strange": strange})
    names = [f"{column} ({question})" if question else column for question in questions for column in probe.columns]
    if places.shape[1] != len(names):
        names = [f"{attribute} {place + 1}" for place in range(places.shape[1])]
    found = [*_single(places, names), *_pairs(places, names), *_lags(places, names), *_of_others(true, places, names)]
    values = np.concatenate([p for _, p in found])
    told = [f"{what}: {len(places):,} {who} do not follow the law." for what, p in found for _ in range(p.size)]
    held = f"{values.size:,} exact tests on {len(places):,} {who} find them independent and as stated."
    return exact_tests(name, attribute, values, told, alpha, held, {"rows": len(places)})


# --- what is counted ----------------------------------------------------------------------------------------------


def _cells(places: Floats, count: int) -> Codes:
    return np.asarray(np.clip((places * count).astype(np.int64), 0, count - 1))


def _single(places: Floats, names: list[str]) -> Iterator[Named]:
    for column, name in enumerate(names):
        counts = np.bincount(_cells(places[:, column], CELLS), minlength=CELLS)
        yield f"the reports of {name}", p_value(counts, len(places), 1 / CELLS)


def _pair(first: Codes, second: Codes) -> Floats:
    """Every cell of a pair, and all in which both are in the same half, where noise that is shared shows soonest."""
    counts = np.bincount((first * PAIR_CELLS + second).ravel(), minlength=PAIR_CELLS**2)
    alike = int((2 * first // PAIR_CELLS == 2 * second // PAIR_CELLS).sum())
    return np.append(p_value(counts, first.size, 1 / PAIR_CELLS**2), p_value(alike, first.size, 0.5))


def _pairs(places: Floats, names: list[str]) -> Iterator[Named]:
    cells = _cells(places, PAIR_CELLS)
    for (a, one), (b, other) in combinations(enumerate(names), 2):
        yield f"the noise of {one} with that of {other}", _pair(cells[:, a], cells[:, b])


def _lags(places: Floats, names: list[str]) -> Iterator[Named]:
    cells = _cells(places, PAIR_CELLS)
    for column, name in enumerate(names):
        lag = 1
        while 2 * lag <= len(cells):
            halves = cells[: len(cells) // (2 * lag) * 2 * lag, column].reshape(-1, 2, lag)
            yield f"the noise of {name} with that of the person {lag} further on", _pair(halves[:, 0], halves[:, 1])
            lag *= 2


def _of_others(true: Codes, places: Floats, names: list[str]) -> Iterator[Named]:
    """u given groups of a true value: the person's own answers, and those of the people before and after."""
    cells = _cells(places, PAIR_CELLS)
    for answer in range(true.shape[1]):
        group = true[:, answer] * PAIR_CELLS // max(int(true[:, answer].max()) + 1, 1)
        for lag, whose in ((0, "the person's own"), (1, "the previous person's"), (-1, "the next person's")):
            known = np.roll(group, lag)
            size = np.bincount(known, minlength=PAIR_CELLS)[:, None]
            for column, name in enumerate(names):
                hits = np.bincount(known * PAIR_CELLS + cells[:, column], minlength=PAIR_CELLS**2)
                p = p_value(hits.reshape(PAIR_CELLS, PAIR_CELLS), size, 1 / PAIR_CELLS)
                yield f"the reports of {name} given {whose} answer {answer + 1}", p.ravel()


# --- rows and columns ---------------------------------------------------------------------------------------------


def rows_of(columns: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One mapping a person, of plain values."""
    plain = [column.tolist() if isinstance(column, np.ndarray) else list(column) for column in columns.values()]
    return (dict(zip(columns, row, strict=True)) for row in zip(*plain, strict=True))


def columns_of(reports: Sequence[Record]) -> dict[str, Any]:
    return {name: [report[name] for report in reports] for name in reports[0]}


def _same(one: Record, other: Record) -> bool:
    """Whether all reports are equal, and missing at the same places: NaN is not equal to itself."""
    both = ((np.asarray(one[name]), np.asarray(other[name])) for name in one)
    return all(bool(np.all((a == b) | ((a != a) & (b != b)))) for a, b in both)


def _stacked(parts: list[tuple[Codes, Floats]]) -> tuple[Codes, Floats]:
    return np.concatenate([true for true, _ in parts]), np.concatenate([places for _, places in parts])
