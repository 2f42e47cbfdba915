"""Is the noise ever used twice? In long calls, from call to call, in threads, after a fork, in a new process.

All streams are reports of the same two true values in turn. Independent runs of w reports are equal with chance c^w at
most, c = max_x Σ_y P[y|x]², so that among N runs none comes twice except with chance α when

    w ≥ 2·log(N/α) / −log c.

A seed of b bits a call comes twice in about C²/2^(b+1) pairs of C calls, and a pad of L numbers that is entered
anywhere overlaps itself in about C²·m/L pairs of calls of m reports: both show as one run that comes twice somewhere.
"""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.program.random_words import scrambled
from sfumato.domain import Codes
from sfumato.privacy.audit.check import SEEN, SKIPPED, Check, Randomize, outcome
from sfumato.privacy.audit.probe import SAMPLES, Effort
from sfumato.privacy.audit.program import Part
from sfumato.prose import listed

Draw = Callable[[int], Codes]
Stream = tuple[str, Codes]
LONG, LONGEST = 1 << 14, 1 << 21  # reports in one long call, and in all of them at most
ELSEWHERE = 2048
LONGEST_RUN = 1024
CALLS, REPORTS_A_CALL = (128, 1 << 17), 3000  # at least, at most
COPIES = 3
WORTH_STARTING, PATIENCE = 8.0, 20.0  # seconds
FACTOR = 0x9E3779B97F4A7C15 | 1
CHILD = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
randomize, values = pickle.load(sys.stdin.buffer)
pickle.dump(randomize(values), sys.stdout.buffer)
"""


def check_fresh(
    randomize: Randomize, values: Callable[[int], Any], read: Callable[[Any], Codes], agreement: float, attribute: str,
    alpha: float, effort: Effort,
) -> Check:
    """``values(m)``: true values for a call of m people; ``read``: its reports as whole numbers; ``agreement``: c."""

    def draw(count: int) -> Codes:
        return read(randomize(values(count)))

    calls = min(max(effort.samples // REPORTS_A_CALL, CALLS[0]), CALLS[1])
    width = run_length(agreement, 2 * LONGEST_RUN * calls, alpha)
    if width > LONGEST_RUN:
        text = "reports of one value hardly differ from each other, so reused noise would not show."
        return Check("fresh noise", attribute, SKIPPED, text)
    length = 2 * width
    long = effort.sizes(min(max(effort.samples // 10, LONG), LONGEST), 0.15, LONG)
    streams = [("in long calls", draw(size)) for size in long]
    if isinstance(randomize, Part):
        streams += [("after a new start", read(new)) for new in randomize.elsewhere(values(length))]
    else:
        streams += _elsewhere(draw, length)
        streams += [("in a new process", read(new)) for new in from_new_processes(randomize, values(ELSEWHERE), effort)]
    many = [draw(length) for _ in effort.sizes(calls, 0.2, 1)]
    found = first_repeat([*(codes for _, codes in streams), *many], width)
    seeds, pad = longest_seen(len(many), length)
    numbers = {"calls": len(many), "run": width, "largest_seed": seeds, "longest_pad": pad}
    places = listed(dict.fromkeys(where for where, _ in streams))
    text = f"{len(many):,} calls of {length} reports, and those {places}, share no noise."
    if found is not None:
        named = [*(where for where, _ in streams), *(f"in call {place + 1:,}" for place in range(len(many)))]
        (one, first), (other, second) = ((named[which], place) for which, place in found)
        text = (
            f"the same {width} reports came {one} (from place {first + 1:,}) and {other} (from place {second + 1:,}), "
            "which chance does not do; the noise is used twice."
        )
    return Check("fresh noise", attribute, outcome(found is None), text, alpha, numbers)


def run_length(agreement: float, runs: int, alpha: float) -> int:
    """w of the module's text."""
    if agreement >= 1:
        return LONGEST_RUN + 1
    return max(math.ceil(2 * math.log(runs / alpha) / -math.log(max(agreement, 1e-12))), 2)


