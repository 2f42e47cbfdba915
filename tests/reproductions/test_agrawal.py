"""Each function is checked against a second reading of the tables, written record by record."""

import numpy as np
import pytest

from reproductions.agrawal import ATTRIBUTES, DOMAINS, as_matrix, draw_records, generate, in_group_a


def band(age, young, middle, old):
    """The salary band that a person's age group is held to."""
    if age < 40:
        return young
    return middle if age < 60 else old


def inside(value, limits):
    return limits is not None and limits[0] <= value <= limits[1]


def salary_band_of_function_3(age, elevel):
    low, middle, high = (25e3, 75e3), (50e3, 100e3), (75e3, 125e3)
    young = {0: low, 1: low, 2: middle, 3: middle}
    mid = {1: middle, 2: middle, 3: middle, 4: high}
    old = {1: low, 2: middle, 3: middle, 4: middle}
    return band(age, young, mid, old).get(elevel)


def second_reading(p, function):
    income = p["salary"] + p["commission"]
    years_past_twenty = p["hyears"] - 20 if p["hyears"] > 20 else 0
    equity = p["hvalue"] * years_past_twenty / 10
    bands = ((50e3, 100e3), (75e3, 125e3), (25e3, 75e3))
    return {
        1: lambda: not 40 <= p["age"] < 60,
        2: lambda: inside(p["salary"], band(p["age"], *bands)),
        3: lambda: inside(p["salary"], salary_band_of_function_3(p["age"], p["elevel"])),
        4: lambda: 67 * income > 20 * p["loan"] + 1_000_000,
        5: lambda: 67 * income + 20 * equity > 20 * p["loan"] + 1_000_000,
        6: lambda: inside(income, band(p["age"], *bands)),
        7: lambda: 67 * income > 20 * p["loan"] + 2_000_000,
        8: lambda: 67 * income > 500_000 * p["elevel"] + 2_000_000,
        9: lambda: 67 * income > 500_000 * p["elevel"] + 20 * p["loan"] + 1_000_000,
        10: lambda: 67 * income + 20 * equity > 500_000 * p["elevel"] + 1_000_000,
    }[function]()


@pytest.mark.parametrize("function", range(1, 11))
def test_a_function_agrees_with_a_second_reading_of_the_tables(function):
    records = draw_records(3_000, np.random.default_rng(function))
    people = [dict(zip(ATTRIBUTES, row, strict=True)) for row in zip(*records.values(), strict=True)]
    expected = [second_reading(person, function) for person in people]
    np.testing.assert_array_equal(in_group_a(records, function), expected)
    assert 0 < sum(expected) < len(expected)


def test_boundary_values_fall_where_the_tables_put_them():
    records = {name: np.zeros(4) for name in ATTRIBUTES}
    records["age"] = np.array([39.999, 40.0, 59.999, 60.0])
    records["salary"] = np.array([50e3, 75e3, 125e3, 25e3])
    np.testing.assert_array_equal(in_group_a(records, 1), [True, False, False, True])
    np.testing.assert_array_equal(in_group_a(records, 2), [True] * 4)


def test_values_stay_inside_their_domains_and_reach_most_of_them():
    records = draw_records(20_000, np.random.default_rng(0))
    for name, domain in DOMAINS.items():
        values = records[name]
        assert domain.low <= values.min() and values.max() <= domain.high
        assert values.max() - values.min() > 0.95 * (domain.high - domain.low)


def test_commission_is_paid_below_75k_only():
    records = draw_records(20_000, np.random.default_rng(0))
    paid = records["commission"] > 0
    np.testing.assert_array_equal(paid, records["salary"] < 75_000)
    assert records["commission"][paid].min() >= 10_000


def test_house_values_follow_the_zipcode():
    records = draw_records(20_000, np.random.default_rng(0))
    ratio = records["hvalue"] / records["zipcode"]
    assert ratio.min() >= 50_000 and ratio.max() <= 150_000
    assert set(np.unique(records["zipcode"])) == set(range(1, 10))


@pytest.mark.parametrize("n", [0, 1, 2, 1_001])
def test_balanced_classes_differ_by_at_most_one(n):
    for function in (1, 4):
        records, group = generate(n, function, np.random.default_rng(3))
        assert len(group) == n and np.sum(group == "A") == n - n // 2
        np.testing.assert_array_equal(group == "A", in_group_a(records, function))


def test_unbalanced_draws_keep_the_natural_shares():
    in_a = in_group_a(draw_records(30_000, np.random.default_rng(4)), 1)
    assert abs(np.mean(in_a) - 2 / 3) < 5 * np.sqrt(2 / 9 / 30_000)


def test_the_matrix_keeps_the_columns_in_order():
    records, _ = generate(10, 2, np.random.default_rng(5))
    matrix = as_matrix(records)
    assert matrix.shape == (10, 9)
    np.testing.assert_array_equal(matrix[:, ATTRIBUTES.index("loan")], records["loan"])


def test_an_unknown_function_is_named():
    with pytest.raises(ValueError, match="function=11"):
        generate(10, 11)
