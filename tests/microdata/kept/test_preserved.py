"""What was asked to survive is measured; what is lost is warned of, with figures."""

import warnings

import numpy as np
import pytest

import sfumato as sf
from sfumato.microdata import PatternWarning, Swap
from tests.microdata.conftest import mixed_table


def test_a_release_that_preserves_what_was_asked_for_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = sf.release(mixed_table(2000), "class", rng=0)
    assert done.preserved.reached
    assert done.preserved.rules.share_covered >= 0.8
    assert "Asked to preserve rules and correlations: reached." in str(done.report)


def test_lost_rules_are_warned_of_with_their_figures():
    with pytest.warns(PatternWarning, match=r"not reached. \d of \d+ rules are kept, covering [\d.]+ % of the records"):
        done = sf.release(mixed_table(), "class", Swap(window=1.0), preserve="rules", rng=0)
    assert not done.preserved.reached
    assert done.report.to_dict()["patterns"]["preserved"]["shortfalls"]


def test_lost_correlations_are_warned_of_with_their_columns():
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000)
    table = {"x": x, "y": x + 0.1 * rng.normal(size=2000), "class": rng.integers(0, 2, 2000)}
    with pytest.warns(PatternWarning, match=r"The association of x and y changed by 0\.\d+ \(at most 0.100"):
        sf.release(table, "class", Swap(window=1.0), preserve="correlations", rng=0)


def test_of_methods_to_compare_with_nothing_is_asked():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sf.release(mixed_table(), "class", Swap(), rng=0).preserved.reached


def test_limits_are_the_owners():
    with pytest.warns(PatternWarning, match="asked for"):
        sf.release(mixed_table(2000), "class", Swap(), preserve={"rules": 1.0}, rng=0)
    for limits in ({"rules": 2}, {"correlations": -1}):
        with pytest.raises(ValueError, match="is not between 0 and 1"):
            sf.release(mixed_table(), "class", preserve=limits)


def test_rules_without_a_target_are_refused():
    with pytest.raises(ValueError, match="preserve='rules' needs a target"):
        sf.release(mixed_table(), preserve="rules")
    with pytest.raises(ValueError, match="preserve='all' is unknown"):
        sf.release(mixed_table(), "class", preserve="all")
