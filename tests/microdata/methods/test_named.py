"""Methods by name, their options from lines."""

import pytest

from sfumato.microdata import IB04, METHODS, Donors, Swap, Treatment, read_method
from sfumato.microdata.methods.named import read_settings


@pytest.mark.parametrize("name", METHODS)
def test_without_settings_a_method_is_as_its_defaults(name):
    assert read_method(name) == (METHODS[name](), Treatment())


def test_values_are_read_as_toml_and_words_need_no_quotes():
    lines = ["a=1", "b = 0.5", "c=true", "d=False", "e=c45", 'f="two words"', "g={x=1}", "h=a=b"]
    read = {"a": 1, "b": 0.5, "c": True, "d": False, "e": "c45", "f": "two words", "g": {"x": 1}, "h": "a=b"}
    assert read_settings(lines) == read


def test_settings_for_single_columns_come_together():
    lines = ["fewest.age=20", 'fewest."my income"=5', "attempts=0", "gaps=keep"]
    method, treatment = read_method("donors", lines)
    assert method == Donors(fewest={"age": 20, "my income": 5}, attempts=0)
    assert treatment == Treatment(gaps="keep")


def test_of_a_setting_given_twice_the_last_counts():
    assert read_method("swap", ["window=0.1", "window=0.3"])[0] == Swap(0.3)


def test_a_law_is_given_as_a_table():
    assert read_method("ib04", ['law={"-0.1"=1, "0.1"=1}'])[0] == IB04(law={"-0.1": 1, "0.1": 1})


@pytest.mark.parametrize(
    ("name", "line", "words"),
    [
        ("magic", "a=1", "method='magic' is unknown; choose donors, ib04, gadp, swap"),
        ("swap", "labels=ppt", "method swap has no option 'labels'; swap has window; every method has outliers, gaps"),
        ("ib04", "leafs=3", "ib04 has amount, attempts, labels, law, leaves, tested, untested"),
        ("donors", "fewest", "setting 'fewest' is not NAME=VALUE"),
        ("donors", "=3", "is not NAME=VALUE"),
        ("donors", "my column=3", "is not NAME=VALUE"),
    ],
)
def test_what_is_no_method_or_no_option_of_it_is_refused_with_those_that_are(name, line, words):
    with pytest.raises(ValueError, match=words) as refusal:
        read_method(name, [line])
    assert "\n" not in str(refusal.value)
