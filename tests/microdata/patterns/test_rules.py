"""Rules between columns are found or stated, in one line each, and hold in a release."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.microdata import Donors, PatternWarning, Swap, Treatment
from sfumato.microdata.patterns.rules import find_rules, read_rule
from sfumato.microdata.table.fields import read_microdata

GRADES = {"none": 0, "school": 8, "college": 13, "doctor": 16}


def families(n: int = 600, seed: int = 0) -> dict[str, np.ndarray]:
    """Grades with their years, husbands who are men, wives who are women, a start before an end."""
    rng = np.random.default_rng(seed)
    grade = rng.choice(list(GRADES), n)
    sex = rng.choice(["female", "male"], n)
    role = np.where(rng.random(n) < 0.5, "single", np.where(sex == "male", "husband", "wife"))
    start = rng.integers(0, 50, n)
    score = np.round(rng.normal(size=n), 3)
    good = np.array([GRADES[one] for one in grade]) + 4 * (role == "single") + 3 * score > 10
    return {
        "grade": grade, "sex": sex, "role": role, "years": np.array([GRADES[one] for one in grade]),
        "start": start, "end": start + rng.integers(0, 9, n), "score": score, "class": np.where(good, "yes", "no"),
    }


def texts(table, *stated):
    data = read_microdata(table, "class")
    return [rule.text for rule in find_rules(data, np.zeros(len(data.fields), bool), stated)]


def pairs(table, *names):
    return set(zip(*(table[name].tolist() for name in names), strict=True))


def test_what_gives_another_column_and_what_never_goes_together_is_found():
    found = texts(families())
    assert found == ["years -> grade", "not sex=female, role=husband and 1 pairs more"]


def test_columns_that_have_nothing_to_do_with_each_other_have_no_rule():
    rng = np.random.default_rng(1)
    table = {name: rng.choice(list("abcdefgh"), 500) for name in "uvwxyz"}
    assert texts({**table, "class": rng.integers(0, 2, 500)}) == []


@pytest.mark.parametrize("preserve", ["both", "rules", "correlations"])
@pytest.mark.filterwarnings("ignore::sfumato.microdata.PatternWarning")
def test_rules_hold_whatever_is_preserved(preserve):
    table = families()
    done = sf.release(table, "class", preserve=preserve, rules=["start <= end"], rng=0)
    assert pairs(done.table, "grade", "years") <= pairs(table, "grade", "years")
    assert pairs(done.table, "sex", "role") <= pairs(table, "sex", "role")
    assert (done.table["start"] <= done.table["end"]).all()
    assert done.preserved.broken == {}


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0, 0.3))
@pytest.mark.filterwarnings("ignore::sfumato.microdata.PatternWarning")
def test_rules_hold_between_columns_with_gaps_and_gaps_stay(seed, gaps):
    table, rng = families(200, seed), np.random.default_rng(seed)
    grade = table["grade"].astype(object)
    grade[rng.random(200) < gaps] = None
    plain = Treatment(gaps="keep", order="keep")
    done = sf.release({**table, "grade": grade}, "class", Donors(attempts=1), treatment=plain, rng=seed)
    released = done.table["grade"]
    assert [one is None for one in released] == [one is None for one in grade]
    allowed = pairs(table, "grade", "years")
    both = zip(released.tolist(), done.table["years"].tolist(), strict=True)
    assert all(one in allowed for one in both if one[0] is not None)


def test_rules_that_swapping_breaks_are_counted_and_warned_of():
    with pytest.warns(PatternWarning, match=r"\d+ records break the rule start <= end"):
        done = sf.release(families(), "class", Swap(window=1.0), rules=["start <= end"], rng=0)
    assert done.preserved.broken["start <= end"] > 0


def test_a_kept_column_is_never_changed_for_a_rule():
    table = families()
    done = sf.release(table, "class", keep=["grade"], treatment=Treatment(order="keep"), rng=0)
    assert np.array_equal(done.table["grade"], table["grade"])
    assert pairs(done.table, "grade", "years") == pairs(table, "grade", "years")


def test_stated_pairs_may_be_forbidden_though_the_table_has_them():
    table = families()
    done = sf.release(table, "class", rules=["not sex=male, grade=doctor"], rng=0)
    assert ("male", "doctor") in pairs(table, "sex", "grade")
    assert ("male", "doctor") not in pairs(done.table, "sex", "grade")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sex", "is not understood; write"),
        ("sex ~ colour", "'colour' is not an attribute"),
        ("sex <= role", "compares categories"),
        ("sex -> role", "fails in the table for sex="),
        ("not sex=male", "names 1 values"),
        ("not sex=man, role=wife", "no record has sex=man"),
    ],
)
def test_a_rule_that_cannot_be_read_is_refused_in_one_line(text, words):
    with pytest.raises(ValueError, match=words) as refusal:
        sf.release(families(100), "class", rules=[text])
    assert "\n" not in str(refusal.value)


def test_every_stated_form_is_read():
    data = read_microdata(families(), "class")
    for text in ("years -> grade", "grade ~ years", "start <= end", "not sex=male, role=wife"):
        assert not read_rule(text, data).broken(data.X).any()


def test_a_stated_rule_that_true_records_break_is_told():
    table = families()
    done = sf.release(table, "class", rules=["not sex=male, grade=doctor"], rng=0)
    broken = int(((table["sex"] == "male") & (table["grade"] == "doctor")).sum())
    assert any(f"{broken} true records of {len(table['sex']):,} break it" in note for note in done.notes)
