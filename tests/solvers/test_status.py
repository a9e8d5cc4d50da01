"""What is known of a back end before anything is solved, and back ends from elsewhere."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyomo.environ as pyo
import pytest

from mipselect import available_solvers, load_instance, mistake_levels
from mipselect.backends import MipStatus, known_solvers, solver_by_name
from mipselect.errors import InvalidInput
from mipselect_solvers import gurobi, pyomo_models, scip
from tests.support.scripted_solvers import back_ends
from tests.support.searches import levels_by
from tests.support.wants import skip_for_want_of

DOCUMENTED = ("native", "highs", "gurobi", "scip", "cbc", "glpk", "pyomo")


def python(code: str, **environment: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    ).stdout


def test_every_documented_solver_is_known_and_every_unusable_one_says_why() -> None:
    known = known_solvers()
    assert set(DOCUMENTED) <= set(known)
    for name, status in known.items():
        assert status.name == name
        assert status.usable == (status.reason == "")
        assert status.usable == (name in available_solvers())


@pytest.mark.deep
@pytest.mark.parametrize("threads", [None, 1])
@pytest.mark.parametrize("name", back_ends())
def test_standard_output_belongs_to_the_caller(name: str, threads: int | None) -> None:
    """In a process of its own: HiGHS greets once a process."""
    printed = python(
        "import numpy as np\n"
        "from mipselect.backends import solver_by_name\n"
        f"master = solver_by_name({name!r}, threads={threads}).master(4, 2)\n"
        "master.add_row(np.array([1.0, 2.0, 3.0, 4.0, -1.0]), -np.inf, 0.0)\n"
        "assert master.run(cutoff=np.inf, time_limit=60.0).chosen is not None"
    )
    assert printed == ""


@pytest.mark.deep
def test_optional_packages_are_imported_only_when_needed() -> None:
    python(
        "import sys, mipselect_solvers.gurobi, mipselect_solvers.scip\n"
        "import mipselect_solvers.pyomo_models\n"
        "import mipselect.backends.whole\n"
        "assert not {'gurobipy', 'pyscipopt', 'pyomo'} & set(sys.modules)"
    )


@pytest.mark.parametrize(
    ("module", "remedy"),
    [(gurobi, r"pip install 'mipselect\[gurobi\]'"), (scip, r"pip install 'mipselect\[scip\]'")],
)
def test_a_missing_package_names_its_extra(
    module, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    monkeypatch.setattr(module, "_status", module._status.__wrapped__)
    name = module.__name__.rpartition(".")[2]
    with pytest.raises(InvalidInput, match=f"'{name}' cannot be used here: .*{remedy}"):
        mistake_levels(load_instance("tiny-plain"), solver=name)


@pytest.mark.parametrize(("name", "package"), [("cbc", "coinor-cbc"), ("glpk", "glpk-utils")])
def test_a_missing_executable_names_its_package(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InvalidInput, match=f"apt-get install {package}"):
        solver_by_name(name)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("pyomo", "it takes the name of a solver, as in pyomo:cplex_direct; "),
        ("pyomo:", "it takes the name of a solver"),
        ("pyomo:no_such_solver", "Pyomo knows no solver 'no_such_solver', and no such program"),
        ("pyomo:conopt", "Pyomo does not find 'conopt' here, or no licence of it; "),
    ],
)
def test_a_solver_that_pyomo_does_not_have_says_how_to_see_which_it_has(
    name: str, reason: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InvalidInput, match=f"cannot be used here: {reason}.*'pyomo help --solv"):
        solver_by_name(name)
    assert capfd.readouterr() == ("", "")


class Continuous:
    def available(self, **how: object) -> bool:
        return True

    def license_is_valid(self) -> bool:
        return True

    def has_capability(self, name: str) -> bool:
        return name != "integer"


def test_a_solver_of_continuous_models_is_of_no_use(monkeypatch: pytest.MonkeyPatch) -> None:
    assert solver_by_name("pyomo:appsi_highs").status.usable
    monkeypatch.setattr(pyomo_models, "interface_of", lambda name: Continuous())
    with pytest.raises(InvalidInput, match="'pyomo:ipopt' cannot be used here: it takes no integ"):
        solver_by_name("pyomo:ipopt")


def test_what_an_interface_of_pyomo_raises_is_a_failure_in_its_words() -> None:
    master = solver_by_name("pyomo:appsi_highs").master(3, 1)
    master._model.quadratic = pyo.Constraint(expr=master._model.eta**2 <= 1.0)
    found = master.run(cutoff=math.inf, time_limit=60.0)
    assert (found.status, found.chosen, found.bound) == (MipStatus.FAILED, None, -math.inf)
    assert "Highs interface does not support expressions of degree" in found.detail


@pytest.mark.deep
def test_a_licence_that_is_refused_is_a_reason(tmp_path: Path) -> None:
    pytest.importorskip("gurobipy")
    reason = python(
        "from mipselect_solvers.gurobi import GurobiSolver; s = GurobiSolver().status\n"
        "print(s.usable, s.reason)",
        GRB_LICENSE_FILE=str(tmp_path / "absent.lic"),
    )
    assert reason.startswith("False its licence does not let it start: ")


def test_what_gurobi_refuses_is_a_failure_in_its_own_words() -> None:
    pytest.importorskip("gurobipy")
    status = gurobi.GurobiSolver().status
    if status.limit is None:
        skip_for_want_of("a licence of gurobi that limits sizes")
    columns = status.limit.columns + 1
    unchecked = replace(status, limit=None)
    master = gurobi.GurobiMaster(columns, 2, gurobi._environment(), unchecked, {})
    master.add_cut(0.0, np.ones(columns))
    solution = master.solve(cutoff=math.inf, time_limit=math.inf)
    assert (solution.status, solution.chosen) == (MipStatus.FAILED, None)
    assert "too large for size-limited license" in solution.detail


@pytest.mark.deep
@pytest.mark.parametrize(("name", "executable"), [("cbc", "cbc"), ("glpk", "glpsol")])
def test_an_executable_that_breaks_is_a_failure(name: str, executable: str, tmp_path: Path) -> None:
    broken = tmp_path / executable
    broken.write_text("#!/bin/sh\necho 'Solver 5.0'; exit 3\n")
    broken.chmod(0o755)
    out = python(
        "import math, numpy\n"
        "from mipselect.backends import solver_by_name\n"
        f"master = solver_by_name('{name}').master(4, 2)\n"
        "master.add_cut(0.0, numpy.ones(4))\n"
        "print(master.solve(cutoff=math.inf, time_limit=5.0).status.value)",
        PATH=f"{tmp_path}:{os.environ['PATH']}",
    )
    assert out.endswith("failed\n")


@pytest.fixture
def documented(repository: Path) -> str:
    blocks = re.findall(r"```python\n(.*?)```", (repository / "docs/solvers.md").read_text(), re.S)
    (block,) = (block for block in blocks if "class ScipyMaster" in block)
    return block


def test_the_documented_back_end_is_short_and_complete(
    documented: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert documented.count("\n") <= 60
    names: dict[str, object] = {"__name__": "documented"}
    monkeypatch.setitem(sys.modules, "documented", type(sys)("documented"))
    exec(compile(documented, "example", "exec"), names)
    for stored in ("tiny-active-norm", "diabetes", "paper-p100"):
        instance = load_instance(stored)
        levels = levels_by(instance, names["ScipySolver"](), 0.0, enumerated=0)
        known = mistake_levels(instance, solver="native", tolerance=0.0)
        assert levels.values == pytest.approx(known.values, rel=1e-9)
        assert levels.effort.solver == "scipy"


@pytest.mark.deep
def test_a_back_end_from_another_package_is_found_by_name(documented: str, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.py").write_text(documented)
    (tmp_path / "elsewhere-1.0.dist-info").mkdir()
    (tmp_path / "elsewhere-1.0.dist-info/METADATA").write_text("Name: elsewhere\nVersion: 1.0\n")
    (tmp_path / "elsewhere-1.0.dist-info/entry_points.txt").write_text(
        "[mipselect.solvers]\nscipy = elsewhere:ScipySolver\n"
    )
    out = python(
        "from mipselect import load_instance, mistake_levels\n"
        "levels = mistake_levels(load_instance('paper-p100'), solver='scipy')\n"
        "print(levels.effort.solver, levels.effort.masters > 0, levels.certified)",
        PYTHONPATH=str(tmp_path),
    )
    assert out == "scipy True True\n"


@pytest.mark.deep
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("raise SystemError('two\\nlines')", "SystemError: two lines"),
        ("def Maker(threads, seed): raise KeyError('licence')", "KeyError: 'licence'"),
        ("def Maker(threads, seed): return 3", "AttributeError: 'int' object has no attribute"),
        ("Maker = None", "TypeError: 'NoneType' object is not callable"),
        ("", "AttributeError: module 'broken' has no attribute 'Maker'"),
    ],
)
def test_a_broken_plug_in_is_a_status_and_disturbs_no_other(
    source: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "broken.py").write_text(source)
    (tmp_path / "broken-1.0.dist-info").mkdir()
    (tmp_path / "broken-1.0.dist-info/METADATA").write_text("Name: broken\nVersion: 1.0\n")
    (tmp_path / "broken-1.0.dist-info/entry_points.txt").write_text(
        "[mipselect.solvers]\nbroken = broken:Maker\n"
    )
    out = python(
        "from mipselect.backends import available_solvers, known_solvers, solver_by_name\n"
        "from mipselect.errors import InvalidInput\n"
        "print(solver_by_name('highs').status.usable, 'broken' in available_solvers())\n"
        "status = known_solvers()['broken']\n"
        "print(status.usable, status.reason)\n"
        "try: solver_by_name('broken')\n"
        "except InvalidInput as error: print(error)\n",
        PYTHONPATH=str(tmp_path),
    )
    why = f"its entry point 'broken:Maker' is broken: {reason}"
    first, second, third = out.splitlines()
    assert first == "True False"
    assert second.startswith(f"False {why}")
    assert third.startswith(f"solver 'broken' cannot be used here: {why}")
