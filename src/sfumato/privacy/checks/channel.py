"""All checks of one channel's implementation, at one false-alarm rate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sfumato.channels import Channel
from sfumato.domain import Codes, Floats, Items
from sfumato.privacy.checks.amplification import check_amplification
from sfumato.privacy.checks.baskets import agreement_of, bits_of, check_baskets
from sfumato.privacy.checks.check import SKIPPED, Check
from sfumato.privacy.checks.law import check_law
from sfumato.privacy.checks.low_bits import check_low_bits
from sfumato.privacy.checks.reuse import LENGTH, Draw, check_reuse
from sfumato.privacy.implementation import Randomize, draw_samples, known_codes, own_implementation, tested_codes
from sfumato.privacy.table import law_columns

SAMPLES = 120_000


def check_channel(
    channel: Channel,
    implementation: Randomize | Mapping[Any, Any] | None = None,
    *,
    attribute: str = "",
    samples: int = SAMPLES,
    false_alarm: float = 1e-6,
    rng: np.random.Generator | None = None,
) -> list[Check]:
    """Law, γ, fresh noise and low digits; a sound implementation fails any of them with chance ``false_alarm``.

    ``implementation``: a function from values to reports, or a mapping from true value to reports of any other program;
    None is the channel's own ``randomize``. ``rng`` replaces its secure noise in all but the check of fresh noise.
    """
    name = attribute or channel.kind
    alpha = false_alarm / 3
    randomize = own_implementation(channel, rng) if implementation is None else implementation
    if isinstance(channel.domain, Items):
        found = check_baskets(channel, randomize, samples // 4, name, 2 * alpha)  # type: ignore[arg-type]
    else:
        found = _check_table(channel, randomize, samples, name, alpha)
    if isinstance(randomize, Mapping):
        return [*found, Check("fresh noise", name, SKIPPED, "reports were given; how they were drawn is not seen.")]
    fresh = own_implementation(channel, None) if implementation is None else randomize
    draw, agreement = _basket_streams(channel, fresh) if isinstance(channel.domain, Items) else _streams(channel, fresh)
    found.append(check_reuse(draw, agreement, name, alpha))
    return found


def _check_table(
    channel: Channel, randomize: Randomize | Mapping[Any, Any], samples: int, name: str, alpha: float
) -> list[Check]:
    drawn = draw_samples(channel, randomize, samples)
    found = [check_law(drawn, law_columns(channel, drawn.tested), name, alpha)]
    if drawn.smallest >= 2:
        found.append(check_amplification(drawn, channel.gamma, name, alpha))
    if not isinstance(randomize, Mapping):
        found.append(check_low_bits(channel, randomize, name))
    return found


def _streams(channel: Channel, randomize: Randomize) -> tuple[Draw, float]:
    """Reports of the tested value whose reports differ most."""
    tested = tested_codes(channel)
    agreement: Floats = (law_columns(channel, tested) ** 2).sum(axis=0)
    code = int(tested[int(np.argmin(agreement))])

    def draw(count: int) -> Codes:
        reports = randomize(channel.inputs.decode(np.full(count, code)))
        codes = known_codes(channel, reports)[0]
        return codes if codes.size == count else channel.encode_reports(reports)

    return draw, max(float(agreement.min()), observed_agreement(draw(8 * LENGTH)))


def observed_agreement(codes: Codes) -> float:
    """Σ_y of the observed shares squared: where the law itself is broken, its own agreement is no sign of reuse."""
    shares = np.unique(codes, return_counts=True)[1] / codes.size
    return float((shares**2).sum())


def _basket_streams(channel: Any, randomize: Randomize) -> tuple[Draw, float]:
    basket = [channel.items.labels[code] for code in range(channel.sizes[0])]
    weights = np.random.default_rng(LENGTH).integers(1, 1 << 40, channel.items.size)

    def draw(count: int) -> Codes:
        """One whole number a report; two different reports have the same number with chance 2^−40."""
        return np.asarray(bits_of(channel, randomize([basket] * count), count) @ weights)

    return draw, agreement_of(channel) + 2.0**-30
