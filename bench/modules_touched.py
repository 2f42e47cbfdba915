"""How many files of the library a reader must follow: those whose functions run.

1. sf.reconstruct(reports, sf.Gaussian(...))           at most 14
2. sf.TreeClassifier(..., reconstruction="joint").fit  at most 14
3. sfumato train --method joint --holdout 0            at most 30
4. sfumato train                                       no limit

The third trains one tree and writes it. Left alone, `sfumato train` fits every learner and chooses among them by
held-out reports, so that it runs all of their files; the fourth line says how many, for information.

Everything is imported and called once before on other numbers, so that neither imports nor first-time compilation
count, but nothing is remembered. Module bodies and code that a decorator writes (dataclasses) do not count either, nor
do compiled functions; plain ones beside them do.
"""

import contextlib
import io
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

import sfumato as sf

HOME = Path(sf.__file__).parent
AGE, OTHER = (sf.Gaussian(sf.Interval(20, 80), privacy=privacy) for privacy in (1.0, 0.9))


def files_run_by(call: Callable[[], Any]) -> list[str]:
    """The library's source files whose functions run during the call."""
    seen: set[CodeType] = set()

    def note(code: CodeType) -> None:
        if code.co_name != "<module>":
            seen.add(code)

    if hasattr(sys, "monitoring"):
        _monitored(call, note)
    else:
        sys.setprofile(lambda frame, event, _: note(frame.f_code) if event == "call" else None)
        try:
            call()
        finally:
            sys.setprofile(None)
    paths = {Path(code.co_filename) for code in seen - compiled() if code.co_filename.endswith(".py")}
    return sorted(str(path.relative_to(HOME)) for path in paths if HOME in path.parents)


def compiled() -> set[CodeType]:
    """The functions of the library that numba has compiled, wherever they stand; it says when they run, too."""
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] == sf.__name__]
    kernels = [value for module in modules for value in vars(module).values() if hasattr(value, "py_func")]
    return {kernel.py_func.__code__ for kernel in kernels}


def _monitored(call: Callable[[], Any], note: Callable[[CodeType], None]) -> None:
    """The same by `sys.monitoring`, which is told of each function once."""
    monitoring, tool = sys.monitoring, sys.monitoring.PROFILER_ID

    def started(code: CodeType, _: int) -> Any:
        note(code)
        return monitoring.DISABLE

    monitoring.use_tool_id(tool, "modules touched")
    monitoring.register_callback(tool, monitoring.events.PY_START, started)
    monitoring.set_events(tool, monitoring.events.PY_START)
    try:
        call()
    finally:
        monitoring.set_events(tool, 0)
        monitoring.free_tool_id(tool)
        monitoring.restart_events()


def people(n: int = 2_000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    ages = rng.uniform(20, 80, n)
    return AGE.randomize(ages, rng=rng), np.where(ages < 40, "young", "old")


def train(folder: Path, *options: str) -> Callable[[], Any]:
    """`sfumato train` on a small survey with these options, run inside this process."""
    from sfumato.cli import main

    reports, classes = people()
    plan = {
        "attributes": {
            "age": {"low": 20, "high": 80, "channel": "gaussian", "privacy": 1.0},
            "class": {"categories": ["young", "old"], "role": "class"},
        }
    }
    place, table = folder / "plan.json", folder / "reports.csv"
    place.write_text(sf.Plan.from_dict(plan).to_json(), encoding="utf-8")
    rows = [f"{age},{label}" for age, label in zip(reports.tolist(), classes.tolist(), strict=True)]
    table.write_text("\n".join(["age,class", *rows]) + "\n", encoding="utf-8")

    def call() -> None:
        written = str(folder / "model.json")
        before, sys.argv = sys.argv, ["sfumato", "train", str(place), str(table), "-o", written, *options]
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
                main()
        finally:
            sys.argv = before

    return call


def report(name: str, before: Callable[[], Any], call: Callable[[], Any], limit: int | None) -> None:
    before()
    files = files_run_by(call)
    print(f"{name:44}{len(files):6}{'no limit' if limit is None else f'limit {limit}':>12}")
    for path in files:
        print(f"    {path}")


def run() -> None:
    reports, classes = people()
    report("reconstruct", lambda: sf.reconstruct(reports, OTHER), lambda: sf.reconstruct(reports, AGE), 14)
    first, tree = (sf.TreeClassifier([channel], reconstruction="joint", random_state=0) for channel in (OTHER, AGE))
    X = reports[:, None]
    report("joint tree", lambda: first.fit(X, classes), lambda: tree.fit(X, classes), 14)
    with tempfile.TemporaryDirectory() as folder:
        for options, limit in ((("--method", "joint", "--holdout", "0"), 30), ((), None)):
            command = train(Path(folder), *options)
            report(" ".join(("sfumato train", *options)), command, command, limit)


if __name__ == "__main__":
    run()
