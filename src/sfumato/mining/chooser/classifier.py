"""Which learner serves best on true values, or which blend of several: told from reports alone.

Every recipe is fitted on a part of the reports and judged on people who were held out: how likely do its answers on
true values, as far as the reports tell them, make the classes that these people reported (`judging`)? Nobody's true
value is needed, and no recipe is judged by the noise that it was fitted to. Where a product of powers of several
recipes makes them clearly more likely than one alone, it is the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from sfumato.channels.base import Channel
from sfumato.counts import Fold, Reports
from sfumato.domain import Codes, Floats
from sfumato.domain.checked import given_names, given_numbers, given_one_of, given_rows, given_table
from sfumato.mining import LEARNERS
from sfumato.mining.chooser.accuracy import accuracy
from sfumato.mining.chooser.judging import (
    DRAWS,
    FLOOR,
    Judge,
    Judged,
    Powers,
    about_as_good,
    blended,
    first_as_good,
    told_about_classes,
    weights_of,
)
from sfumato.mining.chooser.on_grid import judged_on_grid
from sfumato.mining.chooser.recipes import densities, direct, readable, reconstructing
from sfumato.mining.direct import DirectClassifier
from sfumato.mining.estimator import Channels, Column, Learner, class_codes_in, learner_named, true_class_shares
from sfumato.prose import listed, percent

FOLDS, TRIES = 3, 32
MOST_READ = 100_000
FEW = 4_000  # records up to which every fold is held out in turn
MOST_JUDGED, MOST_NUMBERS = 6_000, 2.5e7
WORTH_A_BLEND = 4.0  # nats of all held-out records together
LEAST_POWER = 0.04
GRAIN = 2.0**30


class Chooser(Learner):
    """The recipe that will serve best on true values, or the blend that will, chosen and fitted on reports.

    channels, label_channel: as in JointModel.
    recipes: classifiers by name, fitted on reports, those first that are to be taken unless others are clearly better;
        None takes every learner that takes the noise off (gaussian mixtures, naive Bayes, mixtures of products, tree,
        sum of terms) and three that take reports at face value. Other classifiers of scikit-learn are taken as
        `DirectClassifier`.
    combine: whether several may answer together, where that makes the classes of held-out people clearly more likely;
        on most data one alone served better.
    readable: only models that people can read, one alone: a tree, or a sum of terms.

    Recipes are judged on a fixed sample of at most 100,000 records, and what was chosen is fitted on all.

    Fitted: ``scores_`` (log-likelihood of a held-out person's class, by recipe), ``chosen_`` (the one that counts
    most), ``powers_`` (by recipe, where several answer together), ``members_``, ``estimator_`` (where one answers
    alone, that one), ``accuracy_`` (an estimate of the accuracy on true values, and its standard error).
    """

    form = "chooser"

    def __init__(
        self, channels: Channels = None, *, recipes: Mapping[str, Any] | None = None, combine: bool = False,
        readable: bool = False, label_channel: Channel | None = None, random_state: Any = None,
    ) -> None:
        self.channels = channels
        self.recipes = recipes
        self.combine = combine
        self.readable = readable
        self.label_channel = label_channel
        self.random_state = random_state

    def _learn(self, reports: Reports, rng: np.random.Generator) -> None:
        recipes, sample = self._recipes(reports), reports.sampled(MOST_READ)
        parts = fitted_apart(recipes, sample, every_fold=self.readable)
        asked = parts[: None if len(sample) <= FEW else 1]
        judges = judges_of(asked, sample, rng)
        answers = [[judge.answers(model) for model in models] for judge, (_, models) in zip(judges, asked, strict=True)]
        judged = Judged.of(tuple(recipes), judges, answers)
        alone = {name: judged.fitted([m]) for m, name in enumerate(recipes)}
        on_grid = judged_on_grid(parts, sample, judged.shares) if self.readable and len(recipes) > 1 else None
        if on_grid is None:
            self.scores_ = {name: float(np.average(each.logs, weights=judged.weight)) for name, each in alone.items()}
            chosen = self._chosen(judged, alone)
        else:
            self.scores_ = dict(zip(recipes, (-on_grid.loss).tolist(), strict=True))
            chosen = alone[judged.names[on_grid.first_as_good()]]
        names = [judged.names[m] for m in chosen.models]
        self.shares_ = judged.shares
        self.accuracy_ = accuracy([
            (answers_of(chosen, models, judged.shares), judge.held, both_densities(judge, held_out(sample, fold)))
            for judge, (fold, models) in zip(judges, asked, strict=True)
        ], rng)
        powers = chosen.values if len(names) > 1 else np.array([0.0, 1.0])
        self._keep(names, powers, [fitted(recipes[name], reports, self.classes_) for name in names])

    def _keep(self, names: list[str], powers: Floats, members: list[Learner]) -> None:
        self.power_of_shares_, self.powers_ = float(powers[0]), dict(zip(names, powers[1:].tolist(), strict=True))
        self.chosen_ = max(self.powers_, key=lambda name: self.powers_[name])
        self.members_ = members

    def _chosen(self, judged: Judged, alone: Mapping[str, Powers]) -> Powers:
        """The first recipe that is about as good as the best, which may be a blend; if there is none, the best.

        Held-out reports tell recipes apart so badly that the likeliest is often not the best one: recipes stand in the
        order in which they served well elsewhere.
        """

        def behind(best: Powers, other: Powers) -> float:
            return float(judged.weight @ (best.logs - other.logs))

        one = max(alone.values(), key=lambda each: float(judged.weight @ each.logs))
        best = self._blend(judged) if self.combine and not self.readable and len(alone) > 1 else one
        best = best if behind(best, one) > WORTH_A_BLEND else one
        near = (each for each in alone.values() if about_as_good(each.logs, best.logs, judged.weight))
        return next(near, best)

    def _blend(self, judged: Judged) -> Powers:
        """The best powers of all recipes, and again without those that count for next to nothing."""
        found = judged.fitted(range(len(judged.names)))
        kept = [m for m, power in zip(found.models, found.values[1:], strict=True) if power > LEAST_POWER]
        return judged.fitted(kept) if kept else found

    def _recipes(self, reports: Reports) -> dict[str, Learner]:
        channels, label_channel = self.channels or reports.channels, self.label_channel or reports.label_channel
        if self.recipes is None:
            if self.readable:
                return readable(channels, label_channel)
            at_face_value = {} if label_channel is not None else direct(channels)
            return {**reconstructing(channels, label_channel), **at_face_value}
        if not self.recipes:
            raise ValueError("recipes is empty; name at least one classifier, or leave it out for the usual ones")
        return {
            name: each if isinstance(each, Learner) else DirectClassifier(each, self.channels)
            for name, each in self.recipes.items()
        }

    # --- answers ------------------------------------------------------------------------------------------------

    @property
    def estimator_(self) -> Learner:
        """The one that answers alone."""
        check_is_fitted(self, "members_")
        if len(self.members_) > 1:
            raise AttributeError(f"{len(self.members_)} learners answer together; they are in members_")
        return self.members_[0]

    def _scores(self, columns: list[Column]) -> Floats:
        """v·log s_y + Σ_m w_m·log P_m(y | x), logarithms rounded to 2⁻³⁰, so that languages agree on them; the scores
        of a learner that answers alone."""
        if len(self.members_) == 1:
            return self.members_[0]._scores(columns)
        shares, found = self.shares_, self.start
        for power, member in zip(self.powers_.values(), self.members_, strict=True):
            found = found + power * rounded(np.log((1.0 - FLOOR) * member._probabilities(columns) + FLOOR * shares))
        return np.asarray(found)

    @property
    def start(self) -> Floats:
        """What the classes' shares add to the scores of a blend."""
        return self.power_of_shares_ * rounded(np.log(self.shares_))

    def _probabilities(self, columns: list[Column]) -> Floats:
        if len(self.members_) == 1:
            return self.members_[0]._probabilities(columns)
        return np.asarray(softmax(self._scores(columns), axis=1))

    # --- to read ------------------------------------------------------------------------------------------------

    @property
    def reconstructs_(self) -> bool:
        """Whether what answers takes the noise off; of a blend, what counts most in it."""
        check_is_fitted(self, "members_")
        pairs = zip(self.powers_.values(), self.members_, strict=True)
        direct = sum(power for power, each in pairs if isinstance(each, DirectClassifier))
        return bool(2 * direct <= sum(self.powers_.values()))

    def verdict(self) -> str:
        """The choice in words: what answers and why, and how well it should do."""
        check_is_fitted(self, "members_")
        way = "Reconstruct" if self.reconstructs_ else "Mine the reports directly"
        ranked = sorted(self.scores_.items(), key=lambda pair: -pair[1])
        scores = ", ".join(f"{name} {score:.4f}" for name, score in ranked)
        if len(self.members_) == 1:
            what = f"{self.chosen_}"
            why = "nothing else, and no blend, makes the classes of held-out people clearly more likely"
        else:
            parts = sorted(self.powers_.items(), key=lambda pair: -pair[1])
            what = f"a blend of {listed([f'{name} (power {power:.2f})' for name, power in parts])}"
            why = "together they make the classes of held-out people more likely than any of them alone"
        mean, error = self.accuracy_
        well = f"On true values it should be right for {percent(mean)} ± {100 * error:.1f} of people."
        return f"{way}: {what}; {why}. {well} Log-likelihood of held-out classes, a record: {scores}."

    # --- plain data ---------------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        return {
            "scores": self.scores_, "accuracy": list(self.accuracy_), "chosen": list(self.powers_),
            "powers": [self.power_of_shares_, *self.powers_.values()], "shares": self.shares_.tolist(),
            "members": [{"kind": type(each).__name__, "model": each.to_dict()} for each in self.members_],
        }

    @classmethod
    def _from_state(cls, data: Mapping[str, Any]) -> Self:
        model = cls()
        scores = given_table(data, "scores")
        numbers = given_numbers({"scores": list(scores.values())}, "scores", (len(scores),))
        model.scores_ = dict(zip(scores, numbers.tolist(), strict=True))
        mean, error = given_numbers(data, "accuracy", (2,), 0.0).tolist()
        model.accuracy_ = mean, error
        model.shares_ = given_numbers(data, "shares", (len(data["classes"] or ()),), 1e-300)
        names = given_names(data, "chosen")
        powers = given_numbers(data, "powers", (1 + len(names),), 0.0)
        members = [member_of(each, data) for each in given_rows(data, "members", len(names))]
        if not members:
            raise ValueError("the chooser has chosen nothing")
        model._keep(names, powers, members)
        return model


