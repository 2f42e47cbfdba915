"""LKT08's Tables 3 and 5-9 on Income, Haberman and Liver: three learners on original, perturbed and reconstructed
records, each tested on true, perturbed and reconstructed records; and four mixes of people who chose their own level.

A reconstructed record is that of AS00's ByClass: in each class and attribute by itself the reconstruction says how many
values lie in each interval, and the sorted reports are dealt out to the intervals' middles. Test records are
reconstructed in the same way, which takes their classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import sfumato as sf
from reproductions import Rows
from reproductions.lkt08.real import DATA, NOISE_TAKEN_OFF, Split, channels_for, income, learners, two_thirds
from reproductions.lkt08.synthetic import (
    CASES,
    ONE_PHASE,
    mean_accuracies,
    randomized,
    two_phase_channels,
    two_phase_reports,
)
from sfumato.domain import Floats
from sfumato.learners.tree.by_class.association import paper_intervals

TRUE, PERTURBED, RECONSTRUCTED = "true", "perturbed", "reconstructed"
TOGETHER = "reconstructed, training and test records in one go"
SHUFFLED = "true, each attribute shuffled within the class"
LARGER_CLASS = "everybody in the larger class"
Labels = npt.NDArray[Any]


def by_class(reports: Any, y: Labels, channels: dict[str, sf.Channel]) -> Any:
    """Records as ByClass reconstructs them."""
    intervals = paper_intervals(len(y))
    columns = {name: np.empty(len(y)) for name in channels}
    for name, channel in channels.items():
        for label in np.unique(y):
            own = y == label
            columns[name][own] = dealt_out(np.asarray(reports[name])[own], channel, intervals)
    return pd.DataFrame(columns)


def dealt_out(reports: Floats, channel: sf.Channel, intervals: int) -> Floats:
    """For each report the middle of its interval: the N(I₁) lowest are in the first, and so on."""
    found = sf.reconstruct(reports, channel, intervals, method="as00")
    assert found.edges is not None
    shares = np.cumsum(found.probabilities) / found.probabilities.sum()
    rank = (np.argsort(np.argsort(reports, kind="stable"), kind="stable") + 0.5) / reports.size
    middles = (found.edges[:-1] + found.edges[1:]) / 2
    return np.asarray(middles[np.minimum(np.searchsorted(shares, rank), middles.size - 1)])


def table_3(split: Split, snr: float, seed: int) -> Rows:
    """Accuracy of each learner on each kind of training records, on each kind of test records."""
    rng, channels = np.random.default_rng(seed), channels_for(split, snr)
    reports, test_reports = randomized(split.X, channels, rng), randomized(split.X_test, channels, rng)
    trained = {TRUE: split.X, PERTURBED: reports, RECONSTRUCTED: by_class(reports, split.y, channels)}
    test_again = by_class(test_reports, split.y_test, channels)
    tested = {TRUE: split.X_test, PERTURBED: test_reports, RECONSTRUCTED: test_again}
    rows: Rows = []
    for learner, make in learners(len(split.y)).items():
        for source, records in trained.items():
            model = sf.FaceValueClassifier(make()).fit(records, split.y)
            where = {"learner": learner, "trained on": source}
            rows += [{**where, "tested on": test, "accuracy": _score(model, X, split)} for test, X in tested.items()]
    largest = float(max(np.mean(split.y_test == label) for label in np.unique(split.y)))
    corrected = sf.NaiveBayesClassifier(channels, density="moments").fit(reports, split.y)
    return [
        *rows,
        {"learner": "tree", "trained on": TOGETHER, "tested on": TOGETHER, "accuracy": _together(split, channels, rng)},
        {"learner": "tree", "trained on": SHUFFLED, "tested on": SHUFFLED, "accuracy": _independent(split, rng)},
        {"learner": LARGER_CLASS, "trained on": TRUE, "tested on": TRUE, "accuracy": largest},
        {"learner": NOISE_TAKEN_OFF, "trained on": PERTURBED, "tested on": TRUE,
         "accuracy": _score(corrected, split.X_test, split)},
    ]  # fmt: skip


def _together(split: Split, channels: dict[str, sf.Channel], rng: np.random.Generator) -> float:
    """C4.5 where all records are reconstructed at once and then divided."""
    whole, y = pd.concat([split.X, split.X_test]), np.concatenate([split.y, split.y_test])
    records, cut = by_class(randomized(whole, channels, rng), y, channels), len(split.y)
    model = sf.FaceValueClassifier(learners()["tree"]()).fit(records.iloc[:cut], split.y)
    return _score(model, records.iloc[cut:], split)


def _independent(split: Split, rng: np.random.Generator) -> float:
    """C4.5 on true records whose attributes say nothing together beyond the class: all that is reconstructed."""
    train, test = (shuffled(X, y, rng) for X, y in ((split.X, split.y), (split.X_test, split.y_test)))
    return _score(learners()["tree"]().fit(train, split.y), test, split)


def shuffled(records: Any, y: Labels, rng: np.random.Generator) -> Any:
    """Each attribute's values dealt out anew among the records of a class."""
    columns = {name: np.array(records[name]) for name in records.columns}
    for values in columns.values():
        for label in np.unique(y):
            own = np.flatnonzero(y == label)
            values[own] = values[rng.permutation(own)]
    return pd.DataFrame(columns)