def longest_seen(calls: int, length: int) -> tuple[int, int]:
    """Seeds a call, and numbers of a pad with a random start, that come twice with chance .99 or more.

    Of a pad, half of a call has to overlap, at an even distance because two true values take turns.
    """
    pairs = calls * (calls - 1) / 2 / -math.log(1 - SEEN)
    return int(pairs), int(pairs * length / 2)


def first_repeat(streams: list[Codes], width: int) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """(stream, place) of two equal runs of ``width`` numbers that do not overlap; None where there are none.

    Runs are compared by the sum of their numbers times powers of an odd factor, modulo 2^64, and then as they are.
    """
    whole = np.concatenate(streams)
    start = np.cumsum([0, *(codes.size for codes in streams)])
    inside = np.concatenate([np.arange(a, max(b - width + 1, a)) for a, b in pairwise(start)])
    marks = _marks(whole, width)[inside]
    order = np.argsort(marks, kind="stable")
    same = np.flatnonzero(marks[order][1:] == marks[order][:-1])
    for one, other in zip(inside[order[same]], inside[order[same + 1]], strict=True):
        if abs(other - one) >= width and (whole[one : one + width] == whole[other : other + width]).all():
            which = [int(np.searchsorted(start, place, side="right")) - 1 for place in (one, other)]
            return (which[0], int(one - start[which[0]])), (which[1], int(other - start[which[1]]))
    return None


def _marks(codes: Codes, width: int) -> NDArray[np.uint64]:
    factor = np.full(codes.size, FACTOR, dtype=np.uint64)
    factor[0] = 1
    power = np.multiply.accumulate(factor)
    factor[1:] = pow(FACTOR, -1, 1 << 64)
    inverse = np.multiply.accumulate(factor)
    total = np.cumsum(scrambled(codes.astype(np.uint64)) * power)
    before = np.concatenate([np.zeros(1, dtype=np.uint64), total[: codes.size - width]])
    found = np.zeros(codes.size, dtype=np.uint64)
    found[: before.size] = (total[width - 1 :] - before) * inverse[: before.size]
    return found


# --- streams from elsewhere ---------------------------------------------------------------------------------------


def _elsewhere(draw: Draw, length: int) -> list[Stream]:
    """Streams of two threads, of forked children and of their parent after the fork."""
    threads: list[Codes] = []
    workers = [threading.Thread(target=lambda: threads.append(draw(length))) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    children = [_from_child(draw, length) for _ in range(COPIES)] if hasattr(os, "fork") else []
    forked = [*(codes for codes in children if codes.size == length), draw(length)]
    return [*(("in another thread", codes) for codes in threads), *(("after a fork", codes) for codes in forked)]


def _from_child(draw: Draw, length: int) -> Codes:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read)
            os.write(write, draw(length).astype(np.int64).tobytes())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        content = pipe.read()
    os.waitpid(child, 0)
    return np.frombuffer(content, dtype=np.int64)


def from_new_processes(randomize: Randomize, values: Any, effort: Effort) -> list[Any]:
    """Reports of the same values from interpreters that were started afresh; none in short runs, nor where the
    implementation cannot be sent to one."""
    if not sys.executable or effort.samples < SAMPLES or effort.seconds < WORTH_STARTING:
        return []
    try:
        sent = pickle.dumps(sys.path) + pickle.dumps((randomize, values))
    except (pickle.PicklingError, AttributeError, TypeError):
        return []
    pipe, command = subprocess.PIPE, [sys.executable, "-c", CHILD]
    children = [subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) for _ in range(2)]
    answers = [_said(child, sent) for child in children]
    return [pickle.loads(said) for said in answers if said]


def _said(child: subprocess.Popen[bytes], sent: bytes) -> bytes:
    """What a child wrote; nothing where it failed or took too long."""
    try:
        said = child.communicate(sent, timeout=PATIENCE)[0]
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
    return said if child.returncode == 0 else b""


