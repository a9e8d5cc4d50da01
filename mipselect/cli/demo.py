"""`mipselect demo`: the main job, once on real data and once in the paper's setting."""

from __future__ import annotations

from rich.rule import Rule

from mipselect.cli.drawing import Plan, draw, print_drawn
from mipselect.cli.options import Method, search_options
from mipselect.cli.output import PLAIN_WIDTH, text_console
from mipselect.cli.prospects import clipped, outside
from mipselect.cli.report import print_pool
from mipselect.cli.watch import Watch
from mipselect.data.files import load_problem
from mipselect.methods import TopRMethod
from mipselect.privacy import Guarantee
from mipselect.search import top_supports

DEMONSTRATIONS = (("diabetes", 5.0), ("paper-p100", 5.0))
"""Instances, with the ε that is spent on each."""

SOLVER = "highs"


def demo() -> None:
    """Run the main job on two stored instances: search, proof, private release.

    The data are public, so the sensitive report may be shown here.
    """
    console = text_console()
    for name, epsilon in DEMONSTRATIONS:
        console.print(Rule(f"[bold]{name}[/bold]"), width=min(console.width, PLAIN_WIDTH))
        problem = load_problem(name)
        instance = problem.instance()
        search = search_options(pool_size=None, solver=SOLVER, tolerance=None, time_limit=None)
        with Watch(name, details=True) as watch:
            pool = top_supports(instance, search.pool_size, **search.keywords(), progress=watch)
        print_pool(
            console,
            instance,
            pool,
            name,
            comparison=None,
            clipping=clipped(problem, instance),
            outside=outside(pool, epsilon),
            rows=3,
        )
        plan = Plan(
            Method.TOP_R.value,
            TopRMethod(epsilon=epsilon, search=search),
            draws=1,
            seed=None,
            budget=Guarantee(epsilon),
        )
        with Watch(name, details=False) as watch:
            drawn = draw(instance, plan, watch)
        print_drawn(console, drawn, name)
        console.print()