def member_of(document: Any, data: Mapping[str, Any]) -> Learner:
    """A learner of a chooser's document, which speaks of the same columns and classes."""
    learned = given_table(document, "model")
    for key in ("attributes", "classes"):
        if list(given_rows(learned, key)) != list(data[key] or ()):
            raise ValueError(f"{key} of the chosen model differ from those of the chooser")
    kinds = [kind for kind in LEARNERS if kind != "Chooser"]
    found: Learner = learner_named(given_one_of(document, "kind", kinds)).from_dict(learned)
    return found


def rounded(logs: Floats) -> Floats:
    return np.asarray(np.rint(logs * GRAIN) / GRAIN)


def fitted(recipe: Learner, reports: Reports, classes: npt.NDArray[Any]) -> Learner:
    """A copy of the recipe that learned from reports; it speaks of the classes by their names."""
    model: Learner = clone(recipe).fit(reports)
    model.classes_ = classes
    return model


def answers_of(powers: Powers, models: Sequence[Learner], shares: Floats) -> Callable[[list[Column]], Any]:
    """P(y | x) of a blend, or of a model alone as it says itself."""
    if len(powers.models) == 1:
        return models[powers.models[0]]._probabilities

    def together(columns: list[Column]) -> Any:
        logs = [np.log((1.0 - FLOOR) * models[m]._probabilities(columns) + FLOOR * shares) for m in powers.models]
        return blended(powers.values, [np.broadcast_to(np.log(shares), logs[0].shape), *logs])

    return together


