"""IB04 paragraph by paragraph: where each technique, figure and experiment is here, or why it is not."""

PLACES = (
    ("Section 1", "Names and identifiers are not enough", "linkage is measured: `sfumato.microdata.intruders`"),
    ("Section 2", "Query restriction, output perturbation", "related work; outside"),
    ("Section 2", "Noise by Kim, by Tendick and Matloff; GADP",
     "`sf.release` with methods \"sadp\", \"correlated\", \"gadp-table\""),
    ("Section 2", "Biases A, B, C, D and DM", "`sfumato.microdata.judged.measures`; DM by kept rules"),
    ("Section 3, Figure 1", "The tree of 349 cases", "`sfumato.microdata.patterns.c45`"),
    ("Section 3", "LINAs and LIAs of a leaf", "`sfumato.microdata.patterns.pattern`"),
    ("Section 3, Step 1", "LINAPT", "`sf.release` with perturb \"tested\""),
    ("Section 3, Step 2", "LIAPT, in all leaves and in mixed ones",
     "`sf.release` with perturb \"untested\", \"untested-mixed\""),
    ("Section 3, Step 3", "RPT, PPT, ALPT", "`sf.release` with labels \"rpt\", \"ppt\", \"alpt\""),
    ("Section 3", "The distribution of the noise suits the application",
     "`noise=` of `sf.release`; `sfumato.microdata.methods.laws`"),
    ("Section 3", "Extended framework: GADP in each leaf, then RPT", "`sf.release` with method \"gadp\""),
    ("Section 3", "RPT on 300 cases of Boston", "table boston"),
    ("Section 4, Figure 2", "The law of the noise", "`sfumato.microdata.methods.laws`; the picture is lost"),
    ("Section 4, Figures 3, 4", "Two trees of perturbed records",
     "lost in the text; how such trees differ is table first changes"),
    ("Section 4", "Trees compared rule by rule", "`sfumato.microdata.patterns.comparison`"),
    ("Section 4", "C5", "not available; C4.5 is ours, CART beside it"),
)  # fmt: skip
