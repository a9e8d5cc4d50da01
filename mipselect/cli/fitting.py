"""A table and a question to a released model: what stands between the options and the answer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from mipselect.cli.dry_run import refuse_public
from mipselect.cli.facts import Facts, facts_of, posed
from mipselect.cli.fit_plan import FitPlan
from mipselect.cli.fit_table import FitTable
from mipselect.cli.ledger_entry import charged_report, print_charged, told_of_the_ledger
from mipselect.cli.options import about
from mipselect.cli.output import NOT_PRIVATE, banner, deliver, heading
from mipselect.cli.releasing import NOT_SPENT, STAYS_CHARGED, amount, without_numbers
from mipselect.cli.search_progress import Watch
from mipselect.cli.settings import print_settings, settings_report, unit_of
from mipselect.cli.streams import say
from mipselect.cli.usefulness import blindness
from mipselect.data.files import Problem
from mipselect.errors import InvalidInput
from mipselect.methods import Rows
from mipselect.privacy.guarantee import ROW
from mipselect.regression import CoefficientIntervals, ModelRelease, confidence_intervals
from mipselect.tables.mapping import open_table

NO_MODEL = (
    "no model was released, for the private test failed; the features and the budget are spent all "
    "the same: take more rows, a larger --epsilon or --delta, or another --regression"
)


def deliver_fit(
    table: FitTable,
    plan: FitPlan,
    problem: Mapping[str, Any],
    as_json: bool,
    output: Path | None,
    *,
    all_terms: bool,
) -> None:
    """Draw as planned and deliver; the text only counts the terms aside unless it has all."""
    posed_problem = table.instance(plan, problem, table.source)
    assert posed_problem.made is not None
    settings = _settings(facts_of_fit(posed_problem, plan), plan)
    ledger, title = plan.options.ledger, table.title
    hidden = plan.promise.relation == "add-remove"
    # It is told from n.
    blind = None if hidden else blindness(posed(posed_problem, plan.method), plan.method)
    sources = plan.sources()
    with told_of_the_ledger(ledger), about(title), Watch(title, details=False) as watch:
        with without_numbers(plan.method, NOT_SPENT):
            pair = plan.drawn.pair(
                posed_problem.made,
                sources[0],
                private=plan.options.seed is None,
                progress=watch,
            )
            pair.pair.selection.prepare()
        spent = NOT_SPENT if ledger is None else STAYS_CHARGED
        with without_numbers(plan.method, spent):
            model = pair.release(plan.ledger_noting({**table.head, **settings}), sources)
        charged = charged_report(ledger)

    intervals = _intervals(model)

    def render(console: Console) -> None:
        print_model(console, model, title, intervals, all_terms=all_terms)
        print_charged(console, charged)
        _print_parts(console, plan)
        _print_of_the_model(console, plan)
        print_settings(console, settings)

    report = {
        **table.head,
        # Whoever knows the seed can repeat the draw: it is a function of the data.
        "sensitive": not model.private,
        "private": model.private,
        **({} if model.private else {"warning": NOT_PRIVATE}),
        **_promised(plan, model.guarantee.to_dict()),
        "nearly_blind": None if blind is None else blind.entirely,
        "has_model": model.has_model,
        "model": model.to_dict(),
        "in_units": model.in_units.to_dict() if model.has_model else None,
        "intervals": None if intervals is None else intervals.to_dict(),
        **settings,
        "ledger": charged,
    }
    deliver(report, render, as_json=as_json, output=output)
    if blind is not None and blind.sentence:
        say(f"warning: {blind.sentence}")
    if not model.has_model:
        say(f"warning: {NO_MODEL}")


def _intervals(model: ModelRelease) -> CoefficientIntervals | None:
    """Intervals for the coefficients, where the mechanism releases what they need."""
    try:
        return confidence_intervals(model)
    except InvalidInput:
        return None


def deliver_fit_plan(
    table: FitTable,
    plan: FitPlan,
    problem: Mapping[str, Any],
    as_json: bool,
    output: Path | None,
) -> None:
    """Say what would be drawn and what it would cost; no row is read, nothing is charged."""
    import pyarrow as pa

    if table.source is not None:
        open_table(table.source, plan.drawn.public)
    # Two people, where the schema says whose row it is.
    blank = pa.table({name: ["", "1"] for name in plan.drawn.public.names})
    posed_problem = table.instance(plan, problem, blank)
    given = posed(posed_problem, plan.method)
    refuse_public(plan.method, given)
    promise = plan.promise
    if isinstance(given, Rows):
        # Scores say their ρ once the number of columns is known.
        assert posed_problem.made is not None
        promise = plan.drawn.pair(
            posed_problem.made, plan.sources()[0], private=True
        ).pair.guarantee
    facts = facts_of_fit(posed_problem, plan).without_n()
    settings, ledger = _settings(facts, plan), plan.options.ledger

    def render(console: Console) -> None:
        if plan.options.seed is not None:
            banner(console, NOT_PRIVATE)
        heading(
            console, f"{table.title}: dry run; no row was read, nothing drawn and nothing spent"
        )
        _print_parts(console, plan)
        if ledger is not None:
            before, after = ledger.remaining, ledger.after(promise)
            console.print(
                f"The ledger has {amount(before)} left, and would have {amount(after)}.",
                markup=False,
            )
        promised = plan.one.of_unit(unit_of(settings))
        console.print(f"Would be promised: {promised}.", markup=False, soft_wrap=True)
        _print_of_the_model(console, plan)
        print_settings(console, settings)

    report = {
        **table.head,
        "dry_run": True,
        "sensitive": False,
        "private": plan.options.seed is None,
        **_promised(plan, plan.one.to_dict()),
        **settings,
        "ledger": None
        if ledger is None
        else {
            "identity": ledger.identity,
            "remaining": ledger.remaining.to_dict(),
            "would_remain": ledger.after(promise).to_dict(),
        },
    }
    deliver(report, render, as_json=as_json, output=output)


def facts_of_fit(problem: Problem, plan: FitPlan) -> Facts:
    """Return what is public about the input of the selection; without n where that is private."""
    with about(str(problem.path)):
        facts = facts_of(posed(problem, plan.method), plan.method, problem)
    return facts.without_n() if plan.promise.relation == "add-remove" else facts


def _settings(facts: Facts, plan: FitPlan) -> Mapping[str, Any]:
    return {**plan.asked, **settings_report(facts, plan.method)}


def _promised(plan: FitPlan, together: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the guarantee as part of a report, and those of the parts that it is divided into."""
    return {
        "guarantee": together,
        **{f"guarantee_of_{name}": part.to_dict() for name, part in plan.parts.items()},
    }


