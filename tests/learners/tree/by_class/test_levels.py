"""A tree grown level by level from counts of scattered reports is the tree grown in memory."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
from sfumato.counts import Reports
from sfumato.learners.tree import TreeClassifier
from sfumato.learners.tree.by_class import levels

RECONSTRUCTIONS = ("byclass", "local", "global")


class Scattered(Reports):
    """Reports in pieces: a question travels to every one, and answers are merged."""

    in_memory = False

    def ask(self, questions):
        rows = np.random.default_rng(9).permutation(len(self))
        parts = [self.piece(some) for some in np.array_split(rows, [10, 11, 11, len(self) // 2])]
        sent = pickle.loads(pickle.dumps(questions))
        return [question.merged([question.of(part) for part in parts]) for question in sent]

    def piece(self, rows):
        """Some of the reports, whose codes mean what those of all mean."""
        part = self.of_records(rows)
        for name in self.names:
            column = self.column(name)
            level = None if column.level is None else column.level[rows]
            part._columns[name] = replace(column, codes=column.codes[rows], level=level)
        return part


def grown(maker, table, channels, y, reconstruction="byclass", weights=None, **options):
    label = options.pop("label_channel", None)
    reports = maker(table, channels, target=y, weights=weights, label_channel=label)
    tree = TreeClassifier(None, reconstruction, label_channel=label, **options).fit(reports)
    assert tree.get_n_leaves() > 1
    return json.dumps(tree.to_dict())


@pytest.fixture(scope="module")
def people():
    """(clean answers, their reports, channels, classes): numbers, some of them of two levels, categories, gaps."""
    rng = np.random.default_rng(11)
    n = 6_000
    clean = {
        "age": rng.uniform(20, 80, n), "pay": rng.gamma(2, 20_000, n).clip(0, 200_000),
        "kids": rng.integers(0, 7, n), "size": rng.normal(0, 1, n), "city": rng.choice(["Lima", "Oslo", "Rome"], n),
    }
    y = np.where((clean["city"] == "Rome") | (clean["age"] > 55) & (clean["pay"] > 40_000), "yes", "no")
    y = np.where((clean["size"] > 1) & (clean["kids"] > 3), "maybe", y)
    near, far = (sf.Gaussian(sf.Interval(20, 80), scale=scale) for scale in (3, 15))
    channels = {
        "age": sf.Choice({"near": near, "far": far}), "pay": sf.Uniform(sf.Interval(0, 200_000), privacy=0.5),
        "kids": sf.Gaussian(sf.Interval(0, 6, integer=True), scale=1),
        "city": sf.RandomizedResponse(sf.Categories(["Lima", "Oslo", "Rome"]), keep=0.8), "size": None,
    }
    level = rng.choice(["near", "far"], n)
    reports = {name: channels[name].randomize(clean[name], rng) for name in ("pay", "kids", "city")}
    reports |= {"age": channels["age"].randomize(clean["age"], rng, level=level), "age.level": level}
    reports["size"] = clean["size"].copy()
    clean["city"] = clean["city"].astype(object)
    for table in (clean, reports):
        for name in ("pay", "size", "age"):
            table[name][rng.random(n) < 0.05] = np.nan
    clean["city"][rng.random(n) < 0.05] = None
    return clean, reports, channels, y


@pytest.mark.parametrize("reconstruction", RECONSTRUCTIONS)
@pytest.mark.parametrize("prune", [True, False])
def test_from_pieces_it_is_the_tree_of_the_whole(people, reconstruction, prune):
    _, reports, channels, y = people
    whole, pieces = (grown(m, reports, channels, y, reconstruction, prune=prune) for m in (Reports, Scattered))
    assert whole == pieces


@pytest.mark.parametrize("reconstruction", RECONSTRUCTIONS)
def test_with_weights_and_blurred_classes_too(people, reconstruction):
    _, reports, channels, y = people
    rng = np.random.default_rng(3)
    label = sf.RandomizedResponse(sf.Categories(["maybe", "no", "yes"]), keep=0.8)
    options = {"weights": rng.gamma(2, size=y.size), "label_channel": label}
    told = label.randomize(y, rng)
    assert len({grown(m, reports, channels, told, reconstruction, **options) for m in (Reports, Scattered)}) == 1


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("blurred", [False, True])
@pytest.mark.parametrize("prune", [True, False])
def test_a_clean_tree_cuts_among_the_same_values_level_by_level(people, weighted, blurred, prune):
    clean, _, _, y = people
    rng = np.random.default_rng(4)
    label = sf.RandomizedResponse(sf.Categories(["maybe", "no", "yes"]), keep=0.9) if blurred else None
    told = label.randomize(y, rng) if blurred else y
    weights = rng.gamma(2, size=y.size) if weighted else None
    options = {"weights": weights, "label_channel": label, "prune": prune, "min_samples_leaf": 3}
    assert len({grown(maker, clean, None, told, **options) for maker in (Reports, Scattered)}) == 1


def test_more_open_nodes_than_one_pass_can_count_are_counted_in_several(people, monkeypatch):
    _, reports, channels, y = people
    whole = grown(Scattered, reports, channels, y, "byclass")
    monkeypatch.setattr(levels, "MOST_COUNTED", 1)
    assert grown(Scattered, reports, channels, y, "byclass") == whole


def test_the_seed_of_the_folds_changes_no_tree(people):
    _, reports, channels, y = people
    trees = [TreeClassifier(None, "local", random_state=k).fit(Reports(reports, channels, target=y)) for k in (0, 1)]
    assert trees[0].to_dict() == trees[1].to_dict()


@pytest.mark.parametrize("channel", [None, "blurred"])
def test_hundreds_of_labels_have_a_bin_each(channel):
    rng = np.random.default_rng(5)
    labels = [f"{k:03}" for k in range(300)]
    town = rng.choice(labels, 30_000)
    y = town >= "280"
    given = None if channel is None else sf.RandomizedResponse(sf.Categories(labels), keep=0.9)
    told = town if given is None else given.randomize(town, rng)
    tree = TreeClassifier({"town": given}, "byclass").fit({"town": told}, y)
    assert tree.score({"town": town}, y) > 0.99
