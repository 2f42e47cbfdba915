"""Frequency oracles of pure-ldp and multi-freq-ldpy, where they are installed: people in, estimated shares out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

Oracle = Callable[[np.ndarray], np.ndarray]
MOST_CELLS = 2e8
"""People × categories of an oracle whose work grows with both; of one that hashes all of them, a tenth."""


def unbiased_oracles(categories: int, gamma: float, people: int) -> dict[str, Oracle]:
    """Those that leave negative shares as they are (pure-ldp)."""
    try:
        from pure_ldp import frequency_oracles as pure
    except ImportError:
        return {}
    epsilon, cells = float(np.log(gamma)), people * categories
    common = {"epsilon": epsilon, "d": categories}

    def run(client: object, server: object, crowd: np.ndarray) -> np.ndarray:
        for value in crowd.tolist():
            server.aggregate(client.privatise(value + 1))
        return np.asarray(server.estimate_all(range(1, categories + 1), suppress_warnings=True)) / crowd.size

    found = {"DE": partial(run, pure.DEClient(**common), pure.DEServer(**common))}
    if cells <= 5 * MOST_CELLS:  # person by person, in little memory
        for name, extra in {"SUE": {"use_oue": False}, "OUE": {"use_oue": True}}.items():
            found[name] = partial(run, pure.UEClient(**common, **extra), pure.UEServer(**common, **extra))
    if cells <= MOST_CELLS / 10:
        found["OLH"] = partial(run, pure.LHClient(**common, use_olh=True), pure.LHServer(**common, use_olh=True))
    server = pure.HadamardResponseServer(**common)
    found["HR"] = partial(run, pure.HadamardResponseClient(**common, hash_funcs=server.get_hash_funcs()), server)
    mechanism = {**common, "t": 1, "use_optimal_t": True}
    found["HM"] = partial(run, pure.HadamardMechClient(**mechanism), pure.HadamardMechServer(**mechanism))
    return {f"pure-ldp {name}": oracle for name, oracle in found.items()}


def clipped_oracles(categories: int, gamma: float, people: int) -> dict[str, Oracle]:
    """Those that set negative shares to zero and divide by the sum (multi-freq-ldpy)."""
    try:
        from multi_freq_ldpy.pure_frequency_oracles import ADP, GRR, HE, LH, SS, UE
    except ImportError:
        return {}
    epsilon, cells, k = float(np.log(gamma)), people * categories, categories

    def run(client: Callable, aggregate: Callable, crowd: np.ndarray) -> np.ndarray:
        return np.asarray(aggregate([client(int(value), k, epsilon) for value in crowd]))

    found = {
        "GRR": partial(run, GRR.GRR_Client, lambda reports: GRR.GRR_Aggregator_MI(reports, k, epsilon)),
        "SS": partial(run, SS.SS_Client, lambda reports: SS.SS_Aggregator_MI(reports, k, epsilon)),
        "ADP": partial(run, ADP.ADP_Client, lambda reports: ADP.ADP_Aggregator_MI(reports, k, epsilon)),
        "OUE": partial(run, UE.UE_Client, lambda reports: UE.UE_Aggregator_MI(reports, epsilon)),
        "THE": partial(run, HE.HE_Client, lambda reports: HE.HE_Aggregator_MI(reports, k, epsilon)),
        "OLH": partial(run, LH.LH_Client, lambda reports: LH.LH_Aggregator_MI(reports, k, epsilon)),
    }
    slow = {"OLH"} if cells > MOST_CELLS / 10 else set()
    wide = {"OUE", "ADP", "THE"} if cells > MOST_CELLS / 4 else set()
    return {f"multi-freq-ldpy {name}": oracle for name, oracle in found.items() if name not in slow | wide}
