"""Solutions of solvers: read strictly, evaluated anew, and never believed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import highspy
import numpy as np
import pytest

from mipselect import load_instance, top_supports
from mipselect.backends.protocols import Capability
from mipselect.errors import InvalidInput, SolverFailure
from mipselect.exchange import export_model, import_solution
from mipselect.exchange.exported import unit_of
from mipselect.exchange.solution_files import read_solution
from mipselect.problem.instance import Instance
from tests.support.back_ends import back_ends
from tests.support.read_back import READERS

BEST, VALUE = [1, 4, 6], 0.01802385579163003
OBJECTIVE = 269.09069

GUROBI = "# Solution for model objective\n# Objective value = 269.09069\n" + "".join(
    f"z{j} {int(j in BEST)}\n" for j in range(8)
)
SCIP = (
    "solution status: optimal solution found\n"
    "objective value:                            269.09069\n"
    "z1                                     0.9999999 \t(obj:0)\n"
    "z4                                             1 \t(obj:0)\n"
    "z6                                             1 \t(obj:0)\n"
    "quadobjvar                       730.895714970676 \t(obj:1)\n"
)
CBC = (
    "Optimal - objective value 269.09069000\n"
    "      0 z1                  1                       0\n"
    "      3 z4                  1                       0\n"
    "      5 z6         0.99999998               2.1e-08\n"
    "      8 eta         269.09069                       1\n"
)
CPLEX = (
    '<?xml version = "1.0" encoding="UTF-8" standalone="yes"?>\n'
    '<CPLEXSolution version="1.2">\n'
    ' <header problemName="m.lp" solutionName="incumbent" objectiveValue="269.09069"\n'
    '   solutionTypeString="primal" solutionStatusValue="101"\n'
    '   solutionStatusString="integer optimal solution" solutionMethodString="mip"/>\n'
    ' <quality epInt="1e-09"/>\n'
    " <linearConstraints>\n"
    '  <constraint name="c_e_size_" index="0" slack="0"/>\n'
    " </linearConstraints>\n"
    " <variables>\n"
    + "".join(f'  <variable name="z{j}" index="{j}" value="{int(j in BEST)}"/>\n' for j in range(8))
    + " </variables>\n</CPLEXSolution>\n"
)
HIGHS = (
    "Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective 269.09069\n"
    "# Columns 9\n"
    + "".join(f"z{j} {int(j in BEST)}\n" for j in range(8))
    + "eta 269.09069\n# Rows 1\nc_e_size_ 3\n\n# Dual solution values\nNone\n\n# Basis\n"
    "HiGHS_basis_file v2\nNone\n"
)
SPARSE = (
    "Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective 269.09069\n"
    "# Columns -3\nz1 1 1\nz4 1 4\nz6 1 6\n# Rows -1\nc_e_size_ 3 0\n"
)
BOUNDED = "Objective 269.09069\nObjective_bound 269.09069\nMIP_rel_gap 0\n"
"""From version 1.16 of HiGHS on."""

PRETTY = (
    "Columns\n"
    "    Index Status        Lower        Upper       Primal         Dual  Type        Name\n"
    + "".join(
        f"        {j}                   0            1            {int(j in BEST)}"
        f"               Integer     z{j}\n"
        for j in range(8)
    )
    + "Rows\n    Index Status        Lower        Upper       Primal         Dual  Name\n"
    "        0                   3            3            3               c_e_size_\n\n"
    "Model status: Optimal\n\nObjective value: 269.091\n"
)
SAMPLES = {
    "Gurobi": GUROBI, "SCIP": SCIP, "CBC": CBC, "CPLEX": CPLEX, "HiGHS": HIGHS,
    "HiGHS sparse": SPARSE, "HiGHS pretty": PRETTY,
    "HiGHS 1.16": HIGHS.replace("Objective 269.09069\n", BOUNDED),
    "HiGHS 1.16 sparse": SPARSE.replace("Objective 269.09069\n", BOUNDED).replace(
        "-3", "-3 sparse"
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def instance() -> Instance:
    return load_instance("tiny-plain")


def imported_from(folder: Path, text: str, instance: Instance, **options: float):
    (folder / "a.sol").write_text(text)
    return import_solution(instance, folder / "a.sol", **options)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_support_is_read_and_its_value_computed(
    tmp_path: Path, instance: Instance, name: str
) -> None:
    for text in (SAMPLES[name], SAMPLES[name].replace("\n", "\r\n"), "\ufeff" + SAMPLES[name]):
        found = imported_from(tmp_path, text, instance)
        assert found.support.tolist() == BEST
        assert found.value == pytest.approx(VALUE, rel=1e-12)
        assert found.solver == name.split()[0]
        assert found.certified is False
        assert found.objective == pytest.approx(VALUE, rel=1e-5)
    if name == "Gurobi":
        assert (found.status, found.claimed_bound) == ("", None)
    else:
        assert "ptimal" in found.status
        assert 0.99 * VALUE < found.claimed_bound < VALUE


@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_that_is_cut_off_is_refused_or_harmless(
    tmp_path: Path, instance: Instance, name: str
) -> None:
    text, refused = SAMPLES[name], 0
    for end in range(len(text)):
        try:
            found = imported_from(tmp_path, text[:end], instance)
        except InvalidInput:
            refused += 1
        else:
            assert found.support.tolist() == BEST
            assert found.claimed_bound is None or found.claimed_bound < VALUE
    assert refused > 0.5 * len(text)


@pytest.mark.parametrize("name", SAMPLES)
def test_other_supports_get_their_own_value(tmp_path: Path, instance: Instance, name: str) -> None:
    text = SAMPLES[name].replace("z4", "zX").replace("z5", "z4").replace("zX", "z5")
    found = imported_from(tmp_path, text.replace("269.09", "2.09"), instance)
    assert found.support.tolist() == [1, 5, 6]
    assert found.value == pytest.approx(instance.objective([1, 5, 6]), rel=1e-12)
    assert found.value > 1.01 * VALUE


WRONG: list[tuple[str, str, str, str]] = [
    ("", "", "", "is no solution file of a known solver: HiGHS"),
    ("hello\n", "", "", "is no solution file of a known solver"),
    ("c Problem:    m\n", "", "", "is no solution file of a known solver"),
    (GUROBI, "z0 0\n", "", "there is no column z0: the file was cut off, or"),
    (GUROBI, "z1 1", "z1 0", "2 of the columns z are at one, and this instance chooses 3"),
    (GUROBI, "z2 0", "z2 1", "4 of the columns z are at one, and this instance chooses 3"),
    (GUROBI, "z7 0", "z8 0", "column z8: this instance has 8 features, z0 to z7"),
    (GUROBI, "z7 0", "z07 0", "'z07' is no column of an exported model"),
    (GUROBI, "z7 0", "x7 0", "'x7' is no column of an exported model"),
    (GUROBI, "z7 0", "z6 1", "line 10 has the column 'z6' a second time"),
    (GUROBI, "z7 0", "z7 0.5", "column z7 is neither 0 nor 1"),
    (GUROBI, "z7 0", "z7 -1", "column z7 is neither 0 nor 1"),
    (GUROBI, "z7 0", "z7 2", "column z7 is neither 0 nor 1"),
    (GUROBI, "z7 0", "z7 nan", "line 10 has a word where a finite number was expected"),
    (GUROBI, "z7 0", "z7 1e999", "line 10 has a word where a finite number was expected"),
    (GUROBI, "z7 0", "z7 0x0", "line 10 has a word where a finite number was expected"),
    (GUROBI, "z7 0", "z7 0_0", "line 10 has a word where a finite number was expected"),
    (GUROBI, "z7 0", "z7 ٠", "line 10 has a word where a finite number was expected"),
    (GUROBI, "z7 0", "z7 0 0", "line 10 has 3 words where 2 were expected"),
    (GUROBI, "z7 0", "z7", "line 10 has 1 words where 2 were expected"),
    (GUROBI, "= 269.09069", "= ?", "line 2 has a word where a finite number"),
    (SCIP, "(obj:1)", "obj:1", "line 6 has no '(obj:' after a name and a number"),
    (SCIP, "objective value: ", "objective:", "line 2 has 2 words where 3 were expected"),
    ("solution status: infeasible\nno solution available\n", "", "", "the solver found none"),
    (CBC, "Optimal -", "Infeasible -", "has no solution: the solver found none"),
    (CBC, "Optimal -", "Integer infeasible -", "has no solution: the solver found none"),
    (CBC, "Optimal -", "Stopped on time (no integer solution - continuous used) -", "found none"),
    (CBC, "      3 z4", "**    3 z4", "line 3 has '**': CBC says that this column breaks"),
    (CBC, "      3 z4", "      x z4", "line 3 is not an index, a name and two numbers"),
    (CPLEX, "</CPLEXSolution>\n", "", "is no XML (no element found): it was cut off, or changed"),
    (CPLEX, "<quality", "<quality &x;", "is no XML"),
    (CPLEX, "CPLEXSolution", "CPLEXSolutions", "holds several solutions"),
    (CPLEX, "CPLEXSolution", "Other", "line 2 is 'Other', not a CPLEXSolution"),
    (CPLEX, 'Value="101"', 'Value="103"', "has no solution: the solver found none"),
    (CPLEX, 'name="z3" ', "", "has a variable without a name or without a value"),
    (CPLEX, 'name="z3"', 'name="z1"', "has the column 'z1' a second time"),
    (CPLEX, 'index="3" value="0"', 'index="3" value="inf"', "line 14 has a word where a finite"),
    (HIGHS, "Feasible\nObjective 269.09069", "Infeasible\nObjective 0", "the solver found none"),
    (HIGHS, "# Columns 9", "# Columns 90", "has 18 of 90 columns: it was cut off"),
    (HIGHS, "# Columns 9", "# Columns nine", "is not 'Objective' with '# Columns' below it"),
    (HIGHS, "# Columns 9", "# Columns -9", "line 8 has 2 words where 3 were expected"),
    (HIGHS, "# Columns 9", "# Columns 7", "there is no column z7"),
    (HIGHS, "# Primal solution values", "", "has no section '# Primal solution values'"),
    (PRETTY, "Model status: Optimal\n", "", "no model status and objective value at its end"),
    (PRETTY, "  Type  ", "", "has no column 'Type': it holds no mixed-integer solution"),
    (PRETTY, "        3      ", "      x 3    ", "is no row of a table of columns"),
]


@pytest.mark.parametrize(("text", "old", "new", "message"), WRONG)
def test_what_is_wrong_is_one_clear_line(
    tmp_path: Path, instance: Instance, text: str, old: str, new: str, message: str
) -> None:
    assert old in text
    changed = text.replace(old, new) if old else text
    with pytest.raises(InvalidInput) as caught:
        imported_from(tmp_path, changed, instance)
    told = str(caught.value)
    assert message in told
    assert told.startswith(f"{tmp_path / 'a.sol'}: ")
    assert "\n" not in told
    # Of what was found nothing is told without this mark, and values are never quoted.
    assert "(sensitive)" in told or "known solver" in told
    assert "269" not in told


BOMB = (
    '<?xml version="1.0"?>\n<!DOCTYPE CPLEXSolution [\n<!ENTITY a "ha">\n'
    + "".join(
        f'<!ENTITY {b} "{f"&{a};" * 10}">\n' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    + "]>\n<CPLEXSolution>&i;</CPLEXSolution>\n"
)
OUTSIDE = '<?xml version="1.0"?>\n<!DOCTYPE x SYSTEM "file:///etc/passwd">\n<CPLEXSolution/>\n'


@pytest.mark.parametrize("text", [BOMB, OUTSIDE])
def test_a_document_type_is_refused(tmp_path: Path, instance: Instance, text: str) -> None:
    with pytest.raises(InvalidInput, match="declares a document type"):
        imported_from(tmp_path, text, instance)


def test_what_is_no_text_is_refused(tmp_path: Path, instance: Instance) -> None:
    path = tmp_path / "a.sol"
    for content, message in (
        (b"\x80\x04\x95pickle\n", "is not UTF-8"),
        (GUROBI.encode("utf-16"), "is not UTF-8"),
    ):
        path.write_bytes(content)
        with pytest.raises(InvalidInput, match=message):
            import_solution(instance, path)
    with pytest.raises(InvalidInput, match="no such file"):
        import_solution(instance, tmp_path / "b.sol")
    with pytest.raises(InvalidInput, match="it is a folder"):
        import_solution(instance, tmp_path)


def test_a_bound_is_taken_at_the_word_and_lowered(tmp_path: Path, instance: Instance) -> None:
    unit = unit_of(instance.prepared)
    said = imported_from(tmp_path, GUROBI, instance, bound=200.0)
    assert said.claimed_bound == pytest.approx((200.0 - 1e-3) / unit, rel=1e-12)
    assert imported_from(tmp_path, GUROBI, instance, bound=-5.0).claimed_bound == 0.0
    # One that is given goes before the objective of a solution that is called optimal.
    other = imported_from(tmp_path, SCIP, instance, bound=200.0)
    assert other.claimed_bound == said.claimed_bound
    for text in (SCIP.replace("optimal solution found", "time limit reached"),
                 SCIP.partition("\n")[2],
                 CBC.replace("Optimal", "Stopped on time"),
                 CPLEX.replace('"101"', '"107"'),
                 HIGHS.replace("Optimal", "Time limit reached"),
                 PRETTY.replace("Optimal", "Time limit reached")):  # fmt: skip
        assert imported_from(tmp_path, text, instance).claimed_bound is None
    with pytest.raises(InvalidInput, match="bound must be finite"):
        imported_from(tmp_path, GUROBI, instance, bound=np.nan)


def test_a_bound_above_a_value_is_an_error(tmp_path: Path, instance: Instance) -> None:
    imported_from(tmp_path, GUROBI, instance, bound=unit_of(instance.prepared) * VALUE)
    with pytest.raises(SolverFailure, match=r"claims that every support is at 0\.0180") as caught:
        imported_from(tmp_path, GUROBI, instance, bound=unit_of(instance.prepared) * VALUE + 2e-3)
    assert caught.value.incumbent == pytest.approx(VALUE)
    assert caught.value.bound == -np.inf
    with pytest.raises(SolverFailure, match="that of another instance"):
        imported_from(tmp_path, HIGHS.replace("269.09", "270.09"), instance)


def test_an_objective_of_another_model_disagrees(tmp_path: Path, instance: Instance) -> None:
    assert imported_from(tmp_path, HIGHS, instance).agrees
    assert not imported_from(tmp_path, HIGHS.replace("269.09", "168.09"), instance).agrees
    assert imported_from(tmp_path, PRETTY, instance).agrees


def test_six_digits_are_no_contradiction(tmp_path: Path, instance: Instance) -> None:
    """HiGHS rounds the objective of a pretty file, here upward, by more than any tolerance."""
    objective = unit_of(instance.prepared) * VALUE
    up = f"{np.ceil(objective * 1e3 + 0.49) / 1e3:.3f}"
    assert float(up) > objective + 1e-3
    found = imported_from(tmp_path, PRETTY.replace("269.091", up), instance)
    assert found.claimed_bound < VALUE


@pytest.mark.parametrize("style", [0, 1, 4])
@pytest.mark.parametrize("ending", [".mps", ".lp"])
def test_highs_solves_writes_and_is_read(tmp_path: Path, ending: str, style: int) -> None:
    for name in ("tiny-plain", "tiny-active-norm", "tiny-groups", "diabetes", "breast-cancer"):
        stored = load_instance(name)
        path = tmp_path / f"m{ending}"
        told = export_model(stored, path, formulation="cuts")
        model = READERS["highs"](path, told.settings.of_solvers["highs"])
        model.minimum()
        status = model.model.writeSolution(str(tmp_path / "m.sol"), style)
        assert status == highspy.HighsStatus.kOk
        found = import_solution(stored, tmp_path / "m.sol")
        assert found.value == pytest.approx(top_supports(stored, 1).values[0], rel=1e-9)
        assert found.objective == pytest.approx(found.value, rel=1e-5)
        assert found.claimed_bound == pytest.approx(found.value, rel=2e-4)


def _write_gurobi(model, path: Path) -> None:
    model.model.write(str(path))


def _write_scip(model, path: Path) -> None:
    model.model.writeBestSol(str(path), write_zeros=False)


WRITERS: dict[str, Callable] = {"gurobi": _write_gurobi, "scip": _write_scip}


@pytest.mark.parametrize("solver", back_ends(Capability.MISOCP))
@pytest.mark.parametrize("ending", [".mps", ".lp"])
@pytest.mark.parametrize("formulation", ["cuts", "perspective", "big-m"])
def test_other_solvers_write_and_are_read(
    tmp_path: Path, instance: Instance, formulation: str, ending: str, solver: str
) -> None:
    path = tmp_path / f"m{ending}"
    told = export_model(instance, path, formulation=formulation)
    model = READERS[solver](path, told.settings.of_solvers[solver])
    model.minimum()
    WRITERS[solver](model, tmp_path / "m.sol")
    found = import_solution(instance, tmp_path / "m.sol")
    assert found.support.tolist() == BEST
    assert found.objective == pytest.approx(VALUE, abs=1e-3 / told.unit)
    assert read_solution(tmp_path / "m.sol").solver.lower() == solver
