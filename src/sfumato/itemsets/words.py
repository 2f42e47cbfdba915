"""Frequent words that no list holds, from frequent beginnings to longer ones (``channels.bounded.words``).

The share of a beginning is that of its bucket, (held − ρ)/(p − ρ) of the people whose device drew its length; once the
word has ended, of all who drew that length or a longer one, since only end marks are behind. A word is found if that
stands so many standard errors above zero that in one survey of twenty, at most, one does that nobody has. Beginnings go
on from three standard errors, the ``breadth`` most frequent: false ones go nowhere. At the last length, where nothing
follows, one word of each bucket is kept: that whose beginning has most people left when its other words are taken off.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np

from sfumato.channels.bounded.words import END, Words
from sfumato.domain import Floats
from sfumato.tables import Records, as_table

BREADTH, GOES_ON = 300, 3.0
BLOCK = 1_000_000
"""So many beginnings are in memory at once."""
MOST_TRIES = 100_000_000
"""So many are tried at one length, in some minutes."""

Found = tuple[str, float, float]
"""(beginning, share, standard error)."""


def frequent_words(reports: Any, words: Words, min_share: float = 0.0, *, breadth: int = BREADTH) -> Any:
    """The words that stand out from the noise and whose share reaches ``min_share``, the most frequent first.

    ``reports``: what ``words.randomize`` gave, or ``plan.counts(…)`` of a plan that asks ``words.questions(name)``. The
    table (pandas, or records without it) has

        word      the word, cut to ``words.longest`` letters
        share     estimated share of people who have it
        stderr    its standard error

    Only those whose device drew a length that holds the whole word tell its share. For smaller errors, ask others with
    the list, ``sf.SubsetResponse(sf.Categories([*found["word"], "something else"]), gamma=…)``; a second report of the
    same people multiplies γ.

    >>> import sfumato as sf
    >>> slang = sf.Words("ehijklnopsuw", longest=5, gamma=19)
    >>> reports = slang.randomize(["hello"] * 5000 + ["spoon"] * 3000, rng=1)
    >>> sf.frequent_words(reports, slang)["word"].tolist()
    ['hello', 'spoon']
    """
    if not isinstance(words, Words):
        raise TypeError(f"words is a {type(words).__name__}; give the sf.Words that made the reports")
    if not isinstance(min_share, (int, float, np.integer, np.floating)) or not 0 <= min_share <= 1:
        raise ValueError(f"min_share = {min_share!r} is no share of the people; give a number from 0 to 1")
    if not isinstance(breadth, (int, np.integer)) or breadth < 1:
        raise ValueError(f"breadth = {breadth!r} follows no beginning; give a whole number from 1, 300 is usual")
    people = _tallied(reports, words) if isinstance(reports, Mapping) else words.count(reports)
    if not all(each.any() for each in people):
        raise ValueError("there are too few reports; words need some of every length, and thousands to stand out")
    buckets, rows, going, before = Buckets(words, people), list[Found](), [""], dict[str, float]()
    for place, length in enumerate(words.lengths):
        errors = words.errors_needed(_tries(words, going, length))
        tried, begun = words.extend(going, length), list[Found]()
        while block := list(islice(tried, BLOCK)):
            isover = [each.endswith(END) or length == words.longest for each in block]
            ended = [each for each, over in zip(block, isover, strict=True) if over]
            rows += [found for found in buckets.clear(ended, place, errors, whole=True) if found[1] >= min_share]
            begun += buckets.clear([each for each, over in zip(block, isover, strict=True) if not over], place, GOES_ON)
        if length == words.longest:
            rows = one_of_a_bucket(rows, words, before)
        begun.sort(key=lambda found: -found[1])
        going = [each for each, share, stderr in begun if share >= min_share - GOES_ON * stderr][:breadth]
        before = {each: share for each, share, _ in begun}
    ranked = sorted(rows, key=lambda found: -found[1])
    table = Records({"word": word.rstrip(END), "share": share, "stderr": stderr} for word, share, stderr in ranked)
    return as_table(table, ["word", "share", "stderr"])


def _tallied(counts: Mapping[str, Any], words: Words) -> list[Floats]:
    """How often each set was reported, by length, from the counts of a plan."""
    sets = [each for each in counts.values() if [tally.channel for tally in each.levels.values()] == [words.buckets]]
    if len(sets) != len(words.lengths):
        raise ValueError(f"the counts hold {len(sets)} questions of these words, not {len(words.lengths)}; pass theirs")
    return [np.asarray(each.effective().histogram, dtype=float) for each in sets]


def one_of_a_bucket(rows: list[Found], words: Words, before: Mapping[str, float]) -> list[Found]:
    """Of words of the last length in one bucket that whose beginning has most people besides its other words."""
    begins = len(next(iter(before), ""))
    groups: dict[Any, list[Found]] = {}
    for found in rows:
        last = len(found[0]) == words.longest and not found[0].endswith(END)
        groups.setdefault(words.bucket(found[0]) if last else found[0], []).append(found)
    left = dict(before)
    for group in groups.values():
        if len(group) == 1:
            left[group[0][0][:begins]] = left.get(group[0][0][:begins], 0.0) - group[0][1]
    return [max(group, key=lambda found: left.get(found[0][:begins], 0.0)) for group in groups.values()]


def _tries(words: Words, going: list[str], length: int) -> int:
    """How many beginnings of a length go on from these, none of which has ended; not too many to try."""
    if not going:
        return 0
    more = length - len(going[0])
    each: int = sum(len(words.alphabet) ** letters for letters in range(more + 1))
    if len(going) * each > MOST_TRIES:
        fix = f"breadth = {MOST_TRIES // each}" if each <= MOST_TRIES else "a smaller alphabet"
        raise ValueError(f"{len(going) * each:,} beginnings of {length} letters are too many to try; use {fix}")
    return len(going) * each - (going == [""])


class Buckets:
    """How many reports hold each bucket, by length."""

    def __init__(self, words: Words, people: list[Floats]) -> None:
        self.words, self.law = words, words.buckets.balanced()
        self.people = np.array([each.sum() for each in people])
        self.held = [self.law.counts_by_code(each) for each in people]

    def clear(self, tried: list[str], place: int, errors: float, *, whole: bool = False) -> list[Found]:
        """(beginning, share, standard error) of those so many errors above zero, the most frequent first; ``whole``:
        ended words, which longer lengths tell of too."""
        places = range(place, len(self.held) if whole else place + 1)
        held = np.zeros(len(tried))
        for later in places:
            length = self.words.lengths[later]
            held += self.held[later][[self.words.bucket(each.ljust(length, END)) for each in tried]]
        count, scale = float(self.people[list(places)].sum()), self.law.kept - self.law.stray
        held /= count
        share, stderr = (held - self.law.stray) / scale, np.sqrt(np.maximum(held * (1 - held), 0) / count) / scale
        clear = [at for at in np.argsort(-share, kind="stable").tolist() if share[at] > errors * stderr[at]]
        return [(tried[at], float(share[at]), float(stderr[at])) for at in clear]
