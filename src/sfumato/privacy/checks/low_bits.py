"""Do digits of the true value survive? True values between the channel's steps must give reports on its steps."""

from __future__ import annotations

import numpy as np

from sfumato.channels import Channel
from sfumato.domain import Floats, Interval
from sfumato.privacy.attacks.low_bits import share_read_off
from sfumato.privacy.checks.check import SKIPPED, Check, outcome
from sfumato.privacy.implementation import Randomize, known_codes
from sfumato.privacy.words import shown

PEOPLE = 4000


def check_low_bits(channel: Channel, randomize: Randomize, attribute: str) -> Check:
    """Deterministic: one report off the steps is a failure, and a sound channel never sends one."""
    if not isinstance(channel.domain, Interval) or channel.domain.integer:
        return Check("low digits", attribute, SKIPPED, "true values are whole or named; the law's check covers them.")
    values = _between_the_steps(channel.domain)
    reports = np.asarray(randomize(values))
    strange = known_codes(channel, reports)[1]
    if not strange:
        text = f"{PEOPLE:,} true values between the steps all gave reports on the steps."
        return Check("low digits", attribute, outcome(True), text)
    grid = channel.inputs
    share = share_read_off(values, reports, float(channel.domain.low), float(getattr(grid, "step", 1.0)))
    text = (
        f"{len(strange):,} of {PEOPLE:,} reports lie between the channel's steps, for example {shown(strange[0])}; "
        f"{share:.0%} of them carry the true value's own digits, which a guess never hits."
    )
    return Check("low digits", attribute, outcome(False), text, 0.0, {"strange": len(strange), "read_off": share})


def _between_the_steps(domain: Interval) -> Floats:
    """Irregular numbers all over the domain, the same every time."""
    golden = (np.arange(PEOPLE) * 0.6180339887498949) % 1.0
    return np.asarray(float(domain.low) + domain.width * np.clip(golden, 1e-9, 1 - 1e-9))
