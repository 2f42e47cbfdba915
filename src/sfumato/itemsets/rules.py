"""Association rules from frequent itemsets, with the columns of the library mlxtend and standard errors.

For a rule A → C with s = support(A and C), a = support(A), c = support(C):

    confidence = s/a,  lift = s/(a c),  leverage = s − a c,  conviction = (1−c)/(1−confidence), ...

An estimated support may exceed that of a part; the confidence is then taken as 1. Its standard error, to first order
and with the two errors taken as independent (their covariance comes only from people who have all of C):

    stderr(confidence) = √(stderr(s)² + confidence² stderr(a)²) / a
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any

from sfumato.channels.baskets import SelectASize
from sfumato.itemsets.apriori import frequent_itemsets
from sfumato.prose import plain
from sfumato.tables import Records, as_records, as_table

METRICS = (  # the measures by which rules can be chosen, as mlxtend names them
    "support", "confidence", "lift", "leverage", "conviction", "zhangs_metric", "jaccard", "certainty", "kulczynski",
    "representativity",
)  # fmt: skip

COLUMNS = [  # of the table of rules: mlxtend's, and two standard errors
    "antecedents", "consequents", "antecedent support", "consequent support", "support", "confidence", "lift",
    "representativity", "leverage", "conviction", "zhangs_metric", "jaccard", "certainty", "kulczynski",
    "support stderr", "confidence stderr",
]  # fmt: skip

Estimates = dict[frozenset[Any], tuple[float, float]]
"""Support and standard error of each itemset."""


def association_rules(itemsets: Any, metric: str = "confidence", min_threshold: float = 0.8) -> Any:
    """Find association rules A → C among frequent itemsets; return them as a table, one rule a row.

    ``itemsets``: the table that `frequent_itemsets` returned. ``metric``: the measure by which rules are chosen, one of
    "support", "confidence", "lift", "leverage", "conviction", "zhangs_metric", "jaccard", "certainty", "kulczynski",
    "representativity" (defined as in mlxtend). ``min_threshold``: the smallest value of the measure that a returned
    rule may have. Rules whose antecedent or consequent is missing from the table are left out: their support is
    unknown.

    >>> import sfumato as sf
    >>> frequent = sf.frequent_itemsets([["tea", "milk"], ["tea"], ["tea", "milk"]], None, min_support=0.5)
    >>> rules = sf.association_rules(frequent, min_threshold=0.9)
    >>> [(sorted(a), sorted(c)) for a, c in zip(rules["antecedents"], rules["consequents"])]
    [(['milk'], ['tea'])]
    """
    if metric not in METRICS:
        raise ValueError(f"metric = {metric!r} is unknown; use one of {', '.join(METRICS)}")
    estimates = _estimates(itemsets)
    rows = [rule for rule in _rules(estimates) if rule[metric] >= min_threshold]
    return as_table(rows, COLUMNS)


def mine(
    reports: Any, channel: SelectASize | None, min_support: float, max_len: int = 3, rules: float | None = None
) -> dict[str, Records]:
    """Find frequent itemsets, and the rules among them, as plain data for JSON in a fixed order.

    Returns {"itemsets": rows, "rules": rows}. ``reports``, ``channel``, ``min_support`` (the smallest share of people)
    and ``max_len`` (the most items) as in `frequent_itemsets`. ``rules``: the smallest confidence of a rule (None: no
    rules).
    """
    frequent = frequent_itemsets(reports, channel, min_support, max_len)
    implied = [] if rules is None else as_records(association_rules(frequent, min_threshold=rules))
    mined: dict[str, Records] = plain({"itemsets": as_records(frequent), "rules": implied})
    return mined


def _estimates(itemsets: Any) -> Estimates:
    """Read from a table of itemsets a dict: itemset → (support, standard error).

    Where the table has no errors, they are 0.
    """
    rows = as_records(itemsets)
    if rows and not {"support", "itemsets"} <= set(rows[0]):
        raise ValueError("the table has no columns 'support' and 'itemsets'; give what frequent_itemsets returned")
    return {frozenset(row["itemsets"]): (float(row["support"]), float(row.get("stderr", 0.0))) for row in rows}


def _rules(estimates: Estimates) -> Iterator[dict[str, Any]]:
    """Yield every rule A → C whose parts A and C are among the itemsets, as a dict of A, C and the rule's measures.

    ``estimates``: itemset → (support, standard error).
    """
    for itemset, estimate in estimates.items():
        for size in range(len(itemset) - 1, 0, -1):
            for chosen in combinations(itemset, size):
                antecedent = frozenset(chosen)
                consequent = itemset - antecedent
                if antecedent in estimates and consequent in estimates:
                    measures = _measures(*estimate, *estimates[antecedent], estimates[consequent][0])
                    yield {"antecedents": antecedent, "consequents": consequent, **measures}


def _measures(s: float, s_error: float, a: float, a_error: float, c: float) -> dict[str, float]:
    """Return the measures of a rule A → C as a dict: confidence, lift and the others of the library mlxtend.

    ``s``: the support (share of people) of all items of the rule, ``a`` of A, ``c`` of C; ``s_error``, ``a_error``:
    standard errors.
    """
    confidence = min(s / a, 1.0)
    return {
        "antecedent support": a,
        "consequent support": c,
        "support": s,
        "confidence": confidence,
        "lift": confidence / c,
        "representativity": 1.0,
        "leverage": s - a * c,
        "conviction": math.inf if confidence >= 1.0 else (1.0 - c) / (1.0 - confidence),
        "zhangs_metric": _zhang(s, a, c),
        "jaccard": s / (a + c - s),
        "certainty": 0.0 if c >= 1.0 else (confidence - c) / (1.0 - c),
        "kulczynski": (confidence + min(s / c, 1.0)) / 2.0,
        "support stderr": s_error,
        "confidence stderr": math.hypot(s_error, confidence * a_error) / a,
    }


def _zhang(s: float, a: float, c: float) -> float:
    """Return Zhang's metric of a rule A → C, (s − a c)/max(s(1 − a), a(c − s)); 0 where the denominator is 0.

    ``s``, ``a`` and ``c``: the shares of people who have all items, A, and C.
    """
    largest = max(s * (1.0 - a), a * (c - s))
    return 0.0 if largest == 0.0 else (s - a * c) / largest
