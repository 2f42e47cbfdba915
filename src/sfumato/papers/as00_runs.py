"""AS00 §5: accuracy of each algorithm on each function, noise and privacy level, run by run.

A finished cell is one row of `accuracies.csv`, appended as soon as it is known; a second start skips what is there.
Every cell draws its people and its noise from a seed of its own, so that all algorithms of a run see the same reports.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.channels import Channel, Gaussian, Uniform
from sfumato.papers.agrawal import DOMAINS, as_matrix, generate

Progress = Callable[[Iterable[Any], str], Iterator[Any]]
Records = npt.NDArray[np.float64]
Labels = npt.NDArray[np.str_]

NOISES = {"gaussian": Gaussian, "uniform": Uniform}
TREES = {"randomized": "none", "global": "global", "byclass": "byclass", "local": "local", "joint tree": "joint"}
ALGORITHMS = ("original", *TREES, "joint model")
COLUMNS = ("train", "function", "noise", "privacy", "run", "algorithm", "accuracy", "seconds")


@dataclass(frozen=True)
class Scale:
    """How much of the experiment to run."""

    train: int = 100_000
    test: int = 5_000
    runs: int = 10
    levels: tuple[int, ...] = (10, 25, 50, 100, 150, 200)
    functions: tuple[int, ...] = (1, 2, 3, 4, 5)
    shape_values: int = 100_000


QUICK = Scale(train=2_000, test=1_000, runs=1, levels=(25, 100), functions=(1, 2), shape_values=10_000)


class Cell(NamedTuple):
    """One accuracy; clean training data have noise "none" and privacy 0."""

    train: int
    function: int
    noise: str
    privacy: int
    run: int
    algorithm: str

    @classmethod
    def of(cls, scale: Scale, setting: Setting, algorithm: str) -> Cell:
        return cls(scale.train, setting.function, setting.noise, setting.privacy, setting.run, algorithm)


class Setting(NamedTuple):
    """What the algorithms of one run share: people, noise and level."""

    function: int
    noise: str
    privacy: int
    run: int

    @property
    def algorithms(self) -> tuple[str, ...]:
        return ("original",) if self.noise == "none" else ALGORITHMS[1:]


def settings(scale: Scale) -> list[Setting]:
    """Run by run, so that an early stop leaves every function and level with as many runs."""
    blurred = [(noise, level) for level in scale.levels for noise in NOISES]
    return [
        Setting(function, noise, level, run)
        for run in range(scale.runs)
        for noise, level in [("none", 0), *blurred]
        for function in scale.functions
    ]


def run_all(path: Path, scale: Scale, progress: Progress) -> list[dict[str, Any]]:
    """Finish what is not in the file yet; all rows of this scale."""
    done = {cell_of(row) for row in read_rows(path)}
    for setting in progress(settings(scale), f"training on {scale.train:,} records"):
        left = [name for name in setting.algorithms if Cell.of(scale, setting, name) not in done]
        if left:
            for row in run_setting(setting, scale, left):
                append_row(path, row)
    wanted = {Cell.of(scale, setting, name) for setting in settings(scale) for name in setting.algorithms}
    return [row for row in read_rows(path) if cell_of(row) in wanted]


def run_setting(setting: Setting, scale: Scale, algorithms: list[str]) -> Iterator[dict[str, Any]]:
    """Accuracy on clean test records of each algorithm trained on the same reports.

    The joint model is the one that the joint tree was distilled from, and is entered with the same time.
    """
    seed = [setting.function, setting.run]
    people, group = generate(scale.train, setting.function, np.random.default_rng([*seed, 1]))
    tested, truth = generate(scale.test, setting.function, np.random.default_rng([*seed, 2]))
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
        accuracy = float(np.mean(predicted(model, as_matrix(tested)) == truth))
        cell = Cell.of(scale, setting, name)
        yield {**cell._asdict(), "accuracy": round(accuracy, 6), "seconds": round(seconds, 3)}


def fitted(name: str, channels: list[Channel | None], reports: Records, group: Labels, seed: int) -> Any:
    from sfumato.mining.joint import JointModel
    from sfumato.mining.tree import TreeClassifier

    if name == "joint model":
        return JointModel(channels, random_state=seed).fit(reports, group)
    return TreeClassifier(channels, TREES.get(name, "none"), random_state=seed).fit(reports, group)


def predicted(model: Any, records: Records) -> Labels:
    """The tree's own joint model has seen columns, not a table: it is asked column by column."""
    if hasattr(model, "n_features_in_"):
        return np.asarray(model.predict(records))
    p_class = model.bayes([records[:, j] for j in model.selected_], len(records))
    return np.asarray(model.classes_[np.argmax(p_class, axis=1)])


def channels_for(noise: str, privacy: int) -> list[Channel | None]:
    """Every attribute at the same level; whole numbers get whole noise."""
    if noise == "none":
        return [None] * len(DOMAINS)
    return [NOISES[noise](domain, privacy=privacy / 100, confidence=0.95) for domain in DOMAINS.values()]


def blurred(records: Records, channels: list[Channel | None], rng: np.random.Generator) -> Records:
    columns = [
        records[:, j] if channel is None else channel.randomize(records[:, j], rng)
        for j, channel in enumerate(channels)
    ]
    return np.column_stack(columns)


# --- the file of finished cells ---------------------------------------------------------------------------------------


def cell_of(row: dict[str, Any]) -> Cell:
    return Cell(*(row[name] for name in Cell._fields))


def append_row(path: Path, row: dict[str, Any]) -> None:
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if new:
            writer.writeheader()
        writer.writerow(row)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The finished cells; a last line cut short by an interruption is dropped from the file."""
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
