"""The checks that quantiles of reports are uniform and independent of all else: of records, calls, attributes and keys.

Under the law the quantiles u (``probe.py``) of n people are n·d independent uniform numbers that have nothing to do
with any true value. Counted, and compared by exact binomial tests, are cells of

    u_j;   (u_j, u_k);   (u_j of i, u_j of i + lag) over pairs without overlap;   u_j given x_k of i, i − 1, i + 1,

so that noise shared by neighbours, calls or attributes, and another person's value, show wherever they occur.
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
from sfumato.privacy.audit.program import People, ProgramAttribute
from sfumato.prose import counted

# By judgement, except where a line says more: bench/audit.py finds every broken implementation with these numbers.
CELLS = 32
"""Cells of a single u, as fine as the events of the law's own check."""
PAIR_CELLS = 6
"""Cells of each u of a pair, and groups of true values. Even, for halves; more cells leave fewer people in each."""
MOST_ROWS = 1 << 20
"""People in large calls at most; a power of two, so that lags are the sizes of calls too."""
ROWS_A_CALL = 1 << 14
"""People in one large call."""
CALLS = (400, 20_000)
"""Calls with a single person, at least and at most: a program in a browser takes about a millisecond for each."""
KEYS = (600, 3000)
"""Device keys, at least and at most: each report by a key takes an HMAC, a hundred times what fresh noise takes."""
KEYS_A_CALL = 64
"""Keys in one call, so that the time is looked at often enough."""
BATCHES = (2, 7, 40, 300)
"""Sizes of small calls in turn, about a factor of six apart: code that treats small calls otherwise changes between."""
QUESTIONS = ("one survey/answer", "one survey/another", "two surveys/answer")
"""Questions that differ in the survey's name or the attribute's: reports by the same key must differ between them."""
Record = Mapping[str, Any]
Keyed = Callable[[Record, Sequence[bytes], Sequence[str]], Record]
Named = tuple[str, Floats]  # a name of what was counted, and its p-values


@dataclass(frozen=True)
class Implementation:
    """An implementation under audit, as functions from answers to reports, with the probe that draws people for it.

    The probe also reads the reports, as quantiles of their stated law.
    """

    probe: Probe
    randomize: Callable[[Record], Record]  # columns of many people's answers to columns of reports
    randomize_record: Callable[[Record], Record]  # one person's answers to their reports
    randomize_keyed: Keyed | None  # columns, a device's key and a question for each person; None: it takes no keys
    questions: tuple[str, ...] = QUESTIONS
    repeats: bool = True  # the same key, question and answer give the same report


# --- checks -------------------------------------------------------------------------------------------------------


