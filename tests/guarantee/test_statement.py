"""The numbers of docs/privacy.md, and what the words must say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf

AGE = sf.Interval(20, 80)


@pytest.mark.parametrize(("confidence", "factor"), [(0.5, 1.349), (0.95, 3.920), (0.999, 6.581)])
def test_gaussian_interval_is_as00_table_1(confidence: float, factor: float) -> None:
    # The paper prints 6.8 for 99.9 %; its own formula 2·z((1+c)/2) gives 6.58.
    assert sf.Gaussian(AGE, scale=10).guarantee().interval(confidence) == pytest.approx(factor * 10, rel=1e-3)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_uniform_and_value_class_intervals_are_as00_table_1(confidence: float) -> None:
    assert sf.Uniform(AGE, halfwidth=10).guarantee().interval(confidence) == pytest.approx(confidence * 20)
    assert sf.Discretize(AGE, width=10).guarantee().interval(confidence) == pytest.approx(confidence * 10)


@pytest.mark.parametrize("kind", [sf.Gaussian, sf.Uniform, sf.Laplace, sf.Discretize])
@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_a_privacy_level_is_the_interval_width_it_promises(kind: type, confidence: float) -> None:
    channel = kind(AGE, privacy=0.5, confidence=confidence)
    assert channel.guarantee().interval(confidence) == pytest.approx(30)


def example_1(name: str) -> tuple[sf.Channel, float]:
    numbers = sf.Categories(range(1001))
    distance = np.arange(1001)[:, None] - np.arange(1001)
    near = (np.minimum(distance % 1001, -distance % 1001) <= 100) / 201
    if name == "R1":
        return sf.RandomizedResponse(numbers, keep=0.2), 250
    if name == "R2":
        return sf.Tabulated(numbers, near), math.inf
    return sf.Tabulated(numbers, near / 2 + 0.5 / 1001), 5.98


@pytest.mark.parametrize(("name", "zero", "far"), [("R1", 0.7163, 0.8295), ("R2", 0.0481, 1.0), ("R3", 0.0294, 0.7077)])
def test_example_1_of_egs03(name: str, zero: float, far: float) -> None:
    channel, gamma = example_1(name)
    prior = np.array([0.01] + [0.00099] * 1000)
    posterior = channel.law()[0] * prior / (channel.law()[0] @ prior)
    outside = np.r_[0:200, 801:1001]
    assert prior[outside].sum() == pytest.approx(0.405, abs=1e-3)
    assert posterior[0] == pytest.approx(zero, abs=6e-5)
    assert posterior[outside].sum() == pytest.approx(far, abs=6e-5)
    assert channel.guarantee(prior).gamma == pytest.approx(gamma, rel=1e-3)


def test_the_bit_example_of_egs03() -> None:
    bit = sf.Categories([0, 1])
    truth = sf.Tabulated(bit, [[0.6, 0.4], [0.4, 0.6]]).guarantee()
    rare = [[0.000099, 0.000001], [0.000001, 0.000099], [0.9999, 0.9999]]
    rarely = sf.Tabulated(bit, rare, reports=[0, 1, "empty"]).guarantee()
    assert truth.mutual_information == pytest.approx(0.02905, abs=5e-6)
    assert rarely.mutual_information == pytest.approx(0.0000919, abs=5e-8)
    assert truth.worst_case_information == pytest.approx(0.02905, abs=5e-6)
    assert rarely.worst_case_information == pytest.approx(0.9192, abs=5e-5)
    assert truth.inverse_worst_case_information == pytest.approx(0.0294, abs=5e-5)
    assert rarely.inverse_worst_case_information == pytest.approx(2.329, abs=5e-4)


def test_a_5_to_50_breach_implies_1_198_bits() -> None:
    assert sf.breach_information(0.05, 0.5) == pytest.approx(1.198, abs=5e-4)


def test_gamma_19_lets_5_percent_just_reach_50_and_says_so() -> None:
    guarantee = sf.RandomizedResponse(sf.Categories("ab"[i] for i in range(2)), gamma=19).guarantee()
    assert guarantee.epsilon == pytest.approx(2.944, abs=5e-4)
    assert guarantee.worst_posterior(0.05) == pytest.approx(0.5)
    assert guarantee.least_posterior(0.5) == pytest.approx(0.05)
    assert not guarantee.excludes(0.05, 0.5)
    assert guarantee.excludes(0.05, 0.501)
    found = guarantee.breach(0.05, 0.5)
    assert found.possible and (found.prior, found.posterior) == pytest.approx((0.5, 0.05))
    assert "just reachable" in str(guarantee)


@given(
    gamma=st.floats(1.05, 200),
    prior=st.lists(st.floats(0.01, 1), min_size=3, max_size=3),
    rho1=st.floats(0.02, 0.5),
)
def test_no_posterior_ever_passes_the_stated_bound(gamma: float, prior: list[float], rho1: float) -> None:
    guarantee = sf.RandomizedResponse(sf.Categories([1, 2, 3]), gamma=gamma).guarantee(prior)
    bound = guarantee.worst_posterior(rho1)
    if bound + 0.01 < 1:
        assert guarantee.breach(rho1, bound + 0.01).excluded
    found = guarantee.breach(rho1, (rho1 + bound) / 2)
    assert found.possible
    assert found.prior is not None and found.posterior is not None
    odds = [p / (1 - p) if p < 1 else math.inf for p in (found.prior, found.posterior)]
    assert 1 / gamma - 1e-6 <= odds[1] / odds[0] <= gamma + 1e-6


def test_uniform_noise_is_shown_to_prove_something_about_an_age() -> None:
    found = sf.Uniform(sf.Interval(0, 80), halfwidth=60).guarantee().breach(0.05, 0.5)
    assert found.possible and found.posterior == pytest.approx(1)
    assert "proves that the value is at" in str(found)
    channel = sf.Uniform(sf.Interval(0, 80), halfwidth=60)
    row = channel.law()[channel.encode_reports(found.report)]
    possible = channel.inputs.values[row > 0]
    bound = float(str(found).split(" at most " if "at most" in str(found) else " at least ")[1].split(",")[0])
    assert (possible <= bound).all() if "at most" in str(found) else (possible >= bound).all()


def test_unbounded_noise_says_so_and_names_a_bounded_alternative() -> None:
    words = str(sf.Gaussian(AGE, privacy=1.0).guarantee())
    assert "no bound" in words and "SquareWave" in words and "For example: a report of" in words


def test_a_bounded_statement_names_the_background_knowledge_it_survives() -> None:
    assert "does not depend on the random draw" in str(sf.SquareWave(AGE, gamma=9).guarantee())


def test_laplace_gamma_is_that_of_the_mechanism() -> None:
    assert sf.Laplace(AGE, scale=30).guarantee().gamma == pytest.approx(math.exp(2), rel=1e-6)


def test_entropy_privacy_of_value_classes_is_their_width() -> None:
    guarantee = sf.Discretize(sf.Interval(0, 100), width=10).guarantee()
    assert guarantee.prior_privacy == pytest.approx(100, rel=2e-3)
    assert guarantee.entropy_privacy == pytest.approx(10, rel=2e-3)
    assert guarantee.privacy_loss == pytest.approx(0.9, abs=1e-3)


def test_a_report_that_says_nothing_costs_nothing() -> None:
    guarantee = sf.RandomizedResponse(sf.Categories([0, 1]), keep=0.5).guarantee()
    assert guarantee.gamma == pytest.approx(1)
    assert guarantee.mutual_information == pytest.approx(0, abs=1e-12)
    assert guarantee.privacy_loss == pytest.approx(0, abs=1e-12)


def test_reports_compose_by_multiplying_gamma() -> None:
    one = sf.RandomizedResponse(sf.Categories([0, 1]), gamma=3).guarantee()
    assert one.repeated(4).gamma == pytest.approx(81)
    both = sf.CombinedGuarantee({"a": one, "b": sf.SquareWave(AGE, gamma=5).guarantee()})
    assert both.gamma == pytest.approx(15)
    assert both.epsilon == pytest.approx(math.log(15))
    assert both.breach(0.05, 0.5).excluded
    assert both.breach(0.05, 0.4).possible


def test_a_mapping_an_array_and_equal_intervals_are_priors() -> None:
    colours = sf.RandomizedResponse(sf.Categories(["red", "blue"]), keep=0.8)
    named = colours.guarantee({"blue": 0.9, "red": 0.1})
    listed = colours.guarantee([0.1, 0.9])
    assert named.mutual_information == pytest.approx(listed.mutual_information)
    flat = sf.SquareWave(AGE, gamma=9)
    assert flat.guarantee([1, 1, 1]).mutual_information == pytest.approx(flat.guarantee().mutual_information, rel=1e-3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda g: g.breach(0.5, 0.05), "0 < rho1 < rho2 < 1"),
        (lambda g: g.interval(1.5), "between 0 and 1"),
        (lambda g: g.worst_posterior(0), "between 0 and 1"),
        (lambda g: g.repeated(0), "1 or more"),
    ],
)
def test_wrong_questions_get_one_line_that_helps(call: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call(sf.SquareWave(AGE, gamma=9).guarantee())  # type: ignore[operator]


@pytest.mark.parametrize("prior", [[1, -1], [0, 0], [1, 2, 3], [float("nan"), 1]])
def test_wrong_priors_are_refused(prior: list[float]) -> None:
    with pytest.raises(ValueError, match="prior"):
        sf.RandomizedResponse(sf.Categories([0, 1]), keep=0.8).guarantee(prior)
