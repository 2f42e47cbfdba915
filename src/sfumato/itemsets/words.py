"""Frequent words that no list holds, from frequent beginnings to longer ones (``channels.bounded.words``).

The share of a beginning is estimated from the reports that hold its bucket, of the people whose device drew its length;
for a word that has ended also of those who drew a longer length, since only end marks follow it:

    share = (share of reports that hold the bucket − ρ)/(p − ρ)

A word is returned if its share is so many standard errors above zero that at most one survey in twenty returns a word
that nobody has. Beginnings are continued from three standard errors on, at most the ``breadth`` most frequent: a false
one has no frequent continuation. At the last length one word is kept of those that share a bucket: the one whose
beginning has most people besides its other words.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np

from sfumato.channels.bounded.words import END, Words
from sfumato.domain import Floats
from sfumato.tables import Records, as_table

BREADTH = 300
"""Beginnings that are continued at each length unless the caller says otherwise. Chosen by judgement: more take
proportionally longer and find words whose beginnings are rarer."""

GOES_ON = 3.0
"""Standard errors above zero from which a beginning is continued (docs/decisions/0026): a larger bound loses words, a
smaller one costs time, since a false beginning has no frequent continuation."""

BLOCK = 1_000_000
"""Beginnings that are in memory at once: some hundred MB of texts. It changes no result."""

MOST_TRIES = 100_000_000
"""The most beginnings that are tried at one length, which takes some minutes; more are refused."""

Found = tuple[str, float, float]
"""A beginning, its share and its standard error."""


def frequent_words(reports: Any, words: Words, min_share: float = 0.0, *, breadth: int = BREADTH) -> Any:
    """Find frequent words that no list holds, from blurred reports of their first letters, the most frequent first.

    ``reports``: what ``words.randomize`` returned, or ``plan.counts(…)`` of a plan that asks ``words.questions(name)``.
    ``words``: the `sf.Words` that made the reports. ``min_share``: the smallest share of people that a returned word
    may have. ``breadth``: how many beginnings of words are continued at each length; more find rarer words and take
    longer. The table (pandas, or records where pandas is missing) has the columns

        word      the word, cut to ``words.longest`` letters
        share     estimated share of people who have it
        stderr    its standard error

    Words are returned only where they stand out from the noise. A share is estimated from the people whose device drew
    a length that holds the whole word. For smaller errors, ask other people with the list,
    ``sf.SubsetResponse(sf.Categories([*found["word"], "something else"]), gamma=…)``; a second report of the same
    people multiplies γ, the bound on what they reveal.

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
    if not all(beginning.any() for beginning in people):
        raise ValueError("there are too few reports; words need some of every length, and thousands to stand out")
    buckets, rows, kept_beginnings, before = Buckets(words, people), list[Found](), [""], dict[str, float]()
    for index, length in enumerate(words.lengths):
        errors = words.errors_needed(_tries(words, kept_beginnings, length))
        tried, unended = words.extend(kept_beginnings, length), list[Found]()
        while block := list(islice(tried, BLOCK)):
            ended = [text for text in block if text.endswith(END) or length == words.longest]
            longer = [text for text in block if not text.endswith(END) and length < words.longest]
            rows += [found for found in buckets.clear(ended, index, errors, whole=True) if found[1] >= min_share]
            unended += buckets.clear(longer, index, GOES_ON)
        if length == words.longest:
            rows = keep_one_per_bucket(rows, words, before)
        unended.sort(key=lambda found: -found[1])
        kept_beginnings = [text for text, share, stderr in unended if share >= min_share - GOES_ON * stderr][:breadth]
        before = {text: share for text, share, _ in unended}
    ranked = sorted(rows, key=lambda found: -found[1])
    table = Records({"word": word.rstrip(END), "share": share, "stderr": stderr} for word, share, stderr in ranked)
    return as_table(table, ["word", "share", "stderr"])


