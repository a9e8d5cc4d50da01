"""`mipselect demo`: the main job, once on real data and once in the paper's setting."""

from __future__ import annotations

import numpy as np
from rich.rule import Rule

from mipselect.cli.demo_options import DemoArguments
from mipselect.cli.options import SearchArguments
from mipselect.cli.output import PLAIN_WIDTH, text_console
from mipselect.cli.progress import Watch
from mipselect.cli.releasing import SupportPlan
from mipselect.cli.solve import Solved, clipped, print_solved
from mipselect.mechanisms import ExponentialMechanism
from mipselect.privacy import Guarantee
from mipselect.problem.stored.files import load_problem
from mipselect.search import top_supports
from mipselect.selectors import ExponentialSelector

DEMONSTRATIONS = (("diabetes", 5.0), ("paper-p100", 1.0))
"""Instances, with the ε that is spent on each."""

SOLVER = "highs"


def demo(_: DemoArguments) -> None:
    """Run the command; the data are public, so the sensitive report may be shown here."""
    console = text_console()
    for name, epsilon in DEMONSTRATIONS:
        console.print(Rule(f"[bold]{name}[/bold]"), width=min(console.width, PLAIN_WIDTH))
        problem = load_problem(name)
        instance = problem.instance()
        search = SearchArguments(solver=SOLVER).settings()
        with Watch(name, details=True) as watch:
            pool = top_supports(instance, search.pool_size, **search.keywords(), progress=watch)
        print_solved(console, Solved(name, instance, pool, clipped(problem, instance)), rows=3)
        chance = np.exp(ExponentialMechanism(instance, epsilon).estimate(pool.supports[0]).low)
        console.print(
            f"Probability that an exact draw with ε = {epsilon:g} gives the best support: "
            f"about {chance:.3f}"
        )
        plan = SupportPlan(
            "exponential",
            ExponentialSelector(epsilon=epsilon),
            draws=1,
            seed=None,
            budget=Guarantee(epsilon),
        )
        with Watch(name, details=True) as watch:
            drawn = plan.draw(problem, None, watch)
        drawn.show(console, name)
        console.print()