def held_out(reports: Reports, fold: Fold) -> Reports:
    return reports.of_records(np.flatnonzero(reports.chosen(fold)))


def fitted_apart(
    recipes: Mapping[str, Learner], reports: Reports, *, every_fold: bool
) -> list[tuple[Fold, list[Learner]]]:
    """Every recipe as it learns from all people but a fold; of many people one fold does, unless all are asked for."""
    folds = folds_of(reports, class_codes_in(reports))[: FOLDS if every_fold or len(reports) <= FEW else 1]
    found = []
    for fold in folds:
        rest = held_out(reports, ~fold)
        found.append((fold, [clone(recipe).fit(rest) for recipe in recipes.values()]))
    return found


def judges_of(
    parts: Sequence[tuple[Fold, Sequence[Learner]]], reports: Reports, rng: np.random.Generator
) -> list[Judge]:
    """A judge for each fold that models did not learn from.

    The true values behind its reports come from the first density that foretells the classes of all about best.
    """
    most = most_judged(len(reports.classes or ()), len(parts[0][1])) // len(parts)
    behind = []
    for fold, models in parts:
        held = rng.permutation(np.flatnonzero(reports.chosen(fold)))[: max(most, 1)]
        densities = [each for each in models if hasattr(each, "draws_given")]
        rest = held_out(reports, ~fold)
        behind.append((reports.of_records(held), densities or fitted_densities(rest)))
    return behind_the_best(behind, shares_of(reports), rng)


