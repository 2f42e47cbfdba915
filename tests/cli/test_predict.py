import numpy as np
import pytest
from pyarrow import csv, parquet


@pytest.fixture
def trained(sfumato, folder):
    folder.people("people.parquet", n=1500, group=np.where(np.arange(1500) % 2, "A", "B"))
    assert sfumato("randomize plan.toml people.parquet -o reports.parquet --seed 1").code == 0
    assert sfumato("train plan.toml reports.parquet -o model.json --method byclass --holdout 0").code == 0
    return folder


def test_one_prediction_a_person_with_probabilities_on_request(sfumato, trained):
    answer = sfumato("predict model.json people.csv -o predictions.parquet --probabilities")
    assert answer.code == 0 and "400 predictions" in answer.out
    found = parquet.read_table(trained / "predictions.parquet").to_pandas()
    assert list(found.columns) == ["group", "group=A", "group=B"]
    assert np.allclose(found["group=A"] + found["group=B"], 1)
    assert ((found["group"] == "A") == (found["group=A"] >= found["group=B"])).all()


def test_the_class_need_not_be_in_the_table_and_gaps_may_be(sfumato, trained):
    trained.write("gaps.csv", "district,elevel,age\nnorth,1,30\n1,,40\n2,3,\n")
    assert sfumato("predict model.json gaps.csv -o predictions.csv").code == 0
    assert csv.read_csv(trained / "predictions.csv").num_rows == 3


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("predict gone.json people.csv -o p.csv", "gone.json: no such file"),
        ("predict plan.toml people.csv -o p.csv", "plan.toml: the file is not a whole JSON file"),
        ("predict . people.csv -o p.csv", "is a folder"),
        ("predict foreign.json people.csv -o p.csv", "foreign.json: not a model of sfumato"),
    ],
)
def test_what_is_not_a_model_is_refused(refused, folder, line, words):
    folder.write("foreign.json", '{"weights": [1, 2]}')
    assert words in refused(line)


def test_bad_tables_are_refused_by_name(refused, trained):
    trained.people("old.csv", n=2, age=[30, 300])
    trained.people("ageless.csv", age=None)
    assert "old.csv: row 2, column 'age': the value is outside" in refused("predict model.json old.csv -o p.csv")
    assert "ageless.csv: column 'age' is missing" in refused("predict model.json ageless.csv -o p.csv")
    assert "unknown extension '.txt'" in refused("predict model.json people.csv -o p.txt")
    text = (trained / "model.json").read_text()
    trained.write("cut.json", text[: len(text) // 2])
    assert "cut.json: the file is not a whole JSON file" in refused("predict cut.json people.csv -o p.csv")
