"""The law of select-a-size for baskets of one size, and the error of itemsets that are read through it.

For a basket t of m items and its report t': ρ is the chance that any other item is inserted, p[j] the chance that j of
the m items are kept, A an itemset of k items, λ_k the *signal* that its presence leaves, g a report's term:

    p0[j]      = C(m,j) ρ^j (1-ρ)^(m-j)                          what pure noise would keep
    P[t'|t]    = (p[j]/p0[j]) ρ^|t'| (1-ρ)^(n-|t'|),  j = |t & t'|
    γ          = max_j (p/p0) / min_j (p/p0)                     the number of items plays no part
    λ_k        = E[ Π_{a in A} (1[a in t'] - ρ) | A in t ],  |A| = k
    support(A) = mean over reports of g,   g = Π_{a in A} (1[a in t'] - ρ) / λ_k

If any item of A is missing from t the product has mean zero, so g is unbiased for 1[A in t].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from sfumato.domain import Floats

SIGNIFICANCE = 4.0
"""A support is discoverable when it lies this many standard deviations above zero (EGS03 §4.3)."""

DEEPEST = 16
"""Binary digits of ρ at most, as docs/programs-baskets.md states: ρ is drawn bit by bit, a plane of words for each. By
judgement; 13 digits find no support .3 % lower than 10 do (3, 5 and 8 items, γ = 19)."""

VANISHING = 1e-9
"""A λ_k below this, where 1 is the largest possible, is taken for zero: itemsets of k items cannot be read. By
judgement: sums that cancel to zero leave 1e-16, and at 1e-9 any support would need more than 10^18 reports."""


@cache
def _binomials(size: int) -> Floats:
    """Return the array of binomial coefficients C(size, j) for j = 0..size."""
    return np.array([math.comb(size, j) for j in range(size + 1)], dtype=np.float64)


def kept_by_noise(size: int, rho: float) -> Floats:
    """Return the array p0[j], j = 0..size: the chance that j of `size` items show if each is inserted with chance ρ."""
    j = np.arange(size + 1)
    return np.asarray(_binomials(size) * rho**j * (1.0 - rho) ** (size - j))


@cache
def hypergeometric(size: int, k: int) -> Floats:
    """Return the table H[q, j]: the chance that q of k given items are among the j that are kept of a basket's m.

        C(k,q) C(m-k,j-q) / C(m,j),   m = ``size``
    """
    table = np.zeros((k + 1, size + 1))
    for j in range(size + 1):
        for q in range(max(0, j - size + k), min(k, j) + 1):
            table[q, j] = math.comb(k, q) * math.comb(size - k, j - q) / math.comb(size, j)
    return table


def signal_per_kept(size: int, k: int, rho: float) -> Floats:
    """Return how strongly an itemset of k items shows if j items are kept: the array L[j], j = 0..m = ``size``.

    Its mean over the law p of kept counts is the signal λ_k = Σ_j p[j] L[j] that the itemset leaves in reports.
    """
    q = np.arange(k + 1)
    return np.asarray(((1.0 - rho) ** q * (-rho) ** (k - q)) @ hypergeometric(size, k))


def power_per_kept(size: int, k: int, rho: float) -> Floats:
    """Return the mean square of a report's term for a person with an itemset, by kept count: M[j], j = 0..m = ``size``.

        E[Π (1[a in t'] - ρ)² | A in t] = Σ_j p[j] M[j]   for an itemset A of k items
    """
    q = np.arange(k + 1)
    return np.asarray(((1.0 - rho) ** (2 * q) * rho ** (2 * (k - q))) @ hypergeometric(size, k))


def absent_power_per_kept(size: int, k: int, rho: float, prevalence: float = 0.0) -> Floats:
    """Return the mean square of a report's term for a person without an itemset, by kept count: M[j], j = 0..``size``.

    The person has each of its k items with chance `prevalence`; otherwise as ``power_per_kept``. At prevalence 0,
    EGS03's own assumption, it is (ρ (1-ρ))^k whatever was kept. Designs with a small ρ look good there and lose much of
    it once people have parts of the itemset, which in real data they do.
    """
    power = np.zeros(size + 1)
    for q in range(k):
        chance = math.comb(k, q) * prevalence**q * (1.0 - prevalence) ** (k - q) / (1.0 - prevalence**k)
        if chance > 0.0:
            power += chance * (rho * (1.0 - rho)) ** (k - q) * power_per_kept(size, q, rho)
    return power


def support_where_significant(noise: Floats | float, own: Floats | float, reports: float, share: float = 1.0) -> Floats:
    """Return the lowest discoverable support: the s with s = 4 σ(s), σ²(s) = ((1-r) noise + r own - s)/N, r = s/share.

    `noise` is E[g²] of people without A, `own` that of people with all of A; `share` is the share of people whose
    baskets are large enough to hold A, and both are weighted by it. N is `reports`.
    """
    return significant_support(noise, (np.asarray(noise) - np.asarray(own)) / share + 1.0, reports)


def significant_support(noise: Floats | float, fall: Floats | float, reports: float = 1.0) -> Floats:
    """Return the support that lies four standard deviations above zero: the s with s = 4 σ(s).

    σ²(s) = (noise - fall s)/N is the variance of its estimate, N = `reports`.
    """
    a, b = reports / SIGNIFICANCE**2, np.asarray(fall)
    return np.asarray(2.0 * np.asarray(noise) / (b + np.sqrt(b * b + 4.0 * a * np.asarray(noise))))


@dataclass(frozen=True)
class SizeLaw:
    """How baskets of one size are blurred: the chances of how many of their items are kept, and of inserting others."""

    size: int  # m, how many items the basket has
    rho: float  # ρ, the chance that any other item is inserted
    kept: tuple[float, ...]  # p[0..m], the chances that so many of the basket's items are kept

    def __post_init__(self) -> None:
        size, kept = self.size, self.kept
        if size < 0:
            raise ValueError(f"basket size {size} is no number of items; sizes start at 0, the empty basket")
        if not 0.0 < self.rho < 1.0:
            raise ValueError(f"ρ = {self.rho!r} is no insertion chance; give a number strictly between 0 and 1")
        if len(kept) != size + 1:
            raise ValueError(f"kept has {len(kept)} entries for size {size}; give p[0..{size}], {size + 1} numbers")
        if min(kept) < 0.0 or abs(math.fsum(kept) - 1.0) > 1e-9:
            raise ValueError(f"kept sums to {math.fsum(kept):g}; give non-negative chances that sum to 1")

    @cached_property
    def lift(self) -> Floats:
        """The lifts p[j]/p0[j], j = 0..m: how much likelier a kept count is than under pure noise."""
        return np.asarray(np.array(self.kept) / kept_by_noise(self.size, self.rho))

    @cached_property
    def gamma(self) -> float:
        """γ: the largest lift over the smallest; ∞ where a lift is 0."""
        smallest = float(self.lift.min())
        return math.inf if smallest == 0.0 else float(self.lift.max()) / smallest

    def signal(self, k: int) -> float:
        """Return λ_k, how strongly an itemset of k items shows in reports; zero for itemsets larger than the basket."""
        return 0.0 if k > self.size else float(signal_per_kept(self.size, k, self.rho) @ np.array(self.kept))

    def noise_power(self, k: int, prevalence: float = 0.0) -> float:
        """Return the mean square E[g²] of a report's term g for people without an itemset of k items.

        They have each of its items with chance `prevalence`; the mean of g over people estimates the itemset's support.
        """
        power = absent_power_per_kept(self.size, k, self.rho, prevalence)
        return float(power @ np.array(self.kept)) / self.signal(k) ** 2

    def own_power(self, k: int) -> float:
        """Return the mean square E[g²] of a report's term g for people who have all k items of an itemset.

        The mean of g over reports estimates the itemset's support.
        """
        return float(power_per_kept(self.size, k, self.rho) @ np.array(self.kept)) / self.signal(k) ** 2

    def estimator(self, k: int) -> Floats:
        """Return what a report adds to the estimate of an itemset's support: the array g[q], q = 0..k.

        q of the k items show in the report; the mean of g over reports is the estimate. A k that cannot be read is an
        error.
        """
        signal = self.signal(k)
        if abs(signal) < VANISHING:
            raise ValueError(
                f"itemsets of {k} items cannot be read from baskets of {self.size}, λ_{k} vanishes at "
                f"ρ = {self.rho:g}; change ρ or the kept-count law"
            )
        q = np.arange(k + 1)
        return np.asarray((1.0 - self.rho) ** q * (-self.rho) ** (k - q) / signal)

    def lowest_discoverable_support(self, k: int, reports: float, prevalence: float = 0.0) -> float:
        """Return the smallest support (share of people) of itemsets of k items that can be found in so many reports.

        It is the s with s = 4 σ(s), σ the standard deviation of its estimate. People without the itemset have each of
        its items with chance `prevalence`.
        """
        return float(support_where_significant(self.noise_power(k, prevalence), self.own_power(k), reports))


# --- other operators in this form -------------------------------------------------------------------------------------


def cut_and_paste(size: int, cutoff: int, rho: float) -> SizeLaw:
    """Return the cut-and-paste operator of Evfimievski, Srikant, Agrawal and Gehrke (2002) as a law.

    It draws i of 0..cutoff evenly, at most `size`; keeps i random items; then inserts every item that is not kept with
    chance ρ, the basket's own among them:

        p[j] = Σ_i P(i) C(m-i, j-i) ρ^(j-i) (1-ρ)^(m-j),   P(i) = 1/(K+1), and all that is left at i = m.
    """
    if cutoff < 0:
        raise ValueError(f"cutoff {cutoff} is no number of items; give 0 or more")
    first = np.zeros(size + 1)
    np.add.at(first, np.minimum(np.arange(cutoff + 1), size), 1.0 / (cutoff + 1))
    kept = sum(first[i] * np.concatenate([np.zeros(i), kept_by_noise(size - i, rho)]) for i in range(size + 1))
    return SizeLaw(size, rho, tuple(np.asarray(kept).tolist()))


def bit_flips(size: int, keep: float) -> SizeLaw:
    """Return the MASK operator (Rizvi and Haritsa 2002) as a law: each item's bit stays with chance `keep`, or flips.

        p[j] = C(m,j) keep^j (1-keep)^(m-j),   ρ = 1 - keep,   γ = (keep/(1-keep))^(2m) between baskets of m items.
    """
    return SizeLaw(size, 1.0 - keep, tuple(kept_by_noise(size, keep).tolist()))


def dyadic(rho: float) -> tuple[int, int]:
    """Return (a, b) with the chance ρ = a/2^b in lowest terms, as programs hold it; b above 16 is an error."""
    numerator, denominator = float(rho).as_integer_ratio()
    depth = denominator.bit_length() - 1
    if not 1 <= depth <= DEEPEST:
        nearest = round(rho * 256) / 256
        raise ValueError(f"ρ = {rho:g} is no multiple of 2^-{DEEPEST}; take a nearby one such as {nearest:g}")
    return numerator, depth


def table(law: SizeLaw, items: int) -> Floats:
    """Return the table of chances P[t', t]: all subsets t' of ``items`` items, all baskets t of the law's size.

    Rows and columns are in the order of the sets' bit patterns.
    """
    reported = np.arange(1 << items)
    true = np.array([pattern for pattern in reported.tolist() if int(pattern).bit_count() == law.size])
    overlap = np.bitwise_count(reported[:, None] & true[None, :])
    shown = np.bitwise_count(reported)
    by_noise = law.rho**shown * (1.0 - law.rho) ** (items - shown)
    return np.asarray(law.lift[overlap] * by_noise[:, None])
