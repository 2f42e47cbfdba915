"""Models from files that nobody vouches for: an answer or one clear line, whatever stands in them."""

import json

import numpy as np
import pytest

import sfumato as sf
from sfumato import shipping
from sfumato.cli import run
from tests.hostile import complaint, documents, mutated, use_model

MUTATIONS = 15
"""Of each method here; ``bench/hostile.py`` makes ten thousand."""


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    return documents(tmp_path_factory.mktemp("models"))


@pytest.mark.parametrize("method", shipping.METHODS)
def test_a_changed_model_is_read_or_refused_in_one_line(shipped, method, tmp_path):
    document, table = shipped[method]
    rng = np.random.default_rng(len(method))
    (tmp_path / "sound.json").write_text(json.dumps(document))
    use_model(tmp_path / "sound.json", table)
    for _ in range(MUTATIONS):
        changed = mutated(document, rng)
        (tmp_path / "model.json").write_text(json.dumps(changed))
        assert complaint(lambda: use_model(tmp_path / "model.json", table)) is None, json.dumps(changed)[:2000]


def changed_tree(shipped, **parts):
    document, table = shipped["byclass"]
    copy = json.loads(json.dumps(document))
    copy["model"]["tree"] |= parts
    return copy, table


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda tree: {"left": [0] * len(tree["left"])}, "a node of the tree does not come before its children"),
        (lambda tree: {"left": [10**6] * len(tree["left"])}, "left is not a whole number from -1 to"),
        (lambda tree: {"attribute": [99, *tree["attribute"][1:]]}, "attribute is not a whole number from -1 to 2"),
        (lambda tree: {"counts": tree["counts"][:-1]}, "counts has shape"),
        (lambda tree: {"left_bins": [[9]] * len(tree["left_bins"])}, "left_bins is not a whole number from 0 to 3"),
        (lambda tree: {"cut": ["x"] * len(tree["cut"])}, "cut is not a table of numbers"),
        (lambda tree: {"bins": 10**13}, None),
    ],
)
def test_indices_shapes_and_order_of_a_tree_are_checked_before_use(shipped, tmp_path, change, words):
    tree = shipped["byclass"][0]["model"]["tree"]
    document, table = changed_tree(shipped, **change(tree))
    (tmp_path / "model.json").write_text(json.dumps(document))
    if words is None:
        use_model(tmp_path / "model.json", table)
        return
    with pytest.raises(ValueError, match=f"the model inside is damaged .*{words}"):
        shipping.load(tmp_path / "model.json")


def test_the_command_line_says_one_line(shipped, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    document, table = shipped["byclass"]
    rows = ["age,school,rooms", *(f"{a},{s},{r}" for a, s, r in zip(*table.values(), strict=True))]
    (tmp_path / "people.csv").write_text("\n".join(rows))
    rng, codes = np.random.default_rng(7), set()
    for _ in range(30):
        (tmp_path / "model.json").write_text(json.dumps(mutated(document, rng)))
        code = run(["predict", "model.json", "people.csv", "-o", "p.csv"])
        told = capsys.readouterr().err
        codes.add(code)
        assert code in (0, 2)
        assert code == 0 or (told.startswith("sfumato: ") and len(told.splitlines()) == 1), told
    assert codes == {0, 2}


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 50_000, "[" * 200 + "]" * 200, "", "nul", "\udcff"])
def test_what_is_deep_or_cut_is_one_line(tmp_path, text):
    (tmp_path / "model.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=r"model\.json: ") as refusal:
        shipping.load(tmp_path / "model.json")
    assert len(str(refusal.value).splitlines()) == 1


def test_a_models_guarantee_is_computed_from_its_plan_and_not_believed(shipped, tmp_path):
    document, _ = shipped["naive-bayes"]
    copy = json.loads(json.dumps(document))
    copy["guarantee"] = {"words": "Nobody can learn anything.", "gamma": 1.0}
    (tmp_path / "model.json").write_text(json.dumps(copy))
    arrived = shipping.load(tmp_path / "model.json")
    assert arrived.guarantee == shipping.promise_of(sf.Plan.from_dict(document["plan"]))
    assert "Nobody" not in arrived.guarantee["words"]
