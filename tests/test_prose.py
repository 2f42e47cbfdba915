import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.prose import counted, finite, in_words, json_text, listed, percent, plain, shown, suggest


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0.12345, "0.1235"),
        (56.784, "56.78"),
        (56_650.4, "56,650"),
        (1_296_000, "1,296,000"),
        (1e15, "1e+15"),
        (float("inf"), "unlimited"),
        (float("nan"), "unknown"),
    ],
)
def test_numbers_have_few_digits_and_thousands_set_off(number, words):
    assert in_words(number) == words


def test_fewer_digits_than_a_whole_number_has_make_no_power_of_ten():
    assert [in_words(number, 2) for number in (334.0, 99.6, 12_345, 5.0)] == ["330", "100", "12,000", "5"]


@given(st.floats(1e-6, 1e9))
def test_rounding_is_that_of_the_exact_value(number):
    assert float(in_words(number).replace(",", "")) == float(f"{number:.4g}")


@given(st.fractions(Fraction(1, 1000), 10**6))
def test_what_a_report_reveals_is_rounded_up(gamma):
    said = Fraction(in_words(gamma, up=True).replace(",", ""))
    assert gamma <= said <= gamma * Fraction(1001, 1000)


def test_percentages_of_bounds_are_rounded_up_without_closing_zeros():
    assert (percent(0.123), percent(0.5, up=True), percent(0.50001, up=True), percent(0.07, up=True)) == (
        "12.3 %",
        "50 %",
        "50.1 %",
        "7 %",
    )
    assert (percent(0.12345, 2), percent(0.9999, 0, up=True)) == ("12.35 %", "100 %")


def test_lists_counts_and_values_read_as_sentences_do():
    assert (listed(["a"]), listed("abc"), listed("ab", "or"), listed([])) == ("a", "a, b and c", "a or b", "")
    assert (counted(1, "target"), counted(2000, "target")) == ("1 target", "2,000 targets")
    values = (np.float64(0.1 + 0.2), "A", np.int64(7), 250000.0)
    assert [shown(value) for value in values] == ["0.3", "'A'", "7", "250,000"]


def test_a_slip_is_answered_with_the_nearest_name_or_with_all_of_them():
    assert suggest("gausian", ["gaussian", "laplace"]) == "; did you mean 'gaussian'?"
    assert suggest("xyz", ["laplace", "gaussian"]) == "; known are gaussian, laplace"


def test_finite_is_none_for_what_json_cannot_hold():
    assert [finite(x) for x in (1, float("inf"), float("nan"), None)] == [1.0, None, None, None]


@dataclass
class Pair:
    left: object
    right: object


def test_plain_data_is_strict_json_whatever_it_was():
    value = {
        1: np.arange(2),
        "pair": Pair(np.float64("inf"), (float("nan"), -np.inf)),
        "set": frozenset({"b", "a"}),
        "path": Path("a") / "b",
        "objects": np.array([np.int64(3), None], dtype=object),
    }
    expected = {
        "1": [0, 1],
        "pair": {"left": "infinity", "right": [None, "-infinity"]},
        "set": ["a", "b"],
        "path": "a/b",
        "objects": [3, None],
    }
    assert plain(value) == expected
    assert json.loads(json_text(value)) == expected
    assert "é" in json_text("é")


def test_what_is_not_understood_is_an_error_and_no_guess():
    with pytest.raises(TypeError):
        json_text(object())
