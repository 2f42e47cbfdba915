"""Averaging repeated answers: fresh noise on the same answer wears off, as 1/√k for k reports.

A device that is keyed gives the same report again, and repeating the question teaches nothing.
"""

from __future__ import annotations

import numpy as np

from sfumato.privacy.attacks.best_guess import judge
from sfumato.privacy.attacks.finding import Finding
from sfumato.privacy.population import Attacked
from sfumato.privacy.posterior import posterior_of_several

PEOPLE = 400


def averaging(target: Attacked, times: int, rng: np.random.Generator) -> Finding:
    """The attack on people who answered ``times`` times with fresh noise."""
    few = Attacked(target.name, target.channel, target.law, target.prior, target.true[:PEOPLE], target.reports[:PEOPLE])
    values = few.channel.inputs.decode(few.true)
    drawn = [few.channel.encode_reports(few.channel.randomize(values, rng)) for _ in range(times)]
    belief = posterior_of_several(few.law, few.prior, np.column_stack(drawn))
    return judge(few, belief, f"{times} fresh answers to the same question")
