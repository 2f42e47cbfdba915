"""Simulated people who answer `credit.toml`: AGI92's attributes, with distributions that are worth reconstructing.

The shapes and numbers of the distributions are invented:

age         two generations, around 35 and 62
salary      skewed, around 55K
commission  0 from a salary of 75K on, else between 10K and 75K
elevel      five levels, the middle ones the most common
zipcode     nine districts of falling size
hvalue      50K to 150K times the district's number
hyears      mostly recent buyers
loan        none for a third; else any sum, small ones the most common
group       A or B by AS00's function 2 of age and salary
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.plan import Plan

PLAN = files("sfumato.demo") / "credit.toml"


def plan() -> Plan:
    """Return the plan of the credit survey, `credit.toml`."""
    import tomllib

    return Plan.from_dict(tomllib.loads(PLAN.read_text(encoding="utf-8")))


def people(n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    """Draw the true answers of n simulated people; return a dict with an array for each column of the plan.

    Answers lie within the plan's domains.
    """
    young = rng.random(n) < 0.6
    age = np.clip(np.rint(np.where(young, rng.normal(35, 7, n), rng.normal(62, 6, n))), 20, 79).astype(np.int64)
    salary = np.round(20_000 + 130_000 * rng.beta(2, 4, n), 2)
    commission = np.where(salary >= 75_000, 0.0, np.round(10_000 + 65_000 * rng.beta(2, 3, n), 2))
    zipcode = rng.choice(np.arange(1, 10), n, p=np.arange(9, 0, -1) / 45)
    records: dict[str, NDArray[Any]] = {
        "age": age,
        "salary": salary,
        "commission": commission,
        "elevel": rng.choice(5, n, p=[0.10, 0.25, 0.35, 0.20, 0.10]),
        "zipcode": np.char.add("z", zipcode.astype(str)),
        "hvalue": np.round(zipcode * rng.uniform(50_000, 150_000, n), 2),
        "hyears": 1 + rng.binomial(29, rng.beta(1, 2.5, n)),
        "loan": np.where(rng.random(n) < 1 / 3, 0.0, np.round(500_000 * rng.beta(1.3, 3, n), 2)),
    }
    return records | {"group": np.where(in_group_a(age, salary), "A", "B")}


def in_group_a(age: NDArray[Any], salary: NDArray[Any]) -> NDArray[np.bool_]:
    """Return a mask with True for the people of group A, by function 2 of AS00 (Agrawal and Srikant 2000).

    Salaries are in A from a start that depends on the age up to 50K above it.
    """
    low = np.select([age < 40, age < 60], [50_000, 75_000], 25_000)
    return (low <= salary) & (salary <= low + 50_000)
