"""Averaging repeated answers: fresh noise on the same answer wears off, as 1/√k for k reports.

A device that is keyed gives the same report again, and repeating the question teaches nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato.privacy.attacks.best_guess import judge
from sfumato.privacy.attacks.finding import Finding
from sfumato.privacy.population import Attacked
from sfumato.privacy.posterior import posterior_of_several

PEOPLE = 400


def averaging(target: Attacked, times: int, rng: np.random.Generator) -> Finding:
    """The attack on people who answered ``times`` times with fresh noise."""
    few = replace(target, true_codes=target.true_codes[:PEOPLE], report_codes=target.report_codes[:PEOPLE])
    values = few.channel.inputs.decode(few.true_codes)
    drawn = [few.channel.encode_reports(few.channel.randomize(values, rng)) for _ in range(times)]
    belief = posterior_of_several(few.law, few.belief, few.table.report_cell[np.column_stack(drawn)])
    return judge(few, belief, f"{times} fresh answers to the same question")