def behind_the_best(
    parts: Sequence[tuple[Reports, Sequence[Any]]], shares: Floats, rng: np.random.Generator
) -> list[Judge]:
    told = [[told_about_classes(each, held) for each in behind] for held, behind in parts]
    weight = np.concatenate([weights_of(held) for held, _ in parts])
    best = first_as_good([np.concatenate(folds) for folds in zip(*told, strict=True)], weight)
    return [Judge(held, behind[best], shares, rng) for held, behind in parts]


def estimated_accuracy(model: Learner, rest: Reports, held: Reports, rng: np.random.Generator) -> tuple[float, float]:
    """Which share of true classes a model tells from true values, as far as held-out reports tell, and its standard
    error; the model learned from `rest`, of which a fixed sample is read."""
    rows = rng.permutation(len(held))[: most_judged(len(held.classes or ()), 1)]
    densities = fitted_densities(rest.sampled(MOST_READ))
    (judge,) = behind_the_best([(held.of_records(rows), densities)], shares_of(rest), rng)
    return accuracy([(model._probabilities, judge.held, both_densities(judge, held.sampled(MOST_READ)))], rng)


def both_densities(judge: Judge, held: Reports) -> list[Any]:
    """The density behind a judge, and one like it that learned from the held-out people alone."""
    codes = class_codes_in(held)
    if np.unique(codes).size < len(held.classes or ()):
        return [judge.behind]
    return [judge.behind, clone(judge.behind).fit(held)]


def most_judged(classes: int, recipes: int) -> int:
    """How many people are judged by, so that answers fit in memory."""
    return int(min(MOST_JUDGED, MOST_NUMBERS / (DRAWS * recipes * max(classes, 1))))


def shares_of(reports: Reports) -> Floats:
    """The true classes' shares, none of them zero."""
    found = np.maximum(reports.counts() @ true_class_shares(reports), 0.5)
    return np.asarray(found / found.sum())


def fitted_densities(reports: Reports) -> list[Learner]:
    """What tells the true values behind reports if no recipe does."""
    return [each.fit(reports) for each in densities(reports.channels, reports.label_channel).values()]


def folds_of(reports: Reports, codes: Codes) -> list[Fold]:
    """Folds that each leave records of every class to learn from: the first of a few ways to cut that do."""
    known = np.unique(codes).size
    for salt in range(4, 4 + TRIES):
        folds = [Fold(number, FOLDS, salt=salt) for number in range(FOLDS)]
        parts = [reports.chosen(fold) for fold in folds]
        if all(held.any() and np.unique(codes[~held]).size == known for held in parts):
            return folds
    records = f"{len(reports)} sample{'s' if len(reports) > 1 else ''}"
    raise ValueError(f"{records} cannot be split into {FOLDS} folds with every class to judge recipes by; give more")