def _score(model: Any, X: Any, split: Split) -> float:
    return float(model.score(X, split.y_test))


def moments(split: Split, snr: float, seed: int) -> Rows:
    """By attribute and class: how far the mean of reports is from that of true values, in standard errors of the noise;
    and how many times as large their variance is."""
    channels = channels_for(split, snr)
    reports = randomized(split.X, channels, np.random.default_rng(seed))
    rows = []
    for name, channel in channels.items():
        for label in np.unique(split.y):
            x, w = (np.asarray(table[name], float)[split.y == label] for table in (split.X, reports))
            error = (w.mean() - x.mean()) / (channel.deviation / x.size**0.5)  # type: ignore[attr-defined]
            rows.append({"attribute": name, "class": label, "error of the mean": error, "variances": w.var() / x.var()})
    return rows


def two_phase_table(split: Split, snr: float, seed: int) -> Rows:
    """Direct mining of one phase and of the four mixes on the same people, tested on true and on perturbed records.

    All attributes have all four levels; learners do not read them, as in the paper.
    """
    rng, noises = np.random.default_rng(seed), channels_for(split, snr)
    levels, names = two_phase_channels(noises), list(noises)
    arms = {ONE_PHASE: (randomized(split.X, noises, rng), randomized(split.X_test, noises, rng))}
    for case, shares in CASES.items():
        both = [two_phase_reports(records, levels, shares, rng)[names] for records in (split.X, split.X_test)]
        arms[case] = (both[0], both[1])
    return [
        {"users": users, "learner": learner, "tested on": test, "accuracy": _score(model, X, split)}
        for users, (reports, test_reports) in arms.items()
        for learner, make in learners(len(split.y)).items()
        for model in [sf.FaceValueClassifier(make()).fit(reports, split.y)]
        for test, X in ((TRUE, split.X_test), (PERTURBED, test_reports))
    ]


def splits_of(data_set: str, records: int, splits: int, seed: int) -> list[Split]:
    """Income's own split once, in random order; of the small sets several random ones."""
    if data_set == "income":
        return [income(seed).first(records)]
    return [two_thirds(DATA[data_set], seed + s) for s in range(splits)]


def over_splits(data_set: str, table: Any, records: int, splits: int, seed: int = 300) -> Rows:
    """A table's mean accuracies over the splits of a data set."""
    found = [table(split, 1.0, seed + s) for s, split in enumerate(splits_of(data_set, records, splits, seed))]
    return [{"data set": data_set, **row} for row in mean_accuracies(found)]
