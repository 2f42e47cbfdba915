"""The attacks that use all of a person's numbers at once, run on the same people: spectral, PCA and Bayes."""

from __future__ import annotations

import numpy as np

from sfumato.domain import Floats
from sfumato.privacy.attacks.bayes import bayes_estimate
from sfumato.privacy.attacks.best_guess import stated_width
from sfumato.privacy.attacks.finding import Finding, width_of_errors
from sfumato.privacy.attacks.principal import principal_components
from sfumato.privacy.attacks.spectral import spectral_filter
from sfumato.privacy.population import Attacked, Population, noise_of

ATTACKS = {
    "spectral filtering": spectral_filter,
    "principal components": principal_components,
    "Bayes estimate from all numbers": bayes_estimate,
}


def correlation_attacks(population: Population) -> list[Finding]:
    """Every attack on every number; nothing where there are no two numbers whose correlation is known."""
    targets = population.numeric
    if len(targets) < 2 or population.covariance is None:
        return []
    reports = np.column_stack([_read(target) for target in targets])
    unit = np.sqrt([noise_of(target) for target in targets])  # in units of its noise no attribute dwarfs another
    true = np.column_stack([target.true_numbers for target in targets])
    found = []
    for name, attack in ATTACKS.items():
        guess = attack(reports / unit, np.eye(unit.size)) * unit
        for place, target in enumerate(targets):
            before = width_of_errors(true[:, place], true[:, place].mean())
            after = width_of_errors(true[:, place], guess[:, place])
            found.append(Finding(name, target.name, "width", before, after, stated_width(target)))
    return found


def _read(target: Attacked) -> Floats:
    shift, slope, _ = target.linear()
    return (target.table.report_values[target.reports] - shift) / slope
