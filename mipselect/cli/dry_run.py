"""`--dry-run`: what would be asked, spent and promised; no row is read and nothing is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from mipselect.cli.drawing import Plan, ledger_of, planned_report
from mipselect.cli.facts import facts_of, posed
from mipselect.cli.options import about
from mipselect.cli.output import NOT_PRIVATE, banner, deliver, heading
from mipselect.cli.settings import print_settings, settings_report
from mipselect.cli.sizes import check_sizes
from mipselect.data.outline import Outline
from mipselect.instance import Instance
from mipselect.methods import MistakesMethod, PrivateMethod, Rows, RowsMethod, TopRMethod
from mipselect.search.options import require_ridge


def deliver_plan(
    outline: Outline,
    plan: Plan,
    title: str,
    head: Mapping[str, Any],
    as_json: bool,
    output: Path | None,
) -> None:
    """Check all that can be checked without the rows, and deliver what a release would promise.

    Raises
    ------
    InvalidInput
        As the release would, but for what is wrong with the rows.
    """
    problem = outline.blank()
    blank = posed(problem, plan.method)
    check_sizes(plan.method, blank.n_features, title)
    with about(title):
        _refuse(plan.method, blank)
        facts = facts_of(blank, plan.method, problem)
    settings = settings_report(facts.of(outline), plan.method)
    planned = planned_report(plan)

    def render(console: Console) -> None:
        if plan.seed is not None:
            banner(console, NOT_PRIVATE)
        heading(console, f"{title}: dry run; no row was read, nothing drawn and nothing spent")
        console.print(f"Would be drawn: by {plan.name}, {plan.cost}.")
        console.print(f"Budget: {budget_in_words(plan)}.")
        console.print(
            f"Would be promised of all draws together: {plan.one.times(plan.draws)}.", markup=False
        )
        print_settings(console, settings)

    report = {
        **head,
        "dry_run": True,
        "sensitive": False,
        **planned,
        "budget": {"epsilon": plan.budget.epsilon, "delta": plan.budget.delta},
        **settings,
    }
    deliver(report, render, as_json=as_json, output=output)


def _refuse(method: PrivateMethod, blank: Instance | Rows) -> None:
    """Raise `InvalidInput` for public numbers that the method refuses."""
    match method, blank:
        case RowsMethod(), Rows():
            # It sees nothing but zeros here, and refuses what it would refuse of any rows.
            method.mechanism(blank)
        case ((TopRMethod() | MistakesMethod()), Instance()):
            require_ridge(blank)


def budget_in_words(plan: Plan) -> str:
    """What all draws may cost together, and what they would leave."""
    ledger = ledger_of(plan.budget)
    ledger.spend(plan.one.times(plan.draws))
    left = ledger.remaining.epsilon
    rest = f"of which {left:.15g} would be left" if left else "all of which would be spent"
    return f"ε = {plan.budget.epsilon:.15g}, {rest}"
