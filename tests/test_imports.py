"""The shape of the package: imports point one way, and importing it costs numpy and scipy only."""

import json
import shutil
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[1]


def loaded_by(statement: str) -> set[str]:
    """Top-level modules in a fresh interpreter after the statement."""
    program = f"{statement}\nimport json, sys; print(json.dumps(sorted({{m.partition('.')[0] for m in sys.modules}})))"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(json.loads(answer.stdout))


def test_importing_sfumato_loads_no_third_party_package_but_numpy_and_scipy():
    by_themselves = loaded_by("import numpy, scipy.special")  # what they load is theirs
    third_party = (loaded_by("import sfumato") - by_themselves) & set(packages_distributions())
    assert third_party <= {"sfumato", "numpy", "scipy"}


def test_every_public_name_can_be_had_and_is_listed_once():
    import sfumato

    assert len(set(sfumato.__all__)) == len(sfumato.__all__)
    assert [name for name in sfumato.__all__ if not hasattr(sfumato, name)] == []


def test_imports_point_one_way_along_the_flow_and_every_module_is_in_the_contract():
    linter = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    assert linter, "import-linter is missing; make setup installs it"
    verdict = subprocess.run([linter, "--no-cache"], capture_output=True, text=True, cwd=ROOT)
    assert verdict.returncode == 0, verdict.stdout