def _tallied(counts: Mapping[str, Any], words: Words) -> list[Floats]:
    """Return how often each report (a set of buckets of words) was sent: one array for each length of beginnings.

    ``counts``: those of a plan, by question; ``words``: the channel that asked for beginnings of words.
    """
    sets = [some for some in counts.values() if [tally.channel for tally in some.levels.values()] == [words.buckets]]
    if len(sets) != len(words.lengths):
        raise ValueError(f"the counts hold {len(sets)} questions of these words, not {len(words.lengths)}; pass theirs")
    return [np.asarray(counted.effective().histogram, dtype=float) for counted in sets]


def keep_one_per_bucket(rows: list[Found], words: Words, before: Mapping[str, float]) -> list[Found]:
    """Keep one word for each bucket (hash value) where several words share it, because reports cannot tell them apart.

    Words of the last length are concerned. Kept is the word whose beginning is most frequent, after the shares of words
    that are alone in their bucket have been subtracted from the shares of their beginnings. ``rows``: (word, share,
    standard error) of the words that stand out from noise; ``before``: the shares of the beginnings one length shorter.
    Returns rows of the same form.
    """
    begins = len(next(iter(before), ""))
    groups: dict[Any, list[Found]] = {}
    for candidate in rows:
        last = len(candidate[0]) == words.longest and not candidate[0].endswith(END)
        groups.setdefault(words.bucket(candidate[0]) if last else candidate[0], []).append(candidate)
    left = dict(before)
    for group in groups.values():
        if len(group) == 1:
            left[group[0][0][:begins]] = left.get(group[0][0][:begins], 0.0) - group[0][1]
    return [max(group, key=lambda candidate: left.get(candidate[0][:begins], 0.0)) for group in groups.values()]


def _tries(words: Words, beginnings: list[str], length: int) -> int:
    """Return how many beginnings of ``length`` letters continue the shorter ``beginnings``; ValueError for too many."""
    if not beginnings:
        return 0
    more = length - len(beginnings[0])
    continuations: int = sum(len(words.alphabet) ** letters for letters in range(more + 1))
    if len(beginnings) * continuations > MOST_TRIES:
        fix = f"breadth = {MOST_TRIES // continuations}" if continuations <= MOST_TRIES else "a smaller alphabet"
        tries = f"{len(beginnings) * continuations:,} beginnings of {length} letters"
        raise ValueError(f"{tries} are too many to try; use {fix}")
    return len(beginnings) * continuations - (beginnings == [""])


class Buckets:
    """Counts of reports about words: for each length of beginnings, how many reports hold each bucket (hash value).

    ``words``: the channel that asked for beginnings; ``people``: how often each report was sent, one array a length. As
    an attribute, ``people`` is how many people drew each length; ``shown_by_length[length][bucket]``: how many of their
    reports hold the bucket.
    """

    def __init__(self, words: Words, people: list[Floats]) -> None:
        self.words, self.law = words, words.buckets.balanced()
        self.people = np.array([each.sum() for each in people])
        self.shown_by_length = [self.law.counts_by_code(each) for each in people]

    def clear(self, tried: list[str], index: int, errors: float, *, whole: bool = False) -> list[Found]:
        """Return the beginnings whose share of people stands out from noise, as (text, share, standard error).

        The largest share comes first.

        A share stands out if it is at least ``errors`` standard errors above zero. ``tried``: beginnings of the length
        with number ``index``. ``whole``: True: they are words that have ended, so that reports of longer lengths count
        for them too.
        """
        indices = range(index, len(self.shown_by_length) if whole else index + 1)
        shown = np.zeros(len(tried))
        for longer in indices:
            length = self.words.lengths[longer]
            shown += self.shown_by_length[longer][[self.words.bucket(each.ljust(length, END)) for each in tried]]
        count, scale = float(self.people[list(indices)].sum()), self.law.kept - self.law.stray
        shown /= count
        share, stderr = (shown - self.law.stray) / scale, np.sqrt(np.maximum(shown * (1 - shown), 0) / count) / scale
        clear = [row for row in np.argsort(-share, kind="stable").tolist() if share[row] > errors * stderr[row]]
        return [(tried[row], float(share[row]), float(stderr[row])) for row in clear]
