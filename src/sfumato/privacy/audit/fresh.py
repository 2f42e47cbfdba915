"""The check that noise is never used twice: in and between calls, in threads, after forks, in new processes.

All streams are reports of the same two true values in turn. Independent runs of w reports are equal with chance c^w at
most, c = max_x Σ_y P[y|x]² (the *agreement*), so that among N runs none comes twice except with chance α when

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
from sfumato.privacy.audit.program import ProgramAttribute
from sfumato.prose import listed

Draw = Callable[[int], Codes]
Stream = tuple[str, Codes]
LONG = 1 << 14
"""Reports in one long call. By judgement: noise that repeats itself within 16,000 reports shows in one call; longer
calls need memory, shorter ones leave such a period to chance."""
LONGEST = 1 << 21
"""Reports in all long calls together, at most. By judgement: a tenth of an audit at default size has no more, and their
hashes are sorted in memory."""
ELSEWHERE = 2048
"""Reports drawn in each new process: twice LONGEST_RUN, the length of the longest short call."""
LONGEST_RUN = 1024
"""The longest run of reports that is compared. By judgement: runs get long where reports hardly differ (agreement near
1), and beyond this the calls would take longer than all other checks; the check is skipped then, and says so."""
CALLS = (128, 1 << 17)
"""Short calls, at least and at most. Calls C find seeds of up to C²/9.2 values (docs/mathematics.md, Reused noise): the
8333 calls of an audit at default size find 22 bits (bench/audit.py), 2^17 calls 30 bits; more need memory."""
REPORTS_A_CALL = 3000
"""An audit makes one short call for so many samples. By judgement: the calls then draw a few percent of all reports, in
at most a fifth of the time; half the number finds seeds that are two bits longer."""
COPIES = 3
"""Forked children that are compared. By judgement: two are enough to show inherited noise, and one may fail."""
WORTH_STARTING = 8.0
"""The least seconds of an audit in which interpreters are started. By judgement: two starts with imports take a second
or two, most of a shorter audit."""
PATIENCE = 20.0
"""Seconds until a new interpreter that does not answer is ended. By judgement: ten times what a start with imports
takes; with less a busy machine would leave new processes out."""
FACTOR = 0x9E3779B97F4A7C15
"""The odd factor of the hashes of runs: 2^64 divided by the golden ratio, as in SplitMix64 (Steele, Lea, Flood 2014).
Any odd number with mixed bits does; runs with equal hashes are compared as they are."""
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
    """Check that no run of reports comes twice, however reports are drawn: in calls, threads, forks, new processes.

    ``randomize``: true values to reports; ``values(m)``: true values for a call of m people; ``read``: reports as whole
    numbers; ``agreement``: the chance c that two reports of one value are equal; ``alpha``: the check's false alarm.
    """

    def draw(count: int) -> Codes:
        return read(randomize(values(count)))

    calls = min(max(effort.samples // REPORTS_A_CALL, CALLS[0]), CALLS[1])
    width = run_length(agreement, 2 * LONGEST_RUN * calls, alpha)
    if width > LONGEST_RUN:
        text = "reports of one value hardly differ from each other, so reused noise would not show."
        return Check("fresh noise", attribute, SKIPPED, text)
    length = 2 * width
    long = effort.block_sizes(min(max(effort.samples // 10, LONG), LONGEST), 0.15, LONG)
    streams = [("in long calls", draw(size)) for size in long]
    if isinstance(randomize, ProgramAttribute):
        streams += [("after a new start", read(new)) for new in randomize.randomize_in_copies(values(length))]
    else:
        streams += _draw_elsewhere(draw, length)
        started = draw_in_new_processes(randomize, values(ELSEWHERE), effort)
        streams += [("in a new process", read(new)) for new in started]
    short = [draw(length) for _ in effort.block_sizes(calls, 0.2, 1)]
    repeat = first_repeat([*(codes for _, codes in streams), *short], width)
    seeds, pad = detectable_sizes(len(short), length)
    numbers = {"calls": len(short), "run": width, "largest_seed": seeds, "longest_pad": pad}
    sources = listed(dict.fromkeys(source for source, _ in streams))
    text = f"{len(short):,} calls of {length} reports, and those {sources}, share no noise."
    if repeat is not None:
        names = [*(source for source, _ in streams), *(f"in call {index + 1:,}" for index in range(len(short)))]
        (one, first), (other, second) = ((names[stream], start) for stream, start in repeat)
        text = (
            f"the same {width} reports came {one} (from place {first + 1:,}) and {other} (from place {second + 1:,}), "
            "which chance does not do; the noise is used twice."
        )
    return Check("fresh noise", attribute, outcome(repeat is None), text, alpha, numbers)


def run_length(agreement: float, runs: int, alpha: float) -> int:
    """Return the length of runs of reports at which sound reports repeat none, except with chance ``alpha``.

        w ≥ 2·log(``runs``/α) / −log c,   c = ``agreement``, the chance that two reports of one value are equal

    LONGEST_RUN + 1 where reports never differ.
    """
    if agreement >= 1:
        return LONGEST_RUN + 1
    return max(math.ceil(2 * math.log(runs / alpha) / -math.log(max(agreement, 1e-12))), 2)


def detectable_sizes(calls: int, length: int) -> tuple[int, int]:
    """Return (number of seeds, length of a pad): the largest that repeat themselves with chance .99 in so many calls.

    ``length``: reports in a call. A seed is drawn anew for each call; a pad is a list of random numbers that each call
    enters at a random start. Of a pad, half of a call has to overlap, at an even distance because two true values take
    turns.
    """
    pairs = calls * (calls - 1) / 2 / -math.log(1 - SEEN)
    return int(pairs), int(pairs * length / 2)


def first_repeat(streams: list[Codes], width: int) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Find two equal runs of ``width`` numbers that do not overlap, in several streams of reports.

    Returns (stream, start) of both, by number, or None. Runs are compared by a hash, the sum of their numbers times
    powers of an odd factor modulo 2^64, and then as they are.
    """
    whole = np.concatenate(streams)
    start = np.cumsum([0, *(codes.size for codes in streams)])
    inside = np.concatenate([np.arange(a, max(b - width + 1, a)) for a, b in pairwise(start)])
    hashes = _window_hashes(whole, width)[inside]
    order = np.argsort(hashes, kind="stable")
    same = np.flatnonzero(hashes[order][1:] == hashes[order][:-1])
    for first, second in zip(inside[order[same]], inside[order[same + 1]], strict=True):
        if abs(second - first) >= width and (whole[first : first + width] == whole[second : second + width]).all():
            a, b = (int(np.searchsorted(start, index, side="right")) - 1 for index in (first, second))
            return (a, int(first - start[a])), (b, int(second - start[b]))
    return None


