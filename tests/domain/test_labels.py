"""Labels of several kinds."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.domain import array_of_labels, codes_of_labels, texts_of

MIXED = [True, "yes", 2]


def test_labels_of_several_kinds_are_sorted_and_coded_kind_by_kind() -> None:
    labels = np.array(["b", 2, True, "a", 1.5, 2], dtype=object)
    found, codes = codes_of_labels(labels)
    assert [(type(one), one) for one in found] == [(bool, True), (float, 1.5), (int, 2), (str, "a"), (str, "b")]
    assert found[codes].tolist() == labels.tolist()
    assert array_of_labels([True, False]).dtype == bool and array_of_labels([1, "1"]).tolist() == [1, "1"]


def test_labels_that_are_the_same_text_are_refused_for_a_column_of_one_type() -> None:
    assert texts_of(np.array([*MIXED, None], dtype=object)).tolist() == ["True", "yes", "2", None]
    with pytest.raises(ValueError, match="labels 2 and '2' are the same text"):
        texts_of(np.array([2, "2"], dtype=object))
