"""`mipselect solve --formulation`: whole models on the command line."""

from __future__ import annotations

import pytest

from mipselect.backends.protocols import Capability
from tests.support.back_ends import back_ends
from tests.support.commandline import Run


@pytest.mark.parametrize("solver", back_ends(Capability.MISOCP))
@pytest.mark.parametrize("formulation", ["whole", "perspective", "big-m"])
def test_optimum_and_levels_agree_with_what_is_stored(
    run: Run, solver: str, formulation: str
) -> None:
    arguments = ("solve", "tiny-active-norm", "--solver", solver, "--formulation", formulation)
    report = run(*arguments, "--json").report
    assert (report["sensitive"], report["certified"]) == (True, True)
    assert report["expected"]["agrees"] is True
    assert report["best"]["support"] == [2, 5]
    assert report["pool_size"] == 1
    assert report["rest_bound"] <= report["best"]["value"]
    levels = run(*arguments, "--method", "mistakes", "--json").report
    assert (levels["certified"], levels["expected"]["agrees"]) == (True, True)
    assert f"{solver}, whole" in levels["effort"]["solver"]


@pytest.mark.parametrize("solver", back_ends(Capability.MISOCP))
def test_a_tie_fails_with_the_instance_and_what_was_proven(run: Run, solver: str) -> None:
    run(
        "solve", "tiny-duplicates", "--method", "mistakes", "--solver", solver,
        "--formulation", "whole",
    ).not_certified(f"(sensitive) tiny-duplicates: {solver}, whole", "may be tied")  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "needs a MIP solver: --solver gurobi or scip"),
        (("--solver", "native"), "needs a MIP solver"),
        (("--solver", "highs"), "'highs' does not take misocp"),
        (("--solver", "highs", "--pool-size", "5"), "leave out --pool-size"),
    ],
)
def test_bad_usage(run: Run, arguments: tuple[str, ...], message: str) -> None:
    run("solve", "tiny-plain", "--formulation", "whole", *arguments).failed_with(2, message)
