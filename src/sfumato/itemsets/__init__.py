"""Frequent itemsets and association rules, from randomized baskets or from clean ones."""

from sfumato.itemsets.adaptive import PaddingAndSampling, compare_collections
from sfumato.itemsets.apriori import SupportWarning, frequent_itemsets
from sfumato.itemsets.rules import association_rules, mine

__all__ = [
    "SupportWarning", "frequent_itemsets", "association_rules", "mine", "PaddingAndSampling", "compare_collections",
]
