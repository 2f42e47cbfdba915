"""A tree as a rule: cuts, boxes and leaves that are fitted and chosen by the likelihood of the reports.

    boxes       a rule as a labelled product of cuts, and its density
    moves       which boxes, cuts and types the reports pay for
    fitting     a rule from reports: its columns, their resolution, the search
    partition   the smallest tree over a labelled product of parts
    as_tree     the tree that a rule reads as, with standard errors
    cellwise    class shares free in every cell, over the density of a rule
    verdict     whether the rule or averages without a rule foretell held-out reports best
"""
