"""All checks of one channel's implementation, at one false-alarm rate; the last of them: is the noise fresh?

The same stream must not come twice: within a process, after a fork, in another thread. Two streams of m reports of one
true value agree in k places. When they are independent, k is binomial with chance c = Σ_y P[y|x]²; reused noise agrees
everywhere. The test is exact, at a level divided by the number of comparisons.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import numpy as np

from sfumato.channels import Channel, SelectASize
from sfumato.domain import Codes
from sfumato.privacy.audit.baskets import basket_streams, check_baskets
from sfumato.privacy.audit.check import (
    SKIPPED,
    Check,
    Randomize,
    draw_samples,
    known_codes,
    outcome,
    p_at_least,
    tested_codes,
)
from sfumato.privacy.audit.law import check_amplification, check_law, check_low_digits
from sfumato.privacy.belief import law_columns

Draw = Callable[[int], Codes]
SAMPLES = 120_000
LENGTH = 512
COPIES = 4


def check_channel(
    channel: Channel,
    implementation: Randomize | Mapping[Any, Any] | None = None,
    *,
    attribute: str = "",
    samples: int = SAMPLES,
    false_alarm: float = 1e-6,
) -> list[Check]:
    """Law, γ, low digits and fresh noise; a sound implementation fails any of them with chance ``false_alarm``.

    ``implementation``: a function from values to reports, or a mapping from true value to reports of any other program;
    None is the channel's own ``randomize`` with secure noise.
    """
    name, alpha = attribute or channel.kind, false_alarm / 3
    randomize = channel.randomize if implementation is None else implementation
    if isinstance(randomize, Mapping):
        if isinstance(channel, SelectASize):
            raise ValueError("reports of baskets cannot be audited; give implementation= as a function of baskets")
        text = "reports were given; how they were drawn is not seen."
        return [*_check_table(channel, randomize, samples, name, alpha), Check("fresh noise", name, SKIPPED, text)]
    if isinstance(channel, SelectASize):
        found = check_baskets(channel, randomize, samples // 4, name, 2 * alpha)
        return [*found, check_fresh(*basket_streams(channel, randomize), name, alpha)]
    found = [*_check_table(channel, randomize, samples, name, alpha), check_low_digits(channel, randomize, name)]
    return [*found, check_fresh(*_streams(channel, randomize), name, alpha)]


def _check_table(
    channel: Channel, randomize: Randomize | Mapping[Any, Any], samples: int, name: str, alpha: float
) -> list[Check]:
    drawn = draw_samples(channel, randomize, samples)
    found = [check_law(drawn, law_columns(channel, drawn.tested), name, alpha)]
    return [*found, check_amplification(drawn, channel.gamma, name, alpha)] if drawn.smallest >= 2 else found


def _streams(channel: Channel, randomize: Randomize) -> tuple[Draw, float]:
    """Reports of the tested value whose reports differ most, and how often two of them agree.

    Where the law itself is broken, its own agreement is no sign of reuse: the observed Σ_y of shares squared counts.
    """
    tested = tested_codes(channel)
    agreement = (law_columns(channel, tested) ** 2).sum(axis=0)
    code = int(tested[int(np.argmin(agreement))])

    def draw(count: int) -> Codes:
        reports = randomize(channel.inputs.decode(np.full(count, code)))
        codes = known_codes(channel, reports)[0]
        return codes if codes.size == count else channel.encode_reports(reports)

    shares = np.unique(draw(8 * LENGTH), return_counts=True)[1] / (8 * LENGTH)
    return draw, max(float(agreement.min()), float((shares**2).sum()))


def check_fresh(draw: Draw, agreement: float, attribute: str, alpha: float) -> Check:
    """``draw(m)`` gives m reports of one true value as whole numbers; ``agreement`` is the chance c."""
    if agreement**LENGTH > alpha / 100:
        text = "reports of one value hardly differ from each other, so reused noise would not show."
        return Check("fresh noise", attribute, SKIPPED, text)
    comparisons = _at_every_distance(draw)
    comparisons += [("in two threads", a, b) for a, b in combinations(_in_threads(draw), 2)]
    comparisons += [("after a fork", a, b) for a, b in combinations(_after_fork(draw), 2)]
    equal = np.array([int((a == b).sum()) for _, a, b in comparisons])
    values = p_at_least(equal, LENGTH, agreement)
    place, level = int(np.argmin(values)), alpha / len(comparisons)
    broken = bool(values[place] < level)
    text = (
        f"two streams of {LENGTH} reports drawn {comparisons[place][0]} agree in {equal[place]} places where "
        f"{LENGTH * agreement:.3g} are expected; the noise is used twice."
        if broken
        else f"{len(comparisons)} pairs of streams (at every distance, in threads, after forks) share no noise."
    )
    numbers = {"comparisons": len(comparisons), "smallest_p": float(values[place]), "level": level}
    return Check("fresh noise", attribute, outcome(not broken), text, alpha, numbers)


def _at_every_distance(draw: Draw) -> list[tuple[str, Codes, Codes]]:
    """Neighbours; and one half of a stream against the other, turned by every lag: each report is compared once."""
    neighbours, stream = draw(2 * LENGTH), draw(2 * LENGTH)
    first, second = stream[:LENGTH], stream[LENGTH:]
    apart = [(f"{LENGTH + lag} reports apart", first, np.roll(second, -lag)) for lag in range(LENGTH)]
    return [("one after the other", neighbours[0::2], neighbours[1::2]), *apart]


def _in_threads(draw: Draw) -> list[Codes]:
    found: list[Codes] = []
    workers = [threading.Thread(target=lambda: found.append(draw(LENGTH))) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return found


def _after_fork(draw: Draw) -> list[Codes]:
    """Streams of the parent and of its children, all drawn after the fork; none where processes cannot fork."""
    if not hasattr(os, "fork"):
        return []
    streams = [_from_child(draw) for _ in range(COPIES)]
    return [stream for stream in [*streams, draw(LENGTH)] if stream.size == LENGTH]


def _from_child(draw: Draw) -> Codes:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read)
            os.write(write, draw(LENGTH).astype(np.int64).tobytes())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        content = pipe.read()
    os.waitpid(child, 0)
    return np.frombuffer(content, dtype=np.int64)
