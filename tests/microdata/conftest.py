"""Tables of every kind of column, small enough to release many times."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.microdata import IB04, Release, Treatment

AS_IT_WAS = {"treatment": Treatment("keep", "keep", "keep")}
"""Nothing but the method, so that records can be compared one by one."""


NO_NOISE = IB04(law="additive", labels="none", amount=0, attempts=0)


def mixed_table(n: int = 300, seed: int = 0) -> dict[str, np.ndarray]:
    """Floats, decimals, integers, text and truth values; the class depends on three of them."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 80, n)
    income = np.round(rng.lognormal(3, 0.5, n), 2)
    city = rng.choice(["Arles", "Bari", "Cork", "Delft"], n, p=[0.4, 0.3, 0.2, 0.1])
    score = rng.normal(size=n)
    member = rng.random(n) < 0.5
    good = (age > 45).astype(int) + (income > 20) + (city == "Bari") + 0.5 * rng.normal(size=n) > 1.2
    return {
        "age": age,
        "income": income,
        "city": city,
        "score": score,
        "member": member,
        "class": np.where(good, "yes", "no"),
    }


@pytest.fixture
def table() -> dict[str, np.ndarray]:
    return mixed_table()


@pytest.fixture(scope="session")
def released() -> Release:
    """The mixed table with all defaults."""
    return sf.release(mixed_table(), "class", rng=0)


@pytest.fixture(scope="session")
def large_release() -> Release:
    return sf.release(mixed_table(1000), "class", rng=0)


@pytest.fixture(scope="session")
def unchanged() -> Release:
    """No noise at all."""
    return sf.release(mixed_table(), "class", NO_NOISE, rng=0, **AS_IT_WAS)