def check_batches(
    implementation: Implementation, name: str, attribute: str, alpha: float, effort: Effort, most: int = MOST_ROWS,
    a_call: int = ROWS_A_CALL, share: float = 0.1,
) -> Check:
    """Check the reports of many people in large calls: uniform in their stated law, and independent of all else?

    ``name``: the check's; ``alpha``: the chance at most that a sound implementation fails; ``most``: people in all
    calls; ``a_call``: people in one, made a power of two as the lags are that are compared; ``share``: of the effort's
    time.
    """
    rng, rows, probe = np.random.default_rng(), min(effort.samples, most), implementation.probe
    parts = []
    for size in effort.block_sizes(rows, share, min(a_call, 1 << max(rows // 4, 1).bit_length() - 1)):
        true = probe.draw_people(rng, size)
        parts.append((true, probe.quantiles(true, implementation.randomize(probe.values(true)), rng)))
    return judge(probe, *_stacked(parts), name, attribute, alpha, "people in large calls")


def check_small_calls(implementation: Implementation, name: str, attribute: str, alpha: float, effort: Effort) -> Check:
    """Check the reports of people who answer one by one, and in small batches: are they as stated, and independent?

    ``name``: the check's; ``alpha``: the chance at most that a sound implementation fails.
    """
    rng, probe, parts = np.random.default_rng(), implementation.probe, []
    calls = min(max(effort.samples // 1000, CALLS[0]), CALLS[1])
    true = probe.draw_people(rng, calls)
    timed = zip(rows_of(probe.values(true)), effort.block_sizes(calls, 0.1, 1), strict=False)
    reports = [implementation.randomize_record(record) for record, _ in timed]
    true = true[: len(reports)]
    parts.append((true, probe.quantiles(true, columns_of(reports), rng)))
    for call in range(max(len(reports) // 100, len(BATCHES))):
        few = probe.draw_people(rng, BATCHES[call % len(BATCHES)])
        parts.append((few, probe.quantiles(few, implementation.randomize(probe.values(few)), rng)))
    return judge(probe, *_stacked(parts), name, attribute, alpha, "people in small calls")


def check_key(
    implementation: Implementation, name: str, attribute: str, alpha: float, effort: Effort, share: float = 0.1
) -> list[Check]:
    """Check a device's key: the same question is answered alike, every other key and every other question afresh.

    Four true values are asked in turn, so that a key or a question that does not count shows as few reports over and
    over, and two of them are the same for all attributes, so that shared noise shows. Returns a list: of one check, or
    none where the implementation takes no keys.
    """
    if implementation.randomize_keyed is None:
        return []
    randomize, probe, rng = implementation.randomize_keyed, implementation.probe, np.random.default_rng()
    count = min(max(effort.samples // 5000, KEYS[0]), KEYS[1])
    few = np.vstack([probe.corners(), probe.draw_people(rng, 2)])
    parts = list[tuple[Codes, Floats]]()
    for size in effort.block_sizes(count, share, KEYS_A_CALL):
        true, keys = np.resize(few, (size, few.shape[1])), [secrets.token_bytes(32) for _ in range(size)]
        table = probe.values(true)
        reports = [randomize(table, keys, [question] * size) for question in implementation.questions]
        parts.append((true, np.hstack([probe.quantiles(true, each, rng) for each in reports])))
        repeat = len(parts) == 1 and implementation.repeats
        again = repeat and randomize(table, keys, [implementation.questions[0]] * size)
        if again and not _same(again, reports[0]):
            text = "the same key, question and answer gave two different reports; asking again wears the noise off."
            return [Check(name, attribute, FAILED, text, 0.0)]
    true, quantiles = _stacked(parts)
    by_key = judge(probe, true, quantiles, name, attribute, alpha / 2, "keys", implementation.questions)
    if len(implementation.questions) == 1 or not by_key.passed:
        return [by_key]
    key, questions = secrets.token_bytes(32), [f"question {index}" for index in range(len(true))]
    quantiles = probe.quantiles(true, randomize(probe.values(true), [key] * len(true), questions), rng)
    return [by_key, judge(probe, true, quantiles, name, attribute, alpha / 2, "questions to one key")]


def keyed_by(
    randomize: Randomize, randomize_table: Callable[..., Record], randomize_record: Callable[..., Record], *names: str
) -> Keyed | None:
    """Return a function from (columns, keys, questions) to reports, a key and a question for each person.

    None where the implementation takes no keys. A program is asked for many people at once, a function with arguments
    of these ``names`` for one after the other.
    """
    if not takes(randomize, *names):
        return None
    if isinstance(randomize, ProgramAttribute | People):
        return lambda table, keys, questions: randomize_table(table, keys=keys, questions=questions)

    def keyed(table: Record, keys: Sequence[bytes], questions: Sequence[str]) -> Record:
        arguments = (dict(zip(names, both, strict=False)) for both in zip(keys, questions, strict=True))
        return columns_of([randomize_record(row, **key) for row, key in zip(rows_of(table), arguments, strict=True)])

    return keyed


def judge(
    probe: Probe, true: Codes, quantiles: Floats, name: str, attribute: str, alpha: float, who: str,
    questions: tuple[str, ...] = ("",),
) -> Check:
    """Return one check that quantiles of reports are uniform, and independent of each other and of true values.

    ``true`` and ``quantiles``: a row a person; ``name``: of the check; ``alpha``: the chance at most that a sound
    implementation fails; ``who``: what a row is, in the plural; with ``questions`` the quantiles of each question stand
    side by side. A quantile that is NaN fails the check.
    """
    strange = int(np.isnan(quantiles).any(axis=1).sum())
    if strange:
        text = f"{counted(strange, 'report')} of {len(quantiles):,} {who} cannot come from the channel."
        return Check(name, attribute, FAILED, text, 0.0, {"strange": strange})
    names = [f"{column} ({question})" if question else column for question in questions for column in probe.columns]
    if quantiles.shape[1] != len(names):
        names = [f"{attribute} {column + 1}" for column in range(quantiles.shape[1])]
    tests = [*_single(quantiles, names), *_pairs(quantiles, names), *_lags(quantiles, names)]
    tests += _given_answers(true, quantiles, names)
    values = np.concatenate([p for _, p in tests])
    failures = [f"{what}: {len(quantiles):,} {who} do not follow the law." for what, p in tests for _ in range(p.size)]
    success = f"{values.size:,} exact tests on {len(quantiles):,} {who} find them independent and as stated."
    return exact_tests(name, attribute, values, failures, alpha, success, {"rows": len(quantiles)})


# --- what is counted ----------------------------------------------------------------------------------------------


def _cells(quantiles: Floats, count: int) -> Codes:
    """Return an array with the cell of every quantile, of ``count`` equal intervals from 0 to 1."""
    return np.asarray(np.clip((quantiles * count).astype(np.int64), 0, count - 1))


def _single(quantiles: Floats, names: list[str]) -> Iterator[Named]:
    """Test that each column of quantiles is uniform by itself.

    Yields (name of the column's reports, p-values of its cells).
    """
    for column, name in enumerate(names):
        counts = np.bincount(_cells(quantiles[:, column], CELLS), minlength=CELLS)
        yield f"the reports of {name}", p_value(counts, len(quantiles), 1 / CELLS)


def _pair(first: Codes, second: Codes) -> Floats:
    """Return p-values of every pair of cells (intervals of two quantiles), and of both in the same half.

    ``first`` and ``second``: the cells of two columns. In the same half shared noise shows soonest.
    """
    counts = np.bincount((first * PAIR_CELLS + second).ravel(), minlength=PAIR_CELLS**2)
    alike = int((2 * first // PAIR_CELLS == 2 * second // PAIR_CELLS).sum())
    return np.append(p_value(counts, first.size, 1 / PAIR_CELLS**2), p_value(alike, first.size, 0.5))


def _pairs(quantiles: Floats, names: list[str]) -> Iterator[Named]:
    """Test that every two columns of the same person's quantiles are independent.

    Yields (name, p-values) of each pair.
    """
    cells = _cells(quantiles, PAIR_CELLS)
    for (a, one), (b, other) in combinations(enumerate(names), 2):
        yield f"the noise of {one} with that of {other}", _pair(cells[:, a], cells[:, b])


def _lags(quantiles: Floats, names: list[str]) -> Iterator[Named]:
    """Test that quantiles of people 1, 2, 4, 8, … apart are independent, column by column.

    Yields (name, p-values) of each.
    """
    cells = _cells(quantiles, PAIR_CELLS)
    for column, name in enumerate(names):
        lag = 1
        while 2 * lag <= len(cells):
            halves = cells[: len(cells) // (2 * lag) * 2 * lag, column].reshape(-1, 2, lag)
            yield f"the noise of {name} with that of the person {lag} further on", _pair(halves[:, 0], halves[:, 1])
            lag *= 2


def _given_answers(true: Codes, quantiles: Floats, names: list[str]) -> Iterator[Named]:
    """Test that quantiles do not depend on true values: the person's own, the previous and the next person's.

    Yields (name, p-values) for each column of quantiles and each column of true values.
    """
    cells = _cells(quantiles, PAIR_CELLS)
    for answer in range(true.shape[1]):
        group = true[:, answer] * PAIR_CELLS // max(int(true[:, answer].max()) + 1, 1)
        for lag, whose in ((0, "the person's own"), (1, "the previous person's"), (-1, "the next person's")):
            rolled = np.roll(group, lag)
            size = np.bincount(rolled, minlength=PAIR_CELLS)[:, None]
            for column, name in enumerate(names):
                hits = np.bincount(rolled * PAIR_CELLS + cells[:, column], minlength=PAIR_CELLS**2)
                p = p_value(hits.reshape(PAIR_CELLS, PAIR_CELLS), size, 1 / PAIR_CELLS)
                yield f"the reports of {name} given {whose} answer {answer + 1}", p.ravel()


# --- rows and columns ---------------------------------------------------------------------------------------------


def rows_of(columns: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a dict from column names to plain values for each row of a table."""
    plain = [column.tolist() if isinstance(column, np.ndarray) else list(column) for column in columns.values()]
    return (dict(zip(columns, row, strict=True)) for row in zip(*plain, strict=True))


def columns_of(reports: Sequence[Record]) -> dict[str, Any]:
    """Return rows (dicts by column name) as a dict of columns, with the names of the first row."""
    return {name: [report[name] for report in reports] for name in reports[0]}


def _same(first: Record, second: Record) -> bool:
    """Return whether two tables of reports are equal; a missing report (NaN) equals a missing one."""
    both = ((np.asarray(first[name]), np.asarray(second[name])) for name in first)
    return all(bool(np.all((a == b) | ((a != a) & (b != b)))) for a, b in both)


def _stacked(parts: list[tuple[Codes, Floats]]) -> tuple[Codes, Floats]:
    """Join the (true codes, quantiles) of several calls, one below the other."""
    return np.concatenate([true for true, _ in parts]), np.concatenate([quantiles for _, quantiles in parts])
