"""A plan compiles to the same whole numbers on every machine."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from sfumato.channels.portable import cholesky, exponential, logarithm, normal_quantile, normal_tail

ULP = 2.0**-52
COMPILE = """
import json
import sfumato as sf
domain, short = sf.Interval(20, 80), sf.Interval(0, 1)
made = {
    f"{kind.__name__} {privacy}": kind(domain, privacy=privacy, confidence=confidence)
    for kind in (sf.Gaussian, sf.Laplace, sf.Uniform)
    for privacy, confidence in ((0.1, 0.95), (0.37, 0.9), (1.0, 0.95), (2.0, 0.5))
}
made |= {f"square wave {gamma}": sf.SquareWave(short, gamma=gamma) for gamma in (2.7, 3, 19, 50.5)}
made["together"] = sf.CorrelatedNoise({"a": domain, "b": short}, [[300.0, 2.5], [2.5, 0.09]], privacy=0.7)
made["baskets"] = sf.SelectASize.design(sf.Items(1000), sizes=[3, 5], gamma=19, up_to=2)
print(json.dumps({name: each.identity for name, each in made.items()}))
"""


def compiled_under(**variables: str) -> dict[str, str]:
    run = subprocess.run([sys.executable, "-c", COMPILE], env=os.environ | variables, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_an_identity_does_not_depend_on_the_processor() -> None:
    here = compiled_under()
    without_wide_vectors = compiled_under(NPY_DISABLE_CPU_FEATURES="X86_V3 X86_V4 AVX512_ICL AVX512_SPR")
    old_library = compiled_under(
        GLIBC_TUNABLES="glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F,-AVX2_Usable,-FMA_Usable", OPENBLAS_CORETYPE="Nehalem"
    )
    assert here == without_wide_vectors == old_library


def test_the_functions_are_right_to_a_few_last_digits() -> None:
    x = np.linspace(-40, 0, 10_001)
    np.testing.assert_allclose(exponential(x), np.exp(x), rtol=2 * ULP)
    t = np.linspace(0, 8, 10_001)
    np.testing.assert_allclose(normal_tail(t), ndtr(-t), rtol=0, atol=4 * ULP)
    np.testing.assert_allclose(normal_tail(t[t > 3]), ndtr(-t[t > 3]), rtol=100 * ULP)
    for share in (0.6, 0.75, 0.9, 0.975, 0.995):
        assert normal_quantile(share) == pytest.approx(float(ndtri(share)), rel=100 * ULP)
    for number in (1e-9, 0.05, 0.5, 0.7071, 1.0, 1.4143, 10.0, 1e30):
        assert logarithm(number) == pytest.approx(math.log(number), rel=2 * ULP)


def test_far_tails_end_at_nothing() -> None:
    assert exponential(np.array([-1e6]))[0] == 0.0
    assert normal_tail(np.array([0.0, 60.0])).tolist() == [0.5, 0.0]


def test_a_factor_gives_its_matrix_back() -> None:
    rows = np.random.default_rng(5).normal(size=(6, 9))
    matrix = rows @ rows.T
    lower = cholesky(matrix)
    np.testing.assert_allclose(lower @ lower.T, matrix, rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(np.triu(lower, 1), 0)