def _print_parts(console: Console, plan: FitPlan) -> None:
    parts = plan.parts
    console.print(
        f"Cost: {amount(parts['selection'])} for the features by {plan.options.method.value}, "
        f"{amount(parts['model'])} for the coefficients by "
        f"{plan.options.model.regression.value}.",
        markup=False,
        soft_wrap=True,
    )


def _print_of_the_model(console: Console, plan: FitPlan) -> None:
    names = {key.removeprefix("model_"): key for key in plan.asked if key.startswith("model_")}
    told = {name: plan.asked[key] for name, key in names.items()}
    parts = [f"{v} loss" if k == "loss" else f"{k} {v:g}" for k, v in told.items() if v is not None]
    if parts:
        console.print(f"Model: {', '.join(parts)}", markup=False, soft_wrap=True)


def print_model(
    console: Console,
    model: ModelRelease,
    title: str,
    intervals: CoefficientIntervals | None,
    *,
    all_terms: bool,
) -> None:
    """Print a model in the units of its table, and what is promised."""
    if not model.private:
        banner(console, NOT_PRIVATE)
    kind = "released model" if model.private else "drawn model, not private"
    heading(console, f"{title}: {kind}")

    def line(text: str) -> None:
        console.print(text, markup=False, soft_wrap=True)

    line(f"Features: {', '.join(model.feature_names)}")
    if model.has_model:
        rule = model.in_units
        left_out = set() if all_terms else {term.meaning for term in rule.terms if term.aside}
        *lines, last = rule.all_lines if all_terms else rule.lines
        for text in lines:
            line(text)
        line(f"{last}; --all-terms lists them, as the file of --output does" if left_out else last)
        if intervals is not None:
            line(str(intervals.of(set(intervals.names) - left_out)))
    else:
        line("No model: the private test failed.")
    for note in model.footnotes:
        line(f"Note: {note}.")
    if model.private:
        unit = ROW if model.table is None else model.table.unit
        line(f"Guarantee of features and coefficients: {model.guarantee.of_unit(unit)}.")
