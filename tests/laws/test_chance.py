"""Plans and tables drawn by chance, always the same ones here; ``bench/chance.py`` looks at others for hours."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.laws.chance import outcome_of, smallest
from tests.laws.chance_cases import random_case
from tests.laws.chance_laws import laws_for

SEED, CASES = 29, 70
SMALL = {"most_people": 600, "most_columns": 4}

REFUSED = [
    "reports are missing; reconstruction needs",
    "no person has a report for every attribute",
    "blurs nothing",
    "has no inverse",
    "a logistic regression needs clear columns",
    "do not follow the value on average",
    "is the same for everybody",
    "a regression takes 50 at most",
    "nobody answered the outcome",
    "has one category only; leave it out",
    "cannot be split into 3 folds",
    "the columns cannot be told apart",
    "tell no squares without bias",
    "is the same in every record; a pattern needs two classes",
]
"""What a case may be refused with: nothing else is, so that a table that should be read is."""


@pytest.mark.parametrize("number", range(CASES))
def test_what_must_hold_of_every_plan_and_table_holds_of_a_random_one(number: int) -> None:
    rng = np.random.default_rng([SEED, number])
    case = random_case(rng, **SMALL)
    for law in laws_for(case, rng):
        found = outcome_of(law, case)
        allowed = found.kind == "refused" and any(re.search(reason, found.said) for reason in REFUSED)
        if found.kind != "held" and not allowed:
            pytest.fail(f"{law.__name__}: {found.said}\n\n{smallest(law, case, found).script(law)}", pytrace=False)
