"""A tree in ONNX gives everyone the class and the probabilities that Python gives, next to every cut too."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
import pytest

import sfumato as sf
from sfumato import shipping
from sfumato.cli import run
from tests.shipping.models import MODELS, case

TREES = [name for name in MODELS if "tree" in name]


def session(path: Path) -> Any:
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def answers(people: dict[str, Any], columns: list[dict[str, Any]]) -> np.ndarray:
    """People as the metadata says: labels by their place, numbers as they are, those outside as the ends."""
    found = []
    for column in columns:
        values = people[column["name"]]
        if "labels" in column:
            place = {label: place for place, label in enumerate(column["labels"])}
            values = np.array([place.get(value, np.nan) for value in values.tolist()])
        elif column.get("outside") == "clamp":
            values = np.clip(values, column["low"], column["high"])
        found.append(values.astype(float))
    return np.column_stack(found)


def test_there_are_trees_of_every_origin() -> None:
    assert {name.split(",")[0] for name in TREES} == {"tree", "direct", "chooser"}


@pytest.mark.parametrize("name", TREES)
def test_onnxruntime_tells_everyone_what_python_tells(name: str, models_folder: Path, tmp_path: Path) -> None:
    """Whose answer is missing goes one way there: to the larger side."""
    here = case(name, models_folder)
    found = here.shipped.model.deciding_tree()
    assert found is not None
    found[0].parts[:] = False
    shipping.save_onnx(here.shipped.model, tmp_path / "model.onnx", plan=here.shipped.plan)
    there = session(tmp_path / "model.onnx")
    told = {key: json.loads(text) for key, text in there.get_modelmeta().custom_metadata_map.items()}
    assert told["classes"] == here.shipped.model.classes_.tolist()
    label, probabilities = there.run(None, {"answers": answers(here.people, told["attributes"])})
    assert label.tolist() == here.shipped.predict(here.people).tolist()
    assert probabilities.dtype == np.float64
    np.testing.assert_allclose(probabilities, here.shipped.predict_proba(here.people), rtol=0, atol=1e-15)


@pytest.mark.parametrize("classes", [["a", "b"], [1, 2], [True, False], [2.0, 1.0]])
def test_a_tree_that_asks_nothing_and_any_type_of_class(classes: list[Any], tmp_path: Path) -> None:
    table = pd.DataFrame({"city": ["Rome"] * 40})
    model = sf.TreeClassifier().fit(table, np.array(classes * 10 + classes[:1] * 20))
    shipping.save_onnx(model, tmp_path / "model.onnx")
    label, probabilities = session(tmp_path / "model.onnx").run(None, {"answers": np.array([[0.0], [np.nan]])})
    assert label.tolist() == [classes[0]] * 2
    assert probabilities[:, model.classes_.tolist().index(classes[0])].tolist() == [0.75, 0.75]


def test_a_test_that_no_label_passes_lets_only_missing_answers_pass(tmp_path: Path) -> None:
    table = pd.DataFrame({"city": ["Rome", "Oslo", None] * 30})
    model = sf.TreeClassifier().fit(table, np.array(["A", "A", "B"] * 30))
    shipping.save_onnx(model, tmp_path / "model.onnx")
    places = np.array([[0.0], [1.0], [np.nan]])
    label, _ = session(tmp_path / "model.onnx").run(None, {"answers": places})
    assert label.tolist() == ["A", "A", "B"]


def test_only_trees_go_to_onnx_and_the_file_is_named_so(models_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="a NaiveBayesClassifier is not a tree, and only trees go to ONNX; save it as"):
        shipping.save_onnx(case("naive Bayes, moments", models_folder).shipped.model, tmp_path / "model.onnx")
    with pytest.raises(ValueError, match="name the file so"):
        shipping.save_onnx(case("tree, byclass", models_folder).shipped.model, tmp_path / "model.json")
    assert not list(tmp_path.iterdir())


def test_without_onnx_one_line_names_the_extra(models_folder: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"ONNX files need onnx; install sfumato\[onnx\], or save the model as .json"):
        shipping.save_onnx(case("tree, byclass", models_folder).shipped.model, tmp_path / "model.onnx")


def test_the_command_line_trains_a_tree_into_an_onnx_file(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    spec = {"low": 20, "high": 80, "channel": "gaussian", "privacy": 0.25}
    plan = sf.Plan.from_dict({"attributes": {"age": spec, "old": {"categories": ["yes", "no"], "role": "class"}}})
    age = np.random.default_rng(0).uniform(20, 80, 800)
    pd.DataFrame(plan.randomize({"age": age, "old": np.where(age > 50, "yes", "no")}, 1)).to_csv("reports.csv")
    Path("plan.json").write_text(plan.to_json())
    pd.read_csv("reports.csv")[["age", "old"]].to_csv("reports.csv", index=False)
    line = "train plan.json reports.csv -o model.onnx --holdout 0 --method"
    assert run([*line.split(), "byclass"]) == 0
    label, _ = session(tmp_path / "model.onnx").run(None, {"answers": np.array([[30.0], [70.0]])})
    assert label.tolist() == ["no", "yes"]
    assert run([*line.split(), "naive-bayes"]) == 2
    assert "method naive-bayes grows no tree, and only trees go to ONNX; name the file .json" in capsys.readouterr().err
