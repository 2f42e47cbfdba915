"""Is the noise fresh? The same stream must not come twice: within a process, after a fork, in another thread.

Two streams of m reports of one true value agree in k places. When they are independent, k is binomial with chance
c = Σ_y P[y|x]²; reused noise agrees everywhere. The test is exact, at a level divided by the number of comparisons.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.privacy.bounds import p_at_least
from sfumato.privacy.checks.check import SKIPPED, Check, outcome

Stream = NDArray[np.int64]
Draw = Callable[[int], Stream]
LENGTH = 512
COPIES = 4


def check_reuse(draw: Draw, agreement: float, attribute: str, alpha: float) -> Check:
    """``draw(m)`` gives m reports of one true value as whole numbers; ``agreement`` is the chance c."""
    if agreement**LENGTH > alpha / 100:
        text = "reports of one value hardly differ from each other, so reused noise would not show."
        return Check("fresh noise", attribute, SKIPPED, text)
    comparisons = [("one after the other", *_pairs(draw)), *_at_every_distance(draw)]
    comparisons += [("in two threads", a, b) for a, b in combinations(_in_threads(draw), 2)]
    comparisons += [("after a fork", a, b) for a, b in combinations(_after_fork(draw), 2)]
    equal = np.array([int((a == b).sum()) for _, a, b in comparisons])
    values = p_at_least(equal, LENGTH, agreement)
    place, level = int(np.argmin(values)), alpha / len(comparisons)
    broken = bool(values[place] < level)
    text = (
        f"two streams of {LENGTH} reports drawn {comparisons[place][0]} agree in {equal[place]} places where "
        f"{LENGTH * agreement:.3g} are expected: the noise is used twice."
        if broken
        else f"{len(comparisons)} pairs of streams (at every distance, in threads, after forks) share no noise."
    )
    numbers = {"comparisons": len(comparisons), "smallest_p": float(values[place]), "level": level}
    return Check("fresh noise", attribute, outcome(not broken), text, alpha, numbers)


def _pairs(draw: Draw) -> tuple[Stream, Stream]:
    stream = draw(2 * LENGTH)
    return stream[0::2], stream[1::2]


def _at_every_distance(draw: Draw) -> list[tuple[str, Stream, Stream]]:
    """One half of a stream against the other, turned by every lag: each comparison is of reports that it uses once."""
    stream = draw(2 * LENGTH)
    first, second = stream[:LENGTH], stream[LENGTH:]
    return [(f"{LENGTH + lag} reports apart", first, np.roll(second, -lag)) for lag in range(LENGTH)]


def _in_threads(draw: Draw) -> list[Stream]:
    found: list[Stream] = []
    workers = [threading.Thread(target=lambda: found.append(draw(LENGTH))) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return found


def _after_fork(draw: Draw) -> list[Stream]:
    """Streams of the parent and of its children, all drawn after the fork; none where processes cannot fork."""
    if not hasattr(os, "fork"):
        return []
    streams = [_from_child(draw) for _ in range(COPIES)]
    return [stream for stream in [*streams, draw(LENGTH)] if stream.size == LENGTH]


def _from_child(draw: Draw) -> Stream:
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
