"""`mipselect release`: private supports of an instance."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from mipselect.cli.arguments import MethodOptions
from mipselect.cli.dry_run import deliver_plan
from mipselect.cli.facts import facts_of, posed
from mipselect.cli.inputs import (
    SumsAlways,
    SumsCoefBound,
    SumsNever,
    SumsNoIntercept,
    SumsRidge,
    SumsSize,
    asked_of,
)
from mipselect.cli.ledger_entry import (
    charged_report,
    ledger_files,
    opened,
    print_charged,
    told_of_the_ledger,
)
from mipselect.cli.method_options import (
    Alpha,
    Blocks,
    Budget,
    Complexity,
    Delta,
    Draws,
    DryRun,
    Epsilon,
    LedgerFile,
    LedgerKeyFile,
    LedgerPart,
    MCMCRadius,
    MCMCSteps,
    MethodName,
    Relation,
    Seed,
    Sizes,
    TestEpsilon,
    TopK,
)
from mipselect.cli.options import (
    AUTO,
    AsJson,
    InstanceName,
    MethodKind,
    Output,
    PoolSize,
    SolverName,
    TimeLimit,
    Tolerance,
    about,
)
from mipselect.cli.output import check_output, deliver
from mipselect.cli.releasing import Plan, draw, drawn_report, plan_draws, print_drawn
from mipselect.cli.search_progress import Watch
from mipselect.cli.settings import print_settings, settings_report, unit_of
from mipselect.cli.sizes import check_sizes
from mipselect.cli.streams import say
from mipselect.cli.usefulness import blindness
from mipselect.data.files import Problem

EXAMPLES = """Examples:

mipselect release diabetes --epsilon 1

mipselect release paper-p100 --epsilon 1 --sizes 1-8

mipselect release paper-p100 --epsilon 1 --draws 50 --budget 50 --json

mipselect release paper-p100 --method top-r --epsilon 1 --solver highs

mipselect release paper-p100 --method mistakes --epsilon 1 \\
    --test-epsilon 0.5 --delta 1e-6

mipselect release diabetes --method sis --epsilon 1 --top-k peeling

mipselect release diabetes --method kendall --epsilon 1 --relation add-remove

mipselect release diabetes --method sample-aggregate --epsilon 1 --blocks 20

mipselect release diabetes --method mcmc --epsilon 1 --delta 1e-6 --dry-run

mipselect release visits.npz --support-size 4 --epsilon 1 --always age,sex
"""


def release(
    instance: InstanceName,
    epsilon: Epsilon,
    method: MethodName = MethodKind.EXPONENTIAL,
    draws: Draws = 1,
    budget: Budget = None,
    ledger: LedgerFile = None,
    ledger_key: LedgerKeyFile = None,
    part: LedgerPart = None,
    relation: Relation = None,
    delta: Delta = None,
    seed: Seed = None,
    dry_run: DryRun = False,
    sizes: Sizes = None,
    complexity: Complexity = None,
    test_epsilon: TestEpsilon = None,
    top_k: TopK = None,
    alpha: Alpha = None,
    blocks: Blocks = None,
    mcmc_steps: MCMCSteps = None,
    mcmc_radius: MCMCRadius = None,
    pool_size: PoolSize = None,
    solver: SolverName = AUTO,
    tolerance: Tolerance = None,
    time_limit: TimeLimit = None,
    support_size: SumsSize = None,
    coef_bound: SumsCoefBound = None,
    ridge: SumsRidge = None,
    always: SumsAlways = None,
    never: SumsNever = None,
    no_intercept: SumsNoIntercept = False,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Release supports of INSTANCE with differential privacy.

    Only the releases and their guarantee are printed.

    Running time, and whether a run ends, depend on the data and are not covered.
    """
    options = MethodOptions(
        sizes=sizes,
        complexity=complexity,
        test_epsilon=test_epsilon,
        delta=delta,
        relation=relation,
        top_k=top_k,
        alpha=alpha,
        blocks=blocks,
        mcmc_steps=mcmc_steps,
        mcmc_radius=mcmc_radius,
        pool_size=pool_size,
        solver=None if solver == AUTO else solver,
        tolerance=tolerance,
        time_limit=time_limit,
    )
    plan = plan_draws(
        method=method,
        epsilon=epsilon,
        options=options,
        draws=draws,
        budget=budget,
        seed=seed,
        ledger=opened(ledger, part, ledger_key),
    )
    given = asked_of(instance, support_size, sizes, coef_bound, ridge, always, never, no_intercept)
    check_output(output, [*given.files, *ledger_files(ledger, ledger_key)])
    head = {"command": "release", "instance": instance}
    if dry_run:
        deliver_plan(given.outline(), plan, instance, head, as_json, output)
    else:
        release_from(given.problem(), plan, instance, head, as_json, output)


def release_from(
    problem: Problem,
    plan: Plan,
    title: str,
    head: Mapping[str, Any],
    as_json: bool,
    output: Path | None,
) -> None:
    """Draw as planned and deliver; say so where the public numbers promise little."""
    given = posed(problem, plan.method)
    check_sizes(plan.method, given.n_features, title)
    hidden = plan.one.relation == "add-remove"
    with about(title):
        facts = facts_of(given, plan.method, problem)
        settings = settings_report(facts.without_n() if hidden else facts, plan.method)
    with told_of_the_ledger(plan.ledger):
        with about(title), Watch(title, details=False) as watch:
            drawn = draw(given, plan.noting({**head, **settings}), watch)
        # It is told from n.
        blind = None if hidden else blindness(given, plan.method)
        charged = charged_report(plan.ledger)

    def render(console: Console) -> None:
        print_drawn(console, drawn, title, unit_of(settings))
        print_charged(console, charged)
        print_settings(console, settings)

    report = {
        **head,
        **drawn_report(drawn),
        "nearly_blind": None if blind is None else blind.entirely,
        "blind_sizes": None if blind is None else list(blind.sizes),
        **settings,
        "ledger": charged,
    }
    deliver(report, render, as_json=as_json, output=output)
    if blind is not None and blind.sentence:
        say(f"warning: {blind.sentence}")
