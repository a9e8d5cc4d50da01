"""`mipselect release`: private supports of an instance."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from mipselect.cli.drawing import Plan, draw, drawn_report, plan_draws, print_drawn
from mipselect.cli.options import (
    AUTO,
    PRIVACY_PANEL,
    AsJson,
    InstanceName,
    Method,
    Output,
    PoolSize,
    SolverName,
    TimeLimit,
    Tolerance,
    about,
    search_options,
)
from mipselect.cli.output import check_output, deliver
from mipselect.cli.prospects import blindness
from mipselect.cli.settings import print_settings, settings_report
from mipselect.cli.sizes import check_sizes
from mipselect.cli.streams import say
from mipselect.cli.watch import Watch
from mipselect.data.files import Problem, files_of, load_problem

EXAMPLES = """Examples:

mipselect release diabetes --epsilon 1

mipselect release paper-p100 --epsilon 1 --sizes 1-8

mipselect release paper-p100 --epsilon 1 --draws 50 --budget 50 --json

mipselect release paper-p100 --method top-r --epsilon 1 --solver highs

mipselect release paper-p100 --method mistakes --epsilon 1 \\
    --test-epsilon 0.5 --delta 1e-6
"""

Epsilon = Annotated[
    float,
    typer.Option("--epsilon", help="ε of one draw, > 0.", rich_help_panel=PRIVACY_PANEL),
]
MethodName = Annotated[
    Method,
    typer.Option(
        "--method",
        help="exponential draws exactly from all supports; top-r and mistakes search for the "
        "best ones.",
        rich_help_panel=PRIVACY_PANEL,
    ),
]
Sizes = Annotated[
    str | None,
    typer.Option(
        "--sizes",
        metavar="S-S|S,S,...",
        help="For exponential: public sizes, such as 1-8 or 1,3,5; one is drawn with the support, "
        "at no further ε.",
        show_default="one size",
        rich_help_panel=PRIVACY_PANEL,
    ),
]
Complexity = Annotated[
    float | None,
    typer.Option(
        "--complexity",
        metavar="A",
        help="For --sizes: a blind draw has size s with probability ∝ p^(-As), A ≥ 0.",
        show_default="1",
        rich_help_panel=PRIVACY_PANEL,
    ),
]
Draws = Annotated[
    int,
    typer.Option(
        "--draws",
        metavar="K",
        help="Independent draws; K draws cost K times as much.",
        rich_help_panel=PRIVACY_PANEL,
    ),
]
Budget = Annotated[
    float | None,
    typer.Option(
        "--budget",
        metavar="E",
        help="Refuse, before anything is read, if all draws together cost more than ε = E.",
        rich_help_panel=PRIVACY_PANEL,
    ),
]
TestEpsilon = Annotated[
    float | None,
    typer.Option(
        "--test-epsilon",
        help="For mistakes: spend this ε on testing its condition, which then is none; needs "
        "--delta, and falls back on top-r.",
        rich_help_panel=PRIVACY_PANEL,
    ),
]
Delta = Annotated[
    float | None,
    typer.Option(
        "--delta",
        help="For mistakes with --test-epsilon: δ of one draw.",
        rich_help_panel=PRIVACY_PANEL,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        help="Reproducible draws, for tests: the result is NOT PRIVATE.",
        rich_help_panel=PRIVACY_PANEL,
    ),
]


def release(
    instance: InstanceName,
    epsilon: Epsilon,
    method: MethodName = Method.EXPONENTIAL,
    sizes: Sizes = None,
    complexity: Complexity = None,
    draws: Draws = 1,
    budget: Budget = None,
    test_epsilon: TestEpsilon = None,
    delta: Delta = None,
    seed: Seed = None,
    pool_size: PoolSize = None,
    solver: SolverName = AUTO,
    tolerance: Tolerance = None,
    time_limit: TimeLimit = None,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Release supports of INSTANCE with differential privacy.

    Only the releases and their guarantee are printed.

    Running time, and whether a run ends, depend on the data and are not covered.
    """
    search = search_options(
        pool_size=pool_size, solver=solver, tolerance=tolerance, time_limit=time_limit
    )
    plan = plan_draws(
        method=method,
        epsilon=epsilon,
        draws=draws,
        test_epsilon=test_epsilon,
        delta=delta,
        budget=budget,
        seed=seed,
        sizes=sizes,
        complexity=complexity,
        search=search,
        search_given=search_given(pool_size, solver, tolerance, time_limit),
    )
    check_output(output, files_of(instance))
    problem = load_problem(instance)
    release_from(
        problem, plan, instance, {"command": "release", "instance": instance}, as_json, output
    )


def release_from(
    problem: Problem,
    plan: Plan,
    title: str,
    head: Mapping[str, Any],
    as_json: bool,
    output: Path | None,
) -> None:
    """Draw as planned and deliver; say so where the public numbers promise little."""
    given = problem.instance()
    check_sizes(plan.method, given.n_features, title)
    with about(title), Watch(title, details=False) as watch:
        drawn = draw(given, plan, watch)
    instance = plan.method.sized(given)
    settings = settings_report(instance, plan.method, problem.target_shift)
    blind = blindness(instance, plan.method)

    def render(console: Console) -> None:
        print_drawn(console, drawn, title)
        print_settings(console, settings)

    report = {
        **head,
        **drawn_report(drawn),
        "nearly_blind": blind.entirely,
        "blind_sizes": list(blind.sizes),
        **settings,
    }
    deliver(report, render, as_json=as_json, output=output)
    if blind.sentence:
        say(f"warning: {blind.sentence}")


def search_given(
    pool_size: str | None, solver: str, tolerance: float | None, time_limit: float | None
) -> dict[str, object]:
    """The search options by name, None where left at their default."""
    return {
        "--pool-size": pool_size,
        "--solver": None if solver == AUTO else solver,
        "--tolerance": tolerance,
        "--time-limit": time_limit,
    }
