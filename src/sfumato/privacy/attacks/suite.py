"""All attacks that apply to a plan, run on one population."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sfumato.channels import Channel
from sfumato.domain import Items
from sfumato.privacy.attacks.averaging import averaging
from sfumato.privacy.attacks.baskets import item_guess
from sfumato.privacy.attacks.best_guess import best_guess
from sfumato.privacy.attacks.correlation import correlation_attacks
from sfumato.privacy.attacks.finding import Finding
from sfumato.privacy.attacks.linkage import linkage
from sfumato.privacy.attacks.outliers import outliers
from sfumato.privacy.population import Population


def run_attacks(
    channels: Mapping[str, Channel], population: Population, times: int, rng: np.random.Generator
) -> list[Finding]:
    """All attacks that apply, in the order: one attribute, several attributes, the record as a whole."""
    found = [best_guess(target) for target in population.targets.values()]
    found += [averaging(target, times, rng) for target in population.targets.values()]
    for name, channel in channels.items():
        if isinstance(channel.domain, Items):
            found += item_guess(name, channel)  # type: ignore[arg-type]
    return [*found, *correlation_attacks(population), *outliers(population), *linkage(population)]