def _window_hashes(codes: Codes, width: int) -> NDArray[np.uint64]:
    """Return an array with a hash of every run of ``width`` codes, at the run's first index.

    0 where it would pass the end.
    """
    factor = np.full(codes.size, FACTOR, dtype=np.uint64)
    factor[0] = 1
    power = np.multiply.accumulate(factor)
    factor[1:] = pow(FACTOR, -1, 1 << 64)
    inverse = np.multiply.accumulate(factor)
    total = np.cumsum(scrambled(codes.astype(np.uint64)) * power)
    before = np.concatenate([np.zeros(1, dtype=np.uint64), total[: codes.size - width]])
    hashes = np.zeros(codes.size, dtype=np.uint64)
    hashes[: before.size] = (total[width - 1 :] - before) * inverse[: before.size]
    return hashes


# --- streams from elsewhere ---------------------------------------------------------------------------------------


def _draw_elsewhere(draw: Draw, length: int) -> list[Stream]:
    """Draw reports in two threads, in forked children (where the system forks) and in their parent after the fork.

    ``draw``: a function from a count to reports. Returns (where in words, ``length`` reports) of each.
    """
    threads: list[Codes] = []
    workers = [threading.Thread(target=lambda: threads.append(draw(length))) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    children = [_draw_in_child(draw, length) for _ in range(COPIES)] if hasattr(os, "fork") else []
    forked = [*(codes for codes in children if codes.size == length), draw(length)]
    return [*(("in another thread", codes) for codes in threads), *(("after a fork", codes) for codes in forked)]


def _draw_in_child(draw: Draw, length: int) -> Codes:
    """Draw ``length`` reports in a forked child and read them through a pipe; fewer where the child failed."""
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


def draw_in_new_processes(randomize: Randomize, values: Any, effort: Effort) -> list[Any]:
    """Draw reports of the same values in two new interpreters; return the reports of each.

    The list is empty in audits of less than default size, and where the implementation cannot be pickled.
    """
    if not sys.executable or effort.samples < SAMPLES or effort.seconds < WORTH_STARTING:
        return []
    try:
        sent = pickle.dumps(sys.path) + pickle.dumps((randomize, values))
    except (pickle.PicklingError, AttributeError, TypeError):
        return []
    pipe, command = subprocess.PIPE, [sys.executable, "-c", CHILD]
    children = [subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) for _ in range(2)]
    outputs = [_read_output(child, sent) for child in children]
    return [pickle.loads(output) for output in outputs if output]


def _read_output(child: subprocess.Popen[bytes], sent: bytes) -> bytes:
    """Return what a child process wrote to its standard output; nothing where it failed or took longer than PATIENCE.

    ``sent``: what the child is given on its standard input.
    """
    try:
        output = child.communicate(sent, timeout=PATIENCE)[0]
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
    return output if child.returncode == 0 else b""


