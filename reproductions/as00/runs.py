"""AS00's accuracies by algorithm, function, noise and level (Figures 5 and 6).

A finished run is one row of `accuracies.csv`, appended as soon as it is known; a second start skips what is there.
Every run draws its people and its noise from a seed of its own, so that all algorithms of a run see the same reports.
"""

from __future__ import annotations

import csv
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import sfumato as sf
from reproductions import Rows
from reproductions.agrawal import DOMAINS, as_matrix, generate
from sfumato.domain import Floats
from sfumato.shipping.training import Progress

Labels = npt.NDArray[np.str_]

NOISES = {"gaussian": sf.Gaussian, "uniform": sf.Uniform}
TREES = {"randomized": "none", "global": "global", "byclass": "byclass", "local": "local", "joint tree": "joint"}
ALGORITHMS = ("original", *TREES, "joint model")
COLUMNS = ("train", "function", "noise", "privacy", "run", "algorithm", "accuracy", "seconds")


@dataclass(frozen=True)
class Extent:
    """How much of the experiment to run."""

    train: int = 100_000
    test: int = 5_000
    runs: int = 10
    levels: tuple[int, ...] = (10, 25, 50, 100, 150, 200)
    functions: tuple[int, ...] = (1, 2, 3, 4, 5)
    shape_values: int = 100_000


QUICK = Extent(train=2_000, test=1_000, runs=1, levels=(25, 100), functions=(1, 2), shape_values=10_000)
MIDDLE = Extent(runs=5)


class Setting(NamedTuple):
    """What the algorithms of one run share; clean training data have noise "none" and privacy 0."""

    function: int
    noise: str
    privacy: int
    run: int

    @property
    def algorithms(self) -> tuple[str, ...]:
        return ("original",) if self.noise == "none" else ALGORITHMS[1:]

    def key(self, train: int, algorithm: str) -> tuple[Any, ...]:
        """What tells one accuracy from the others: the first of `COLUMNS`."""
        return (train, *self, algorithm)


def settings(extent: Extent) -> list[Setting]:
    """Run by run, so that an early stop leaves every function and level with as many runs."""
    blurred = [(noise, level) for level in extent.levels for noise in NOISES]
    return [
        Setting(function, noise, level, run)
        for run in range(extent.runs)
        for noise, level in [("none", 0), *blurred]
        for function in extent.functions
    ]


def run_all(path: Path, extent: Extent, progress: Progress) -> Rows:
    """Finish what is not in the file yet; all rows of this extent."""
    done = {_key(row) for row in read_rows(path)}
    warm = False
    for setting in progress(settings(extent), f"training on {extent.train:,} records"):
        left = [name for name in setting.algorithms if setting.key(extent.train, name) not in done]
        if left:
            warm = warm or warmed_up()
            for row in run_setting(setting, extent, left):
                append_row(path, row)
    wanted = {setting.key(extent.train, name) for setting in settings(extent) for name in setting.algorithms}
    return [row for row in read_rows(path) if _key(row) in wanted]


def warmed_up() -> bool:
    """Whatever is compiled at its first use is compiled, so that no cell's time pays for it."""
    people, group = generate(300, 1, np.random.default_rng(0))
    for noise in ("none", *NOISES):
        channels = channels_for(noise, 100)
        reports = blurred(as_matrix(people), channels, np.random.default_rng(0))
        for name in ("original",) if noise == "none" else ("global", "byclass", "local"):
            fitted(name, channels, reports, group, 0)
    return True


