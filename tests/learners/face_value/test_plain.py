"""Estimators of scikit-learn as numbers: what devices compare is what the estimator decides by."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import sfumato as sf
from sfumato.learners.face_value.plain import first_above
from sfumato.prose import voice

CUTS = st.floats(-1e30, 1e30, allow_subnormal=False)


@given(CUTS, st.integers(-3, 3))
def test_a_cut_in_double_precision_parts_numbers_as_single_precision_does(cut: float, steps: int) -> None:
    border = first_above(cut)
    value = border
    for _ in range(abs(steps)):
        value = float(np.nextafter(value, np.copysign(np.inf, steps)))
    for x in (value, cut, float(np.float32(cut))):
        assert (x < border) == bool(np.float32(x) <= cut)


def test_a_tree_of_scikit_learn_asks_for_labels_and_says_so() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"city": rng.choice(["Rome", "Oslo", "Bern"], 300), "age": rng.uniform(20, 80, 300)})
    model = sf.FaceValueClassifier(DecisionTreeClassifier(max_depth=1)).fit(table, table["city"] == "Oslo")
    root = model.device_form(voice("en")).data["nodes"][0]
    assert root["said"] == ["city is Bern or Rome", "city is Oslo", "city is unknown to the model"]
    assert (root["cut"], root["missing_left"]) == ([0, 2], True)
