"""`--dry-run`: what would be asked, spent and promised; no row is read and nothing is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from mipselect.cli.facts import facts_of, posed
from mipselect.cli.options import about
from mipselect.cli.output import NOT_PRIVATE, banner, deliver, heading
from mipselect.cli.releasing import Plan, amount, ledger_of, planned_report
from mipselect.cli.settings import print_settings, settings_report, unit_of
from mipselect.cli.sizes import check_sizes
from mipselect.data.outline import Outline
from mipselect.instance import Instance
from mipselect.methods import (
    MistakesMethod,
    PrivateMethod,
    Rows,
    RowsMethod,
    SummedRows,
    TopRMethod,
)
from mipselect.privacy import Guarantee, Ledger
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
        refuse_public(plan.method, blank)
        facts = facts_of(blank, plan.method, problem).of(outline)
    hidden = plan.one.relation == "add-remove"
    settings = settings_report(facts.without_n() if hidden else facts, plan.method)
    one = _one(plan, blank)
    total = one.times(plan.draws)

    def render(console: Console) -> None:
        if plan.seed is not None:
            banner(console, NOT_PRIVATE)
        heading(console, f"{title}: dry run; no row was read, nothing drawn and nothing spent")
        console.print(f"Would be drawn: by {plan.name}, {plan.cost}.")
        console.print(f"Budget: {budget_in_words(plan, total)}.", markup=False)
        promised = total.of_unit(unit_of(settings))
        console.print(f"Would be promised of all draws together: {promised}.", markup=False)
        print_settings(console, settings)

    report = {
        **head,
        "dry_run": True,
        "sensitive": False,
        **planned_report(plan),
        "guarantee_of_one_draw": one.to_dict(),
        "guarantee_of_all_draws": total.to_dict(),
        "budget": {"epsilon": plan.budget.epsilon, "delta": plan.budget.delta},
        **settings,
        "ledger": None if plan.ledger is None else _ledger_after(plan.ledger, total),
    }
    deliver(report, render, as_json=as_json, output=output)


def refuse_public(method: PrivateMethod, blank: Instance | Rows | SummedRows) -> None:
    """Raise `InvalidInput` for public numbers that the method refuses."""
    match method, blank:
        case RowsMethod(), Rows() | SummedRows():
            # It sees nothing but zeros here, and refuses what it would refuse of any rows.
            method.mechanism(blank)
        case ((TopRMethod() | MistakesMethod()), Instance()):
            require_ridge(blank)


def _one(plan: Plan, blank: Instance | Rows | SummedRows) -> Guarantee:
    """Return the guarantee of one draw; scores say their ρ once the number of columns is known."""
    match plan.method, blank:
        case RowsMethod(), Rows() | SummedRows():
            rho = plan.method.mechanism(blank).guarantee.rho
            return replace(plan.one, rho=rho)
    return plan.one


def budget_in_words(plan: Plan, total: Guarantee) -> str:
    """Say in words what all draws may cost together, and what they would leave."""
    if plan.ledger is not None:
        before, after = plan.ledger.remaining, plan.ledger.after(total)
        if before.rho is not None and after.rho is not None:
            return f"the ledger has ρ = {before.rho:.15g} left, and would have {after.rho:.15g}"
        return f"the ledger has {amount(before)} left, and would have {amount(after)}"
    ledger = ledger_of(plan.budget)
    ledger.spend(total)
    left = ledger.remaining.epsilon
    rest = f"of which {left:.15g} would be left" if left else "all of which would be spent"
    return f"ε = {plan.budget.epsilon:.15g}, {rest}"


def _ledger_after(ledger: Ledger, total: Guarantee) -> Mapping[str, Any]:
    """Return what the ledger has left and what it would have left, as part of a JSON object."""
    return {
        "identity": ledger.identity,
        "remaining": ledger.remaining.to_dict(),
        "would_remain": ledger.after(total).to_dict(),
    }