def run_setting(setting: Setting, extent: Extent, algorithms: list[str]) -> Iterator[dict[str, Any]]:
    """Accuracy on clean test records of each algorithm trained on the same reports.

    The joint model is the one that the joint tree was distilled from, and is entered with the same time.
    """
    seed = [setting.function, setting.run]
    people, group = generate(extent.train, setting.function, np.random.default_rng([*seed, 1]))
    tested, truth = generate(extent.test, setting.function, np.random.default_rng([*seed, 2]))
    channels = channels_for(setting.noise, setting.privacy)
    noise = np.random.default_rng([*seed, 3, list(("none", *NOISES)).index(setting.noise), setting.privacy])
    reports = blurred(as_matrix(people), channels, noise)
    joint, seconds = None, 0.0
    for name in algorithms:
        model = joint if name == "joint model" else None
        if model is None:
            start = time.perf_counter()
            model = fitted(name, channels, reports, group, setting.run)
            seconds = time.perf_counter() - start
        joint = getattr(model, "joint_", None)
        accuracy = float(np.mean(model.predict(as_matrix(tested)) == truth))
        found = (*setting.key(extent.train, name), round(accuracy, 6), round(seconds, 3))
        yield dict(zip(COLUMNS, found, strict=True))


def fitted(name: str, channels: list[sf.Channel | None], reports: Floats, group: Labels, seed: int) -> Any:
    if name == "joint model":
        return sf.JointModel(channels, random_state=seed).fit(reports, group)
    return sf.TreeClassifier(channels, TREES.get(name, "none"), random_state=seed).fit(reports, group)


def channels_for(noise: str, privacy: int) -> list[sf.Channel | None]:
    """Every attribute at the same level; whole numbers get whole noise."""
    if noise == "none":
        return [None] * len(DOMAINS)
    return [NOISES[noise](domain, privacy=privacy / 100, confidence=0.95) for domain in DOMAINS.values()]


def blurred(records: Floats, channels: list[sf.Channel | None], rng: np.random.Generator) -> Floats:
    pairs = zip(records.T, channels, strict=True)
    return np.column_stack([x if channel is None else channel.randomize(x, rng) for x, channel in pairs])


class Accuracies:
    """Means over runs, by function, noise, level and algorithm."""

    def __init__(self, rows: Iterable[dict[str, Any]]) -> None:
        found: dict[Any, list[float]] = defaultdict(list)
        for row in rows:
            key = (row["function"], row["noise"], row["privacy"], row["algorithm"])
            found[key].append(row["accuracy"])
        self._means = {key: float(np.mean(values)) for key, values in found.items()}
        self.functions = sorted({key[0] for key in found})
        self.levels = sorted({key[2] for key in found} - {0})

    def mean(self, function: int, noise: str, level: int, algorithm: str) -> float:
        """NaN where nothing was run; the original does not depend on noise and level."""
        key = (function, "none", 0, algorithm) if algorithm == "original" else (function, noise, level, algorithm)
        return self._means.get(key, float("nan"))

    def gaps(
        self, better: str, worse: str, functions: Sequence[int] = (1, 2, 3, 4, 5), levels: Sequence[int] | None = None
    ) -> list[tuple[float, str]]:
        """accuracy(better) − accuracy(worse) wherever both were run, each with its place in words."""
        found = []
        for function in functions:
            for level in self.levels if levels is None else levels:
                for noise in NOISES:
                    gap = self.mean(function, noise, level, better) - self.mean(function, noise, level, worse)
                    found.append((gap, f"function {function}, {noise}, {level} %"))
        return [(gap, place) for gap, place in found if gap == gap]


# --- the file of finished runs ---------------------------------------------------------------------------------------


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in COLUMNS[:-2])


def append_row(path: Path, row: dict[str, Any]) -> None:
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if new:
            writer.writeheader()
        writer.writerow(row)


def read_rows(path: Path) -> Rows:
    """The finished runs; a last line cut short by an interruption is dropped from the file."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    if not text.endswith("\n"):
        text = text[: text.rfind("\n") + 1]
        path.write_text(text, encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    if text and tuple(rows.fieldnames or ()) != COLUMNS:
        raise ValueError(f"{path}: is not a file of this reproduction; choose another folder")
    return [_typed(row) for row in rows]


def _typed(row: dict[str, str]) -> dict[str, Any]:
    whole = {name: int(row[name]) for name in ("train", "function", "privacy", "run")}
    return {**row, **whole, "accuracy": float(row["accuracy"]), "seconds": float(row["seconds"])}
