"""The synthetic people of AGI92, as AS00 uses them (Tables 2 and 3): nine attributes, ten ways to form group A.

    salary      uniform on 20K..150K
    commission  0 if salary >= 75K, else uniform on 10K..75K
    age         uniform on 20..80
    elevel      one of 0..4
    car         one of 1..20
    zipcode     one of 1..9
    hvalue      uniform on k*50K..k*150K, k = zipcode (AS00 leaves open how k in 0..9 depends on the nine zipcodes)
    hyears      uniform on 1..30
    loan        uniform on 0..500K

Functions 1-5 are those of AS00's Table 3; functions 6-10 are those of AGI92 (AS00's function 2 is AGI92's too, its 3
is a variant of AGI92's fourth, its 4 and 5 are variants of AGI92's seventh and tenth).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from sfumato.domain import Interval

Column = npt.NDArray[np.float64] | npt.NDArray[np.int64]
Records = dict[str, Column]
Mask = npt.NDArray[np.bool_]

DOMAINS: dict[str, Interval] = {
    "salary": Interval(20_000, 150_000),
    "commission": Interval(0, 75_000),
    "age": Interval(20, 80),
    "elevel": Interval(0, 4, integer=True),
    "car": Interval(1, 20, integer=True),
    "zipcode": Interval(1, 9, integer=True),
    "hvalue": Interval(0, 1_350_000),
    "hyears": Interval(1, 30),
    "loan": Interval(0, 500_000),
}
ATTRIBUTES: tuple[str, ...] = tuple(DOMAINS)

TRUE_CUTS: dict[str, tuple[float, ...]] = {
    "age": (40, 60),
    "salary": (25_000, 50_000, 75_000, 100_000, 125_000),
}
"""Where functions 1-3 change their answer: a benchmark must not place cell edges here by luck."""


def _between(values: Column, low: float, high: float) -> Mask:
    return np.asarray((low <= values) & (values <= high))


def _by_age(age: Column, young: Mask, middle: Mask, old: Mask) -> Mask:
    return np.where(age < 40, young, np.where(age < 60, middle, old))


def _income_band_by_age(age: Column, income: Column) -> Mask:
    return _by_age(
        age,
        _between(income, 50_000, 100_000),
        _between(income, 75_000, 125_000),
        _between(income, 25_000, 75_000),
    )


def _affords(r: Records, reserve: float, *terms: str) -> Mask:
    """0.67·(salary + commission) less what is spent, plus a fifth of the house's equity, exceeds the reserve."""
    left = 0.67 * (r["salary"] + r["commission"])
    if "elevel" in terms:
        left = left - 5_000 * r["elevel"]
    if "loan" in terms:
        left = left - 0.2 * r["loan"]
    if "equity" in terms:
        left = left + 0.2 * (0.1 * r["hvalue"] * np.maximum(r["hyears"] - 20, 0))
    return np.asarray(left - reserve > 0)


def _salary_by_age_and_elevel(r: Records) -> Mask:
    low = _between(r["salary"], 25_000, 75_000)
    middle = _between(r["salary"], 50_000, 100_000)
    high = _between(r["salary"], 75_000, 125_000)
    e = r["elevel"]
    return _by_age(
        r["age"],
        (_between(e, 0, 1) & low) | (_between(e, 2, 3) & middle),
        (_between(e, 1, 3) & middle) | ((e == 4) & high),
        (_between(e, 2, 4) & middle) | ((e == 1) & low),
    )


FUNCTIONS: dict[int, Callable[[Records], Mask]] = {
    1: lambda r: np.asarray((r["age"] < 40) | (r["age"] >= 60)),
    2: lambda r: _income_band_by_age(r["age"], r["salary"]),
    3: _salary_by_age_and_elevel,
    4: lambda r: _affords(r, 10_000, "loan"),
    5: lambda r: _affords(r, 10_000, "loan", "equity"),
    6: lambda r: _income_band_by_age(r["age"], r["salary"] + r["commission"]),
    7: lambda r: _affords(r, 20_000, "loan"),
    8: lambda r: _affords(r, 20_000, "elevel"),
    9: lambda r: _affords(r, 10_000, "elevel", "loan"),
    10: lambda r: _affords(r, 10_000, "elevel", "equity"),
}


def in_group_a(records: Records, function: int) -> Mask:
    """Which records belong to group A under the function of that number."""
    if function not in FUNCTIONS:
        raise ValueError(f"function={function!r} is unknown; choose one of 1..10")
    return FUNCTIONS[function](records)


def draw_records(n: int, rng: np.random.Generator) -> Records:
    """n independent people, one array a column, in the order of `ATTRIBUTES`."""
    salary = rng.uniform(20_000, 150_000, n)
    commission = np.where(salary >= 75_000, 0.0, rng.uniform(10_000, 75_000, n))
    age = rng.uniform(20, 80, n)
    elevel = rng.integers(0, 5, n)
    car = rng.integers(1, 21, n)
    zipcode = rng.integers(1, 10, n)
    hvalue = zipcode * rng.uniform(50_000, 150_000, n)
    hyears = rng.uniform(1, 30, n)
    loan = rng.uniform(0, 500_000, n)
    columns = (salary, commission, age, elevel, car, zipcode, hvalue, hyears, loan)
    return dict(zip(ATTRIBUTES, columns, strict=True))


def generate(n: int, function: int, rng: np.random.Generator | None = None) -> tuple[Records, npt.NDArray[np.str_]]:
    """n people and their group, "A" or "B": as many of each (an odd one goes to A), drawn by rejection."""
    rng = np.random.default_rng() if rng is None else rng
    wanted = {True: n - n // 2, False: n // 2}
    parts = [draw_records(0, rng)]
    while any(wanted.values()):
        batch = draw_records(max(1_000, n), rng)
        group = in_group_a(batch, function)
        chosen = np.sort(np.concatenate([np.flatnonzero(group == side)[:left] for side, left in wanted.items()]))
        parts.append({name: column[chosen] for name, column in batch.items()})
        for side in wanted:
            wanted[side] -= int(np.sum(group[chosen] == side))
    order = rng.permutation(n)
    records = {name: np.concatenate([part[name] for part in parts])[order] for name in ATTRIBUTES}
    return records, np.where(in_group_a(records, function), "A", "B")


def as_matrix(records: Records) -> npt.NDArray[np.float64]:
    """The nine columns as one float array, in the order of `ATTRIBUTES`."""
    return np.column_stack([np.asarray(records[name], dtype=np.float64) for name in ATTRIBUTES])
